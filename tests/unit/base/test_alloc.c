#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Asking for nothing gives something that can be freed, never NULL. */
static void test_nothing_is_something(void **state)
{
	_cleanup_free_ void *a = xmalloc(0);
	_cleanup_free_ void *b = xcalloc(0, 0);
	_cleanup_free_ void *c = xcalloc(8, 0);
	_cleanup_free_ void *d = xrealloc(NULL, 0);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_non_null(d);
}

static void test_zeroed_and_grown(void **state)
{
	_cleanup_free_ unsigned char *p = xcalloc(16, 4);

	(void)state;
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(p[i], 0);
	memset(p, 7, 64);
	p = xrealloc(p, 4096);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(p[i], 7);
}

/* xstrndup() stops at the NUL or at n, and does not look past either. */
static void test_strings(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *expect;
	} cases[] = {
		{ "", 0, "" },      { "", 9, "" },        { "abc", 0, "" },
		{ "abc", 2, "ab" }, { "abc", 99, "abc" },
	};
	char open_end[3] = { 'a', 'b', 'c' };
	_cleanup_free_ char *whole = xstrdup("whole");
	_cleanup_free_ char *cut = xstrndup(open_end, sizeof(open_end));
	_cleanup_free_ char *printed = xasprintf("%d-%s", 42, "x");

	(void)state;
	assert_string_equal(whole, "whole");
	assert_string_equal(cut, "abc");
	assert_string_equal(printed, "42-x");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *copy = xstrndup(cases[i].text, cases[i].n);

		assert_string_equal(copy, cases[i].expect);
	}
}

/* What was handed on is not freed by the scope it came from. */
static void test_take_ptr(void **state)
{
	char *taken = NULL;

	(void)state;
	{
		_cleanup_free_ char *p = xstrdup("mine");

		taken = TAKE_PTR(p);
		assert_null(p);
	}
	assert_string_equal(taken, "mine");
	free(taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_something),
		cmocka_unit_test(test_zeroed_and_grown),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_take_ptr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
