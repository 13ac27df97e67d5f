/*
 * The language the filter tables are written in.
 *
 * A policy is a list of rows; a row says what happens to a few system calls. Either they get one
 * action, or a rule: clauses that are tried in order, the first whose tests all hold decides, and
 * the last one has no tests. What no row names gets the policy's fallback.
 *
 * A test looks at the low 32 bits of one argument and nothing else. Every argument tested here is
 * an int, an unsigned int or (clone flags) cut to 32 bits by the kernel, so the kernel does not see
 * the high half either: TIOCSTI | 1 << 32 is TIOCSTI to both of us (CVE-2019-10063 was a 64-bit
 * comparison).
 */
#pragma once

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* Names of the cell profiles; the generated code says CELL_PROFILE_<name> (wire/cell_spec.h). */
#define PROFILES(X) X(PYTHON) X(BASH) X(NODE) X(GO) X(COMPILE) X(BINARY) X(INSTALL)

#define X(name) PROFILE_##name,
enum profile { PROFILES(X) PROFILE_COUNT };
#undef X

#define IN_PYTHON  (1u << PROFILE_PYTHON)
#define IN_BASH    (1u << PROFILE_BASH)
#define IN_NODE    (1u << PROFILE_NODE)
#define IN_GO      (1u << PROFILE_GO)
#define IN_COMPILE (1u << PROFILE_COMPILE)
#define IN_BINARY  (1u << PROFILE_BINARY)
#define IN_INSTALL (1u << PROFILE_INSTALL)
#define IN_ALL     ((1u << PROFILE_COUNT) - 1)

#define ALLOW        SECCOMP_RET_ALLOW
#define KILL         SECCOMP_RET_KILL_PROCESS
#define FAIL(number) (SECCOMP_RET_ERRNO | (number))

struct range {
	uint32_t first, last; /* both included */
};

/* clang-format off */
#define ONE(value) { (value), (value) }
#define SPAN(first, last) { (first), (last) }
/* clang-format on */

struct test {
	unsigned int arg;
	uint32_t mask;
	const struct range *set; /* ascending, not touching; NULL: no test */
	size_t count;
};

/* clang-format off */
#define SET(...) \
	(const struct range[]){ __VA_ARGS__ }, \
	sizeof((const struct range[]){ __VA_ARGS__ }) / sizeof(struct range)

/* The argument is one of these values or ranges; MASKED: with all bits outside the mask cleared. */
#define ARG(number, ...) { (number), UINT32_MAX, SET(__VA_ARGS__) }
#define MASKED(number, bits, ...) { (number), (uint32_t)(bits), SET(__VA_ARGS__) }
/* clang-format on */

#define MAX_TESTS 3

struct clause {
	struct test tests[MAX_TESTS];
	uint32_t action;
	uint32_t except; /* profiles in which this clause does not exist */
};

struct row {
	const char *names; /* separated by spaces; those a machine does not have are skipped */
	uint32_t profiles; /* in the others the row does not exist */
	uint32_t action;   /* when rule is NULL */
	const struct clause *rule;
	const char *why;    /* for people: printed by --list */
	uint32_t elsewhere; /* the names have another row for the other profiles */
};

/* clang-format off */
#define YES(calls, reason) ROW(calls, IN_ALL, .action = ALLOW, reason)
#define NO(calls, what, reason) ROW(calls, IN_ALL, .action = (what), reason)
#define SOME(calls, in, reason) ROW(calls, in, .action = ALLOW, reason)
#define CHECK(calls, rules, reason) ROW(calls, IN_ALL, .rule = (rules), reason)
#define ROW(calls, in, fate, reason) { .names = (calls), .profiles = (in), fate, .why = (reason) }
/* clang-format on */

/* Argument bits that more than one table asks about. */
#define NEW_NAMESPACES                                                                 \
	(CLONE_NEWTIME | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define SOCKET_TYPE (~(uint32_t)(SOCK_NONBLOCK | SOCK_CLOEXEC))

struct policy {
	const char *name;
	const struct row *rows;
	size_t row_count;
	uint32_t fallback;
};

extern const struct policy cell_policy; /* cell_table.c */
extern const struct clause setsockopt_rule[], socketpair_rule[], futex_rule[], prlimit_rule[];
extern const struct policy program_policies[]; /* program_tables.c */
extern const size_t program_policy_count;
