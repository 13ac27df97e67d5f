#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "json/json.h"

static void check(json_t *value, const char *expect)
{
	json_t *array = json_array();
	size_t len;
	char *text;

	json_add(array, value);
	text = json_to_text(array, &len);
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, expect);
	free(text);
	json_decref(array);
}

static void test_text(void **state)
{
	(void)state;
	check(json_text("", 0), "[\"\"]");
	check(json_text("a\"b\n", 4), "[\"a\\\"b\\n\"]");
	check(json_text("a\0b", 3), "[\"a\\u0000b\"]");
	check(json_text("\xc3\xa4", 2), "[\"\xc3\xa4\"]");
	check(json_text("x\xffy", 3), "[\"x\xef\xbf\xbdy\"]");
	check(json_text("\xff\xff", 2), "[\"\xef\xbf\xbd\xef\xbf\xbd\"]");
}

static void test_base64(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *expect;
	} cases[] = {
		{ "", 0, "[\"\"]" },
		{ "f", 1, "[\"Zg==\"]" },
		{ "fo", 2, "[\"Zm8=\"]" },
		{ "foo", 3, "[\"Zm9v\"]" },
		{ "foobar", 6, "[\"Zm9vYmFy\"]" },
		{ "\xff\xfe\x00", 3, "[\"//4A\"]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check(json_base64(cases[i].bytes, cases[i].len), cases[i].expect);
}

static void test_milli(void **state)
{
	(void)state;
	check(json_milli(0), "[0]");
	check(json_milli(1000), "[1]");
	check(json_milli(412), "[0.412]");
	check(json_milli(6480), "[6.48]");
	check(json_milli(1234567), "[1234.567]");
	check(json_milli(1), "[0.001]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_milli),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
