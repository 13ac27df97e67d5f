/*
 * Interprets the cell filters of both machines, instruction for instruction what the kernel will
 * run, and compares with cell_expectations.h and the tables here. The last test requires that all
 * of it together ran every instruction and took every branch both ways: what is never run is never
 * tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/macros.h"
#include "wire/cell_spec.h"

#include "bpf_interpreter.h"
#include "cell_expectations.h"
#include "cell_filters_aarch64.h"
#include "cell_filters_x86_64.h"

#define KILL SECCOMP_RET_KILL_PROCESS

#define IN(name) (1u << CELL_PROFILE_##name)
#define EVERY    ((1u << CELL_PROFILE_COUNT) - 1)

enum { ARCH_I386 = 0x40000003, ARCH_ARM = 0x40000028 };
#define ARCH_X86_64  0xc000003eu
#define ARCH_AARCH64 0xc00000b7u

static const char *const profile_names[CELL_PROFILE_COUNT] = {
	[CELL_PROFILE_PYTHON] = "python",   [CELL_PROFILE_BASH] = "bash",
	[CELL_PROFILE_NODE] = "node",       [CELL_PROFILE_GO] = "go",
	[CELL_PROFILE_COMPILE] = "compile", [CELL_PROFILE_BINARY] = "binary",
	[CELL_PROFILE_INSTALL] = "install",
};

static const struct target {
	const char *name;
	uint32_t arch;
	const struct cell_filter *filters;
} targets[] = {
	{ "x86_64", ARCH_X86_64, cell_filters_x86_64 },
	{ "aarch64", ARCH_AARCH64, cell_filters_aarch64 },
};

static uint8_t seen[ARRAY_SIZE(targets)][CELL_PROFILE_COUNT][BPF_MAXINSNS];

static uint32_t run(const struct target *target, int profile, const struct seccomp_data *data)
{
	const struct cell_filter *filter = &target->filters[profile];

	return bpf_run(filter->code, filter->length, data, seen[target - targets][profile]);
}

/* The kernel ignores the high half of int arguments, so whatever is there must not change the
 * answer. */
static uint32_t decide(const struct target *target, int profile, uint32_t nr,
		       const uint64_t args[6])
{
	static const uint64_t garbage[] = { 1ull << 32, 1ull << 40, 0xffffffffull << 32,
					    0x12345678ull << 32 };
	struct seccomp_data data = { .nr = (int)nr, .arch = target->arch };
	uint32_t action;

	memcpy(data.args, args, sizeof(data.args));
	action = run(target, profile, &data);
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(data.args); j++)
			data.args[j] = args[j] ^ garbage[i];
		assert_int_equal(run(target, profile, &data), action);
	}
	return action;
}

static int number(const struct target *target, const char *name)
{
	static const struct expectation *found; /* the same is asked again and again */

	if (!found || strcmp(found->name, name) != 0) {
		found = expectations;
		while (found < expectations + ARRAY_SIZE(expectations) &&
		       strcmp(found->name, name) != 0)
			found++;
		if (found == expectations + ARRAY_SIZE(expectations))
			fail_msg("%s has no expectation", name);
	}
	return target->arch == ARCH_X86_64 ? found->x86_64 : found->aarch64;
}

static void expect(const struct target *target, int profile, const char *name,
		   const uint64_t args[6], uint32_t expected)
{
	int nr = number(target, name);
	uint32_t action;

	if (nr < 0)
		return;
	action = decide(target, profile, (uint32_t)nr, args);
	if (action != expected)
		fail_msg("%s, %s: %s(%#jx, %#jx, %#jx, %#jx, %#jx, %#jx) gives %#x, not %#x",
			 target->name, profile_names[profile], name, (uintmax_t)args[0],
			 (uintmax_t)args[1], (uintmax_t)args[2], (uintmax_t)args[3],
			 (uintmax_t)args[4], (uintmax_t)args[5], action, expected);
}

/* ---- every number ---- */

static uint32_t fate_in(uint32_t fate, int profile)
{
	switch (fate) {
	case YES:
		return ALLOW;
	case NOT_COMPILE:
		return profile == CELL_PROFILE_COMPILE ? ERRNO(ENOSYS) : ALLOW;
	case WATCHERS:
		return (IN(NODE) | IN(GO) | IN(INSTALL)) & 1u << profile ? ALLOW : ERRNO(ENOSYS);
	default:
		return fate;
	}
}

