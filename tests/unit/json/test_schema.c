#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/macros.h"
#include "base/utf8.h"
#include "json/schema.h"

#define PERSON                                                                                         \
	"{\"type\":\"object\",\"required\":[\"name\"],\"additionalProperties\":false,\"properties\":{" \
	"\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":3},"                              \
	"\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},"                                \
	"\"tags\":{\"type\":\"array\",\"maxItems\":2,\"items\":{\"enum\":[\"a\",\"b\",3]}},"           \
	"\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"                \
	"\"size\":{\"type\":[\"integer\",\"string\"],\"minimum\":1}}}"

/* The error, or "" where there is none. */
static const struct {
	const char *schema, *value, *error;
} cases[] = {
	{ "{}", "5", "" },
	{ "{\"type\":\"string\"}", "\"x\"", "" },
	{ "{\"type\":\"string\"}", "5", "it is 5; it must be a string" },
	{ "{\"type\":\"integer\"}", "5", "" },
	{ "{\"type\":\"integer\"}", "5.0", "" },
	{ "{\"type\":\"integer\"}", "5.5", "it is 5.5; it must be an integer" },
	{ "{\"type\":\"integer\"}", "1e300", "it is 1e+300; it must be an integer" },
	{ "{\"type\":\"integer\"}", "\"5\"", "it is \"5\"; it must be an integer" },
	{ "{\"type\":\"number\"}", "5", "" },
	{ "{\"type\":\"number\"}", "true", "it is true; it must be a number" },
	{ "{\"type\":\"boolean\"}", "false", "" },
	{ "{\"type\":\"boolean\"}", "0", "it is 0; it must be true or false" },
	{ "{\"type\":\"null\"}", "null", "" },
	{ "{\"type\":\"object\"}", "[1,2]", "it is an array of 2; it must be an object" },
	{ "{\"type\":\"array\"}", "{}", "it is an object; it must be an array" },
	{ "{\"type\":[\"string\",\"null\"]}", "null", "" },
	{ "{\"type\":[\"string\",\"null\"]}", "5", "it is 5; it must be a string or null" },
	{ "{\"enum\":[1,\"x\"]}", "\"x\"", "" },
	{ "{\"enum\":[1,\"x\"]}", "2", "it is 2; allowed are 1, \"x\"" },
	{ "{\"minimum\":3}", "2", "it is 2; allowed is at least 3" },
	{ "{\"maximum\":3}", "3.5", "it is 3.5; allowed is at most 3" },
	{ "{\"minimum\":0.5,\"maximum\":3}", "0.1", "it is 0.1; allowed is 0.5 to 3" },
	{ "{\"minimum\":3}", "\"2\"", "" },
	{ "{\"minItems\":1}", "[]", "it is an array of 0; it must have at least 1 items" },
	{ PERSON, "{\"name\":\"Ann\"}", "" },
	{ PERSON, "{}", "name is missing; it must be a string" },
	{ PERSON, "{\"name\":\"\"}", "name is \"\"; it must have at least 1 characters" },
	{ PERSON, "{\"name\":\"Anna\"}",
	  "name is \"Anna\"; it has 4 characters, allowed is at most 3" },
	{ PERSON, "{\"name\":\"äöü\"}", "" },
	{ PERSON, "{\"name\":\"A\",\"age\":-1}", "age is -1; allowed is 0 to 150" },
	{ PERSON, "{\"name\":\"A\",\"age\":null}", "age is null; it must be an integer" },
	{ PERSON, "{\"name\":\"A\",\"tags\":[\"a\",\"c\"]}",
	  "tags[1] is \"c\"; allowed are \"a\", \"b\", 3" },
	{ PERSON, "{\"name\":\"A\",\"tags\":[3,3,3]}",
	  "tags is an array of 3; it has 3 items, allowed is at most 2" },
	{ PERSON, "{\"name\":\"A\",\"env\":{\"X\":\"1\",\"Y\":2}}",
	  "env.Y is 2; it must be a string" },
	{ PERSON, "{\"name\":\"A\",\"size\":\"1G\"}", "" },
	{ PERSON, "{\"name\":\"A\",\"size\":0}", "size is 0; allowed is at least 1" },
	{ PERSON, "{\"name\":\"A\",\"colour\":0}",
	  "colour is not known here; allowed are name, age, tags, env, size" },
	{ PERSON, "[]", "it is an array of 0; it must be an object" },
};

static void test_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *schema = json_loads(cases[i].schema, JSON_DECODE_ANY, NULL);
		json_t *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
		struct error err = { 0 };
		bool good;

		print_message("%s against %s\n", cases[i].value, cases[i].schema);
		assert_non_null(schema);
		assert_non_null(value);
		good = schema_check(schema, value, "it", &err);
		assert_string_equal(err.message, cases[i].error);
		assert_int_equal(good, !*cases[i].error);
		json_decref(schema);
		json_decref(value);
	}
}

/* However long a value or name is, the sentence is short and valid UTF-8. */
static void test_long_values(void **state)
{
	json_t *schema = json_loads("{\"additionalProperties\":{\"type\":\"integer\"}}", 0, NULL);
	char text[3001] = "";
	struct error err;
	json_t *value;

	(void)state;
	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	value = json_pack("{s:s}", text, text);
	assert_false(schema_check(schema, value, "it", &err));
	assert_true(strlen(err.message) < 300);
	assert_true(utf8_is_valid(err.message, strlen(err.message)));
	json_decref(value);
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_long_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
