#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "wire/verdict.h"

/* These words are in every interface; one that changes breaks clients. */
static void test_names(void **state)
{
	static const struct {
		uint32_t verdict;
		const char *name;
	} cases[] = {
		{ VERDICT_EXIT, "exit" },           { VERDICT_SIGNAL, "signal" },
		{ VERDICT_TIMEOUT, "timeout" },     { VERDICT_MEMORY, "memory" },
		{ VERDICT_OUTPUT, "output" },       { VERDICT_BLOCKED, "blocked" },
		{ VERDICT_CANCELLED, "cancelled" }, { RUN_VERDICT_COUNT, "unknown" },
		{ UINT32_MAX, "unknown" },
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), RUN_VERDICT_COUNT + 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(run_verdict_name(cases[i].verdict), cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