static void test_every_number(void **state)
{
	static const uint64_t values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++) {
		uint32_t fates[1024];
		const char *names[1024] = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(fates); i++)
			fates[i] = ERRNO(ENOSYS);
		for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
			int nr = number(t, expectations[i].name);

			if (nr >= 0) {
				assert_null(names[nr]);
				names[nr] = expectations[i].name;
				fates[nr] = expectations[i].fate;
			}
		}
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
			for (uint32_t nr = 0; nr < ARRAY_SIZE(fates); nr++) {
				for (size_t i = 0; i < ARRAY_SIZE(values) && fates[nr] != CHECKED;
				     i++) {
					uint64_t v = values[i], args[] = { v, v, v, v, v, v };
					uint32_t action = decide(t, profile, nr, args);

					if (action != fate_in(fates[nr], profile))
						fail_msg("%s, %s: %u (%s) gives %#x, not %#x",
							 t->name, profile_names[profile], nr,
							 names[nr], action,
							 fate_in(fates[nr], profile));
				}
			}
		}
	}
}

static void test_numbers_beyond(void **state)
{
	static const uint32_t numbers[] = { 1024, 4096, 0x3fffffff };
	static const uint64_t args[6];
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++) {
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
			for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
				assert_int_equal(decide(t, profile, numbers[i], args),
						 ERRNO(ENOSYS));
			/* How a tracer skips a call; no ABI has it. */
			assert_int_equal(decide(t, profile, UINT32_MAX, args), ERRNO(ENOSYS));
		}
	}
}

/* K5: x32 numbers die on x86_64; elsewhere the bit means nothing and no table is that long. */
static void test_x32(void **state)
{
	static const uint64_t args[6];
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
			for (uint32_t nr = 0; nr < 1024; nr++) {
				uint32_t expected = t->arch == ARCH_X86_64 ? KILL : ERRNO(ENOSYS);

				assert_int_equal(decide(t, profile, 0x40000000 | nr, args),
						 expected);
				if (t->arch == ARCH_X86_64)
					assert_int_equal(decide(t, profile, 0x80000000 | nr, args),
							 KILL);
			}
}

static void test_other_machines(void **state)
{
	static const uint32_t others[] = { 0,           ARCH_I386,    ARCH_ARM,
					   ARCH_X86_64, ARCH_AARCH64, UINT32_MAX };
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
			for (size_t i = 0; i < ARRAY_SIZE(others); i++)
				for (int nr = 0; nr < 1024 && others[i] != t->arch; nr++) {
					struct seccomp_data data = { .nr = nr, .arch = others[i] };

					assert_int_equal(run(t, profile, &data), KILL);
				}
}

/* ---- single cases ---- */

static void test_cases(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].why);
		for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
			for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
				expect(t, profile, cases[i].name, cases[i].args, cases[i].expected);
	}
}

/* ---- K7, K8: sockets ---- */

static const struct {
	uint64_t family, type, protocol;
	uint32_t profiles;
} sockets[] = {
#define LOCAL (EVERY & ~IN(COMPILE))
#define INET  (LOCAL & ~IN(BINARY))
#define ROUTE (INET & ~IN(BASH))
	{ 1, 1, 0, LOCAL },  { 1, 2, 0, LOCAL },  { 1, 5, 0, LOCAL }, /* UNIX */
	{ 2, 1, 0, INET },   { 2, 1, 6, INET },                       /* TCP */
	{ 2, 2, 0, INET },   { 2, 2, 17, INET },                      /* UDP */
	{ 10, 1, 0, INET },  { 10, 1, 6, INET },                      /* TCP over IPv6 */
	{ 10, 2, 0, INET },  { 10, 2, 17, INET },                     /* UDP over IPv6 */
	{ 16, 2, 0, ROUTE }, { 16, 3, 0, ROUTE },                     /* NETLINK_ROUTE */
};

static uint32_t expect_socket(int profile, uint64_t family, uint64_t type, uint64_t protocol)
{
	uint32_t refused = ERRNO(EAFNOSUPPORT);

	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
		if (!(sockets[i].profiles & 1u << profile) || sockets[i].family != family)
			continue;
		if (sockets[i].type == type && sockets[i].protocol == protocol)
			return ALLOW;
		refused = ERRNO(EPROTONOSUPPORT);
	}
	return refused;
}

