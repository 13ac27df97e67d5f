#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void test_sentence(void **state)
{
	struct error err;

	(void)state;
	assert_false(error_set(&err, ERR_LIMIT, 0, "at most %d", 7));
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(err.errnum, 0);
	assert_string_equal(err.message, "at most 7");

	assert_false(error_set(&err, ERR_SYSTEM, ENOENT, "cannot open %s", "x"));
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.message, "cannot open x: No such file or directory");

	assert_false(error_prefix(&err, "%s:%d", "file", 3));
	assert_string_equal(err.message, "file:3: cannot open x: No such file or directory");
	assert_int_equal(err.code, ERR_SYSTEM);
}

static void test_null_is_nobody(void **state)
{
	(void)state;
	assert_false(error_set(NULL, ERR_INPUT, EPERM, "unheard"));
	assert_false(error_prefix(NULL, "unheard"));
}

/* What does not fit is cut off, and what is there always ends. */
static void test_too_long(void **state)
{
	char text[2000];
	struct error err;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(error_set(&err, ERR_INPUT, EPERM, "%s", text));
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_false(error_prefix(&err, "%s", "before"));
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
	assert_memory_equal(err.message, "before: xxx", 11);
	assert_false(error_prefix(&err, "%s", text));
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void test_code_names(void **state)
{
	static const struct {
		enum error_code code;
		const char *name;
	} cases[] = {
		{ ERR_NONE, "none" },
		{ ERR_INPUT, "input" },
		{ ERR_NOT_FOUND, "not_found" },
		{ ERR_LIMIT, "limit" },
		{ ERR_BUSY, "busy" },
		{ ERR_UNAVAILABLE, "sandbox_unavailable" },
		{ ERR_SYSTEM, "system" },
		{ _ERR_COUNT, "unknown" },
		{ (enum error_code)999, "unknown" },
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), _ERR_COUNT + 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(error_code_name(cases[i].code), cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_null_is_nobody),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_code_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
