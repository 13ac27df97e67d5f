#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "base/macros.h"
#include "core/verdict.h"

#define EXITED(code) ((code) << 8)
#define MB           (1u << 20)

/* One row: what was seen, what is said of it. */
static const struct {
	const char *name;
	struct verdict_facts facts;
	enum run_verdict verdict;
	int exit_code, signal;
	uint64_t limit;
	const char *reason;
} verdicts[] = {
	{ "exit 0", { .has_status = true, .status = EXITED(0) }, VERDICT_EXIT, 0, 0, 0, "" },
	{ "exit 3", { .has_status = true, .status = EXITED(3) }, VERDICT_EXIT, 3, 0, 0, "" },
	{ "exit 255", { .has_status = true, .status = EXITED(255) }, VERDICT_EXIT, 255, 0, 0, "" },
	{ "DONE 0", { .has_done = true }, VERDICT_EXIT, 0, 0, 0, "" },
	{ "DONE 7", { .has_done = true, .done_code = 7 }, VERDICT_EXIT, 7, 0, 0, "" },
	{ "DONE, some child ran out of memory before",
	  { .has_done = true, .oom_kills = 2 },
	  VERDICT_EXIT,
	  0,
	  0,
	  0,
	  "" },
	{ "SIGSEGV",
	  { .has_status = true, .status = SIGSEGV },
	  VERDICT_SIGNAL,
	  139,
	  11,
	  0,
	  "The program was ended by signal 11 (SIGSEGV)." },
	{ "SIGSEGV with core",
	  { .has_status = true, .status = SIGSEGV | 0x80 },
	  VERDICT_SIGNAL,
	  139,
	  11,
	  0,
	  "The program was ended by signal 11 (SIGSEGV)." },
	{ "SIGSYS",
	  { .has_status = true, .status = SIGSYS },
	  VERDICT_SIGNAL,
	  159,
	  31,
	  0,
	  "The program was ended by signal 31 (SIGSYS). It made a system call that cells do not allow." },
	{ "real-time signal",
	  { .has_status = true, .status = 40 },
	  VERDICT_SIGNAL,
	  168,
	  40,
	  0,
	  "The program was ended by signal 40." },
	{ "SIGKILL by itself",
	  { .has_status = true, .status = SIGKILL },
	  VERDICT_SIGNAL,
	  137,
	  9,
	  0,
	  "The program was ended by signal 9 (SIGKILL)." },
	{ "SIGKILL for memory",
	  { .has_status = true, .status = SIGKILL, .oom_kills = 1, .memory_bytes = 512 * MB },
	  VERDICT_MEMORY,
	  137,
	  9,
	  512 * MB,
	  "The program used more memory than its limit of 512 MB." },
	{ "a child was out of memory, the program went on",
	  { .has_status = true, .status = EXITED(1), .oom_kills = 1 },
	  VERDICT_EXIT,
	  1,
	  0,
	  0,
	  "" },
	{ "the whole cell fell for memory",
	  { .has_init_status = true,
	    .init_status = SIGKILL,
	    .oom_kills = 1,
	    .memory_bytes = 8 * MB },
	  VERDICT_MEMORY,
	  137,
	  9,
	  8 * MB,
	  "The program used more memory than its limit of 8.0 MB." },
	{ "the whole cell was killed",
	  { .has_init_status = true, .init_status = SIGKILL },
	  VERDICT_SIGNAL,
	  137,
	  9,
	  0,
	  "The program was ended by signal 9 (SIGKILL)." },
	{ "timeout",
	  { .cause = CAUSE_TIMEOUT,
	    .timeout_ms = 1000,
	    .has_init_status = true,
	    .init_status = SIGKILL },
	  VERDICT_TIMEOUT,
	  124,
	  0,
	  1000,
	  "The program did not end within its time limit of 1000 ms." },
	{ "timeout while memory was short",
	  { .cause = CAUSE_TIMEOUT,
	    .timeout_ms = 5,
	    .oom_kills = 3,
	    .has_init_status = true,
	    .init_status = SIGKILL },
	  VERDICT_TIMEOUT,
	  124,
	  0,
	  5,
	  "The program did not end within its time limit of 5 ms." },
	{ "output",
	  { .cause = CAUSE_OUTPUT, .output_max = 64 * MB },
	  VERDICT_OUTPUT,
	  153,
	  0,
	  64 * MB,
	  "The program wrote more than its output limit of 64 MB." },
	{ "cancelled",
	  { .cause = CAUSE_CANCEL },
	  VERDICT_CANCELLED,
	  130,
	  0,
	  0,
	  "The run was cancelled." },
	{ "garbage on the driver's socket",
	  { .cause = CAUSE_ROGUE },
	  VERDICT_SIGNAL,
	  137,
	  9,
	  0,
	  "The program wrote to hotcell's own socket and was ended." },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		struct verdict v;

		print_message("%s\n", verdicts[i].name);
		assert_true(verdict_decide(&verdicts[i].facts, &v));
		assert_int_equal(v.verdict, verdicts[i].verdict);
		assert_int_equal(v.exit_code, verdicts[i].exit_code);
		assert_int_equal(v.signal, verdicts[i].signal);
		assert_int_equal(v.limit, verdicts[i].limit);
		assert_string_equal(v.reason, verdicts[i].reason);
	}
}

/* Where nothing tells, nothing is invented. */
static void test_unknown(void **state)
{
	static const struct verdict_facts cases[] = {
		{ 0 },
		{ .has_init_status = true, .init_status = EXITED(1) },
		{ .has_init_status = true, .init_status = SIGSEGV },
		{ .has_status = true, .status = 0x137f }, /* stopped, which is not an end */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v;

		assert_false(verdict_decide(&cases[i], &v));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