static void test_sockets(void **state)
{
	static const uint64_t protocols[] = { 0,  1,  2,   4,   6,   12,  15,
					      16, 17, 132, 136, 255, 262, UINT32_MAX };
	static const uint64_t flags[] = { 0, 04000, 02000000, 02004000 };
	uint64_t a[6] = { 0 };
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
			for (a[0] = 0; a[0] <= 60; a[0]++)
				for (uint64_t type = 0; type <= 15; type++)
					for (size_t f = 0; f < ARRAY_SIZE(flags); f++)
						for (size_t p = 0; p < ARRAY_SIZE(protocols); p++) {
							a[1] = type | flags[f];
							a[2] = protocols[p];
							expect(t, profile, "socket", a,
							       expect_socket(profile, a[0], type,
									     a[2]));
						}
}

/* A type flag that the kernel does not have: refused here rather than there. */
static void test_socket_stray_flags(void **state)
{
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (uint64_t bit = 16; bit <= 1u << 31; bit <<= 1) {
			uint64_t args[6] = { 2, 1 | bit };

			if (bit != 04000 && bit != 02000000)
				expect(t, CELL_PROFILE_PYTHON, "socket", args,
				       ERRNO(EPROTONOSUPPORT));
		}
}

/* ---- one argument, all its values ---- */

static bool one_of(uint64_t value, const uint32_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == value)
			return true;
	return false;
}

#define LIST(...)                          \
	(const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static const struct sweep {
	const char *why, *name;
	uint64_t args[6];
	unsigned int which;   /* the argument that varies */
	uint32_t first, last; /* from, to */
	const uint32_t *allowed;
	size_t count;
	uint32_t refused;
} sweeps[] = {
	{ "terminals",
	  "ioctl",
	  { 0 },
	  1,
	  0x5380,
	  0x5480,
	  LIST(0x5401, 0x5402, 0x5403, 0x5404, 0x540f, 0x5410, 0x5413, 0x541b, 0x5421, 0x5429,
	       0x5450, 0x5451, 0x5452),
	  ERRNO(ENOTTY) },
	{ "small ioctls", "ioctl", { 0 }, 1, 0, 0x400, NULL, 0, ERRNO(ENOTTY) },
	{ "options of prctl",
	  "prctl",
	  { 0 },
	  0,
	  0,
	  300,
	  LIST(1, 2, 3, 4, 15, 16, 23, 36, 37, 38, 39, 40),
	  ERRNO(EINVAL) },
	{ "PR_SET_VMA",
	  "prctl",
	  { 0 },
	  0,
	  0x53564d40,
	  0x53564d42,
	  LIST(0x53564d41),
	  ERRNO(EINVAL) },
	{ "fcntl commands",
	  "fcntl",
	  { 3 },
	  1,
	  0,
	  1100,
	  LIST(0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 36, 37, 38, 1030, 1031, 1032, 1033, 1034),
	  ERRNO(EINVAL) },
	{ "futex operations",
	  "futex",
	  { 0 },
	  1,
	  0,
	  127,
	  LIST(0, 1, 3, 4, 5, 9, 10),
	  ERRNO(ENOSYS) },
	{ "private futexes",
	  "futex",
	  { 0 },
	  1,
	  128,
	  255,
	  LIST(128, 129, 131, 132, 133, 137, 138),
	  ERRNO(ENOSYS) },
	{ "bits the kernel does not have", "futex", { 0 }, 1, 512, 1024, NULL, 0, ERRNO(ENOSYS) },
	{ "flags of preadv2",
	  "preadv2",
	  { 3 },
	  5,
	  0,
	  1024,
	  LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
	  ERRNO(EOPNOTSUPP) },
	{ "whose limits", "prlimit64", { 0 }, 0, 0, 5000, LIST(0), ERRNO(EPERM) },
	{ "personalities", "personality", { 0 }, 0, 0, 256, LIST(0), ERRNO(EPERM) },
	{ "families of pairs", "socketpair", { 0 }, 0, 0, 60, LIST(1), ERRNO(EAFNOSUPPORT) },
	{ "operations of seccomp", "seccomp", { 0 }, 0, 0, 16, LIST(0, 1, 2), ERRNO(EINVAL) },
	{ "flags of seccomp",
	  "seccomp",
	  { 1 },
	  1,
	  0,
	  256,
	  LIST(0, 1, 2, 3, 16, 17, 18, 19),
	  ERRNO(EINVAL) },
	{ "SOL_SOCKET",
	  "setsockopt",
	  { 3, 1 },
	  2,
	  0,
	  100,
	  LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
	       24, 25),
	  ERRNO(ENOPROTOOPT) },
	{ "IPPROTO_TCP",
	  "setsockopt",
	  { 3, 6 },
	  2,
	  0,
	  100,
	  LIST(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 23, 25, 30),
	  ERRNO(ENOPROTOOPT) },
	{ "IPPROTO_IP",
	  "setsockopt",
	  { 3, 0 },
	  2,
	  0,
	  300,
	  LIST(1, 2, 6, 7, 8, 10, 11, 12, 13, 15, 24, 32, 33, 34, 35, 36),
	  ERRNO(ENOPROTOOPT) },
	{ "IPPROTO_IPV6",
	  "setsockopt",
	  { 3, 41 },
	  2,
	  0,
	  300,
	  LIST(16, 17, 18, 19, 25, 26, 49, 67),
	  ERRNO(ENOPROTOOPT) },
	{ "other levels", "setsockopt", { 3, 0, 1 }, 1, 2, 300, LIST(6), ERRNO(ENOPROTOOPT) },
};

