/* Verdicts as exit statuses and sentences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "command/report.h"
#include "wire/verdict.h"

static const struct {
	uint32_t verdict;
	int32_t exit_code;
	uint64_t limit;
	int status;
	const char *sentence;
} cases[] = {
	{ VERDICT_EXIT, 0, 0, 0, "" },
	{ VERDICT_EXIT, 3, 0, 3, "" },
	{ VERDICT_EXIT, 255, 0, 255, "" },
	{ VERDICT_EXIT, 256, 0, 0, "" },
	{ VERDICT_SIGNAL, 139, 0, 139, "the program was ended by signal 11 (Segmentation fault)" },
	{ VERDICT_SIGNAL, 128 + 64, 0, 192, "the program was ended by signal 64" },
	{ VERDICT_SIGNAL, -5, 0, 1, "the program was ended by signal -133" },
	{ VERDICT_TIMEOUT, 124, 1000, 124, "the program was stopped after 1000 ms (--timeout)" },
	{ VERDICT_TIMEOUT, 0, 1000, 124, "the program was stopped after 1000 ms (--timeout)" },
	{ VERDICT_MEMORY, 137, 64 << 20, 137,
	  "the program was stopped: it needed more than 64 MB of memory (--memory)" },
	{ VERDICT_OUTPUT, 153, 64 << 20, 153,
	  "the program was stopped: it printed more than 64 MB" },
	{ VERDICT_OUTPUT, 0, 64 << 20, 153, "the program was stopped: it printed more than 64 MB" },
	{ VERDICT_BLOCKED, 159, 0, 159, "the program was stopped: it did what its policy forbids" },
	{ VERDICT_CANCELLED, 0, 0, 130, "" },
	{ RUN_VERDICT_COUNT, 0, 0, 1, "" },
};

static void test_verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct order_result result = {
			.verdict = cases[i].verdict,
			.exit_code = cases[i].exit_code,
			.limit = cases[i].limit,
		};
		char sentence[160];

		print_message("# verdict %u, exit code %d\n", result.verdict, result.exit_code);
		assert_int_equal(report_status(&result), cases[i].status);
		report_sentence(&result, sentence, sizeof(sentence));
		assert_string_equal(sentence, cases[i].sentence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
