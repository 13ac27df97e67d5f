#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/macros.h"
#include "config/closest.h"

static void test_closest(void **state)
{
	static const char *const words[] = { "python", "bash",    "javascript",
					     "go",     "timeout", "timeout_max" };
	static const struct {
		const char *typed, *expect; /* NULL: none is near */
	} cases[] = {
		{ "python", "python" },
		{ "pythno", "python" },
		{ "Python", "python" },
		{ "pithon", "python" },
		{ "pythn", "python" },
		{ "pythonn", "python" },
		{ "bsah", "bash" },
		{ "jaavscript", "javascript" },
		{ "og", "go" },
		{ "timeuot", "timeout" },
		{ "timeoutmax", "timeout_max" },
		{ "timeout_mx", "timeout_max" },
		{ "cobol", NULL },
		{ "x", NULL },
		{ "", NULL },
		{ "completely different", NULL },
		{ "0123456789012345678901234567890123456789", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct closest c;

		closest_init(&c, cases[i].typed);
		for (size_t j = 0; j < ARRAY_SIZE(words); j++)
			closest_try(&c, words[j]);
		print_message("'%s' is near '%s'\n", cases[i].typed, c.best ? c.best : "(nothing)");
		if (cases[i].expect)
			assert_string_equal(c.best, cases[i].expect);
		else
			assert_null(c.best);
	}
}

static void test_hint(void **state)
{
	struct closest c;

	(void)state;
	closest_init(&c, "timeuot");
	assert_string_equal(closest_hint(&c), ".");
	closest_try(&c, "timeout");
	assert_string_equal(closest_hint(&c), "; did you mean 'timeout'?");
}

/* Words of 32 letters are compared, longer ones passed over; neither overflows. */
static void test_long_words(void **state)
{
	static const char w32[] = "abcdefghijklmnopqrstuvwxyz012345";
	static const char w33[] = "abcdefghijklmnopqrstuvwxyz0123456";
	struct closest c;

	(void)state;
	assert_int_equal(strlen(w32), 32);
	closest_init(&c, w32);
	closest_try(&c, w33);
	assert_null(c.best);
	closest_try(&c, w32);
	assert_string_equal(c.best, w32);
	closest_init(&c, w33);
	closest_try(&c, w33);
	assert_null(c.best);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closest),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_long_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