static void test_sweeps(void **state)
{
	(void)state;

	for (const struct sweep *s = sweeps; s < sweeps + ARRAY_SIZE(sweeps); s++) {
		print_message("%s\n", s->why);
		for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
			for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
				for (uint32_t v = s->first; v <= s->last; v++) {
					uint64_t args[6];

					memcpy(args, s->args, sizeof(args));
					args[s->which] = v;
					expect(t, profile, s->name, args,
					       one_of(v, s->allowed, s->count) ? ALLOW
									       : s->refused);
				}
	}
}

/* Each bit of the clone flags alone and with those of fork. */
static void test_clone_bits(void **state)
{
	/* NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
	static const uint32_t namespaces[] = { 1u << 7,  1u << 17, 1u << 25, 1u << 26,
					       1u << 27, 1u << 28, 1u << 29, 1u << 30 };
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++)
			for (uint32_t bit = 1; bit; bit <<= 1) {
				uint64_t alone[6] = { bit }, with[6] = { bit | 0x01200011 };
				bool refused = one_of(bit, namespaces, ARRAY_SIZE(namespaces));

				expect(t, profile, "clone", alone, refused ? ERRNO(EPERM) : ALLOW);
				expect(t, profile, "clone", with, refused ? ERRNO(EPERM) : ALLOW);
			}
}

/* All sixteen bits of a mode; the kernel drops what is above them. */
static void test_mknod_modes(void **state)
{
	(void)state;

	for (const struct target *t = targets; t < targets + ARRAY_SIZE(targets); t++)
		for (uint64_t mode = 0; mode <= 0x1ffff; mode += 7) {
			uint64_t type = mode >> 12 & 15;
			bool plain = type == 0 || type == 1 || type == 8 || type == 12;
			uint64_t old[6] = { 0, mode, 0x501 }, at[6] = { 0, 0, mode, 0x501 };

			for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
				expect(t, profile, "mknod", old, plain ? ALLOW : ERRNO(EPERM));
				expect(t, profile, "mknodat", at, plain ? ALLOW : ERRNO(EPERM));
			}
		}
}

/* ---- all together ---- */

static void test_length_and_coverage(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
			const struct cell_filter *filter = &targets[i].filters[profile];
			size_t at = bpf_unseen(filter->code, filter->length, seen[i][profile]);

			print_message("%s, %s: %u instructions\n", targets[i].name,
				      profile_names[profile], filter->length);
			assert_in_range(filter->length, 100, 900);
			if (at != filter->length)
				fail_msg("%s, %s: instruction %zu was not run both ways (seen %#x)",
					 targets[i].name, profile_names[profile], at,
					 seen[i][profile][at]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number),
		cmocka_unit_test(test_numbers_beyond),
		cmocka_unit_test(test_x32),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_socket_stray_flags),
		cmocka_unit_test(test_sweeps),
		cmocka_unit_test(test_clone_bits),
		cmocka_unit_test(test_mknod_modes),
		cmocka_unit_test(test_length_and_coverage),
	};

	return cmocka_run_group_tests_name("cell filters", tests, NULL, NULL);
}
