#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "protocol/jsonrpc.h"

enum { R = JSONRPC_REQUEST, N = JSONRPC_NOTIFICATION, A = JSONRPC_RESPONSE, I = JSONRPC_INVALID };

/* One row a message; id is the JSON text of the id that an answer to it would have. */
static const struct {
	const char *text;
	int kind, code;
	const char *id;
} cases[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", R, 0, "1" },
	{ " {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", R, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}", R, 0, "\"\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}", R, 0, "\"1\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", R, 0, "0" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\"}", R, 0, "-7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"p\"}", R, 0,
	  "9223372036854775807" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}", R, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", R, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"extra\":[1]}", R, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", N, 0, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":[]}", N, 0, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", A, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", A, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"\"}}", A, 0, NULL },
	/* ids that are none */
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775808,\"method\":\"p\"}", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\",\"params\":{\"x\":1e999}}", I, -32600,
	  NULL },
	/* no message */
	{ "{}", I, -32600, NULL },
	{ "{\"id\":1,\"method\":\"ping\"}", I, -32600, "1" },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", I, -32600, "1" },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", I, -32600, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1}", I, -32600, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", I, -32600, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", I, -32600, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", I, -32602, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"x\"}", I, -32602, "1" },
	{ "[]", I, -32600, NULL },
	{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", I, -32600, NULL },
	{ "5", I, -32600, NULL },
	{ "\"text\"", I, -32600, NULL },
	{ "null", I, -32600, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", I, -32600, NULL },
	/* no JSON */
	{ "", I, -32700, NULL },
	{ "{", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", I, -32700, NULL },
	{ "{'jsonrpc':'2.0'}", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":01}", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}", I, -32700, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", I, -32700, NULL },
	{ "\xef\xbb\xbf{}", I, -32700, NULL },
	{ "NaN", I, -32700, NULL },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jsonrpc_message m;
		char *id;

		print_message("%s\n", cases[i].text);
		jsonrpc_parse(&m, cases[i].text, strlen(cases[i].text));
		assert_int_equal(m.kind, cases[i].kind);
		assert_int_equal(m.code, cases[i].code);
		assert_int_equal(m.kind == JSONRPC_INVALID, m.why[0] != '\0');
		id = m.id ? json_dumps(m.id, JSON_ENCODE_ANY) : NULL;
		if (cases[i].id)
			assert_string_equal(id, cases[i].id);
		else
			assert_null(id);
		free(id);
		jsonrpc_message_done(&m);
	}
}

/* A request with n of one character in its params. */
static enum jsonrpc_kind parse_many(const char *open, const char *middle, const char *close,
				    size_t n)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_jsonrpc_ struct jsonrpc_message m = { 0 };

	buf_init(&text, SIZE_MAX);
	(void)buf_append_string(
		&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":");
	for (size_t i = 0; i < n; i++)
		(void)buf_append_string(&text, open);
	(void)buf_append_string(&text, middle);
	for (size_t i = 0; i < n; i++)
		(void)buf_append_string(&text, close);
	(void)buf_append_string(&text, "}}");
	jsonrpc_parse(&m, (const char *)text.data, text.len);
	if (m.kind == JSONRPC_INVALID)
		assert_int_equal(m.code, JSONRPC_INVALID_REQUEST);
	return m.kind;
}

/* A small text can stand for a lot of memory, or for a lot of stack. */
static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(parse_many("[", "", "]", JSONRPC_DEPTH_MAX - 2), JSONRPC_REQUEST);
	assert_int_equal(parse_many("[", "", "]", JSONRPC_DEPTH_MAX - 1), JSONRPC_INVALID);
	assert_int_equal(parse_many("[", "", "]", 1000 * 1000), JSONRPC_INVALID);
	assert_int_equal(parse_many("{\"a\":", "1", "}", 1000), JSONRPC_INVALID);
	/* Brackets in a string are text. */
	assert_int_equal(
		parse_many(
			"",
			"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"",
			"", 1),
		JSONRPC_REQUEST);
}

static void test_many_values(void **state)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_jsonrpc_ struct jsonrpc_message m = { 0 };

	(void)state;
	buf_init(&text, SIZE_MAX);
	(void)buf_append_string(
		&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":[0");
	for (size_t i = 0; i < JSONRPC_VALUES_MAX; i++)
		(void)buf_append_string(&text, ",0");
	(void)buf_append_string(&text, "]}}");
	jsonrpc_parse(&m, (const char *)text.data, text.len);
	assert_int_equal(m.kind, JSONRPC_INVALID);
	assert_int_equal(m.code, JSONRPC_INVALID_REQUEST);
	assert_non_null(strstr(m.why, "100000 values"));
}

static void test_write(void **state)
{
	json_t *id = json_string("a\n\"");
	char *text;

	(void)state;
	text = jsonrpc_result(id, json_pack("{s:s}", "x", "line\nline"));
	assert_string_equal(
		text,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\\\"\",\"result\":{\"x\":\"line\\nline\"}}");
	free(text);
	text = jsonrpc_error(NULL, -32700, "not \xff this", NULL);
	assert_string_equal(
		text,
		"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"not \xef\xbf\xbd this\"}}");
	free(text);
	text = jsonrpc_error(id, 5, "", json_array());
	assert_string_equal(
		text,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\\\"\",\"error\":{\"code\":5,\"message\":\"\",\"data\":[]}}");
	free(text);
	text = jsonrpc_notification("n", json_object());
	assert_string_equal(text, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{}}");
	free(text);
	json_decref(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
