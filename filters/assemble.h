/*
 * From a policy to the BPF program the kernel runs.
 *
 * We write the instructions ourselves instead of letting libseccomp do it, for two reasons:
 * libseccomp compares 64 bits of an argument (its _32 macros only cut the constant), and it adds
 * rules of its own. What comes out is a binary search over the system call numbers with one leaf
 * per run of numbers that share a fate; there is no instruction that no input reaches, and the unit
 * test holds us to that.
 */
#pragma once

#include "policy.h"

#include <linux/filter.h>
#include <stdbool.h>

/* Numbers at or above this get the fallback; the kernel's tables end near 470. */
#define NUMBER_LIMIT  1024
#define PROGRAM_LIMIT BPF_MAXINSNS
#define NOTE_BYTES    64
#define ANY_PROFILE   (-1)

struct machine {
	const char *name;
	uint32_t audit_arch;
	uint32_t seccomp_arch; /* the same, as libseccomp calls it */
	bool has_x32;
};

/* Negative when only other machines have it. Exits with a message when none has: a typing mistake.
 */
int machine_syscall(const struct machine *machine, const char *name, size_t length);

struct program {
	struct sock_filter code[PROGRAM_LIMIT];
	char note[PROGRAM_LIMIT][NOTE_BYTES]; /* where a leaf begins: the system calls it is for */
	size_t length;
};

void assemble(const struct policy *policy, const struct machine *machine, int profile,
	      struct program *ret);

/* The row for a system call number in a profile; NULL means the policy's fallback. */
void resolve_rows(const struct policy *policy, const struct machine *machine, int profile,
		  const struct row *ret_rows[NUMBER_LIMIT]);

_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
