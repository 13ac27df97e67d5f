#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "tools/execute.h"
#include "tools/execute_result.h"

#define PNG "\x89PNG\r\n\x1a\n...."

static struct run_stream stream(const char *text)
{
	return (struct run_stream){
		.head = text, .head_len = strlen(text), .tail = "", .total = strlen(text)
	};
}

/* A run that printed these and ended well after 12 ms. */
static struct run_result plain(const char *out, const char *err)
{
	return (struct run_result){
		.verdict = VERDICT_EXIT,
		.out = stream(out),
		.err = stream(err),
		.usage = { .cpu_us = 1500,
			   .wall_us = 12345,
			   .memory_peak_bytes = 9 << 20,
			   .processes_peak = 1 },
		.language = "python",
		.policy = "standard",
		.isolation = ISOLATION_STRONG,
		.backend = "native",
		.pool_hit = true,
	};
}

#define FACTS " · 12 ms · 9.0 MB · python · strong"

static const char *text_of(const struct execute_answer *answer)
{
	return json_string_value(json_object_get(json_array_get(answer->content, 0), "text"));
}

static const char *field(const struct execute_answer *answer, const char *name)
{
	return json_string_value(json_object_get(answer->structured, name));
}

static void answer_done(struct execute_answer *answer)
{
	json_decref(answer->content);
	json_decref(answer->structured);
}

static void test_text(void **state)
{
	static const struct {
		const char *out, *err, *result, *reason;
		enum run_verdict verdict;
		int exit_code, signal;
		bool is_error;
		const char *text;
	} cases[] = {
		{ "1\n", "", NULL, NULL, VERDICT_EXIT, 0, 0, false, "1\nexit 0" FACTS },
		{ "1", "", NULL, NULL, VERDICT_EXIT, 0, 0, false, "1\nexit 0" FACTS },
		{ "", "", NULL, NULL, VERDICT_EXIT, 0, 0, false, "(no output)\nexit 0" FACTS },
		{ "", "", "42", NULL, VERDICT_EXIT, 0, 0, false,
		  "Value of the last expression: 42\nexit 0" FACTS },
		{ "1\n", "oops\n", NULL, NULL, VERDICT_EXIT, 3, 0, true,
		  "1\n[stderr]\noops\nexit 3" FACTS },
		{ "", "warn", NULL, NULL, VERDICT_EXIT, 0, 0, false,
		  "[stderr]\nwarn\nexit 0" FACTS },
		{ "\xff\n", "", NULL, NULL, VERDICT_EXIT, 0, 0, false,
		  "\xef\xbf\xbd\nexit 0" FACTS },
		{ "1\n", "", NULL, "The program did not end within its time limit of 100 ms.",
		  VERDICT_TIMEOUT, 124, 0, true,
		  "1\nThe program did not end within its time limit of 100 ms.\ntimeout" FACTS },
		{ "", "", NULL, "It was ended.", VERDICT_SIGNAL, 139, SIGSEGV, true,
		  "(no output)\nIt was ended.\nsignal 11 SIGSEGV" FACTS },
		{ "", "", NULL, "Cancelled.", VERDICT_CANCELLED, 130, 0, true,
		  "(no output)\nCancelled.\ncancelled" FACTS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_result result = plain(cases[i].out, cases[i].err);
		struct execute_answer answer;

		print_message("%s\n", cases[i].text);
		result.result = cases[i].result;
		result.reason = cases[i].reason;
		result.verdict = cases[i].verdict;
		result.exit_code = cases[i].exit_code;
		result.signal = cases[i].signal;
		execute_answer_make(&answer, &result, EXECUTE_RESULT_LIMIT);
		assert_string_equal(text_of(&answer), cases[i].text);
		assert_string_equal(field(&answer, "text"), cases[i].text);
		assert_int_equal(answer.is_error, cases[i].is_error);
		assert_false(answer.has_media);
		answer_done(&answer);
	}
}

/* The names that other programs rely on. */
static void test_structured(void **state)
{
	static const char expected[] =
		"{\"stdout\":\"out\",\"stderr\":\"err\",\"exitCode\":1,\"duration\":12.345,\"verdict\":\"exit\","
		"\"note\":\"a note\",\"truncated\":{\"stdout\":false,\"stderr\":false},\"result\":\"42\",\"outputs\":"
		"[{\"mime\":\"text/html\",\"size\":3,\"data\":\"<b>\"},{\"mime\":\"image/png\",\"size\":12}],\"files\":"
		"[{\"path\":\"a/\xef\xbf\xbd\",\"size\":5,\"change\":\"created\",\"sha256\":\"abc\"},{\"path\":\"b\","
		"\"size\":0,\"change\":\"deleted\"}],\"usage\":{\"cpu_ms\":1.5,\"wall_ms\":12.345,"
		"\"memory_peak_bytes\":9437184,\"processes_peak\":1},\"isolation\":{\"level\":\"strong\",\"backend\":"
		"\"native\"},\"policy\":\"standard\",\"pool\":\"hit\",\"language\":\"python\"}";
	const struct run_output outputs[] = {
		{ "text/html", "<b>", 3 },
		{ "image/png", PNG, sizeof(PNG) - 1 },
	};
	const struct run_file files[] = {
		{ .path = "a/\xff", .size = 5, .change = "created", .sha256 = "abc", .fd = -1 },
		{ .path = "b", .change = "deleted", .fd = -1 },
	};
	struct run_result result = plain("out", "err");
	json_t *wanted = json_loads(expected, 0, NULL);
	struct execute_answer answer;
	const json_t *image;

	(void)state;
	result.exit_code = 1;
	result.note = "a note";
	result.result = "42";
	result.outputs = outputs;
	result.n_outputs = ARRAY_SIZE(outputs);
	result.files = files;
	result.n_files = result.files_total = ARRAY_SIZE(files);
	execute_answer_make(&answer, &result, EXECUTE_RESULT_LIMIT);
	assert_string_equal(
		text_of(&answer),
		"out\n[stderr]\nerr\nValue of the last expression: 42\na note\n"
		"Files in /workspace (gone after this call): a/\xef\xbf\xbd (5 bytes, created), b (0 bytes, deleted)\n"
		"exit 1" FACTS);
	assert_string_equal(field(&answer, "text"), text_of(&answer));
	(void)json_object_del(answer.structured, "text");
	assert_true(json_equal(answer.structured, wanted));
	assert_true(answer.has_media);
	assert_int_equal(json_array_size(answer.content), 2);
	image = json_array_get(answer.content, 1);
	assert_string_equal(json_string_value(json_object_get(image, "mimeType")), "image/png");
	assert_string_equal(json_string_value(json_object_get(image, "data")), "iVBORw0KGgouLi4u");
	json_decref(wanted);
	answer_done(&answer);
}

/* What a model gets to see of what a program showed. */
static void test_outputs(void **state)
{
	static const struct {
		struct run_output outputs[2];
		const char *result, *text;
		size_t blocks;
	} cases[] = {
		{ { { "text/plain", "a b", 3 }, { "text/html", "<table>", 7 } },
		  NULL,
		  "a b\nexit 0" FACTS,
		  1 },
		{ { { "text/html", "<table>", 7 }, { "text/plain", "a b", 3 } },
		  NULL,
		  "a b\nexit 0" FACTS,
		  1 },
		{ { { "text/html", "<b>", 3 }, { "application/json", "{}", 2 } },
		  NULL,
		  "<b>\n{}\nexit 0" FACTS,
		  1 },
		{ { { "text/html", "<b>", 3 }, { "text/latex", "$", 1 } },
		  "x",
		  "Value of the last expression: x\nexit 0" FACTS,
		  1 },
		{ { { "image/png", PNG, sizeof(PNG) - 1 },
		    { "image/jpeg", "\xff\xd8\xff\xe0", 4 } },
		  NULL,
		  "exit 0" FACTS,
		  3 },
		{ { { "image/png", "no png", 6 }, { "image/svg+xml", "<svg/>", 6 } },
		  NULL,
		  "[image/png of 6 bytes, not shown here]\n[image/svg+xml of 6 bytes, not shown here]\nexit 0" FACTS,
		  1 },
		{ { { "bad\n\xff", "x", 1 }, { "text/plain", "\xff", 1 } },
		  NULL,
		  "[bad?\xef\xbf\xbd of 1 byte, not shown here]\n\xef\xbf\xbd\nexit 0" FACTS,
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_result result = plain("", "");
		struct execute_answer answer;

		print_message("%s\n", cases[i].text);
		result.outputs = cases[i].outputs;
		result.n_outputs = 2;
		result.result = cases[i].result;
		execute_answer_make(&answer, &result, EXECUTE_RESULT_LIMIT);
		assert_string_equal(text_of(&answer), cases[i].text);
		assert_int_equal(json_array_size(answer.content), cases[i].blocks);
		assert_int_equal(answer.has_media, cases[i].blocks > 1);
		answer_done(&answer);
	}
}

/* However much there is, an answer stays within its limit, in text and in structure alike. */
static void test_limit(void **state)
{
	enum { LIMIT = 8 << 10, LARGE = 100 << 10, SLACK = 6 << 10 };
	_Alignas(8) static char large[LARGE + 1];
	struct run_result result;
	struct run_output outputs[4];
	struct execute_answer answer;
	char *text;

	(void)state;
	memset(large, 'x', LARGE);
	memcpy(large, "head", 4);
	memcpy(large + LARGE - 4, "tail", 4);
	result = plain(large, large);
	result.result = large;
	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
		outputs[i] = (struct run_output){ "text/plain", large, LARGE };
	result.outputs = outputs;
	result.n_outputs = ARRAY_SIZE(outputs);
	execute_answer_make(&answer, &result, LIMIT);
	assert_true(strlen(text_of(&answer)) < LIMIT + 1024);
	assert_non_null(strstr(text_of(&answer), "bytes left out"));
	text = json_dumps(answer.structured, JSON_COMPACT);
	assert_true(strlen(text) < LIMIT + 2048);
	free(text);
	assert_true(json_is_true(
		json_object_get(json_object_get(answer.structured, "truncated"), "stdout")));
	/* stderr has its share, and both have their end. */
	assert_true(strlen(field(&answer, "stderr")) > LIMIT / 8);
	assert_non_null(strstr(field(&answer, "stderr"), "tail"));
	assert_non_null(strstr(field(&answer, "stdout"), "tail"));
	answer_done(&answer);
}

/* Streams of which core kept only the two ends. */
static void test_truncated(void **state)
{
	struct run_result result = plain("begin", "");
	struct execute_answer answer;

	(void)state;
	result.out.tail = "end";
	result.out.tail_len = 3;
	result.out.total = 1000;
	result.out.truncated = true;
	execute_answer_make(&answer, &result, EXECUTE_RESULT_LIMIT);
	assert_string_equal(field(&answer, "stdout"), "begin\n[... 992 bytes left out ...]\nend");
	assert_true(json_is_true(
		json_object_get(json_object_get(answer.structured, "truncated"), "stdout")));
	answer_done(&answer);
}

static void test_client_is_listed(void **state)
{
	static const struct {
		const char *list, *client;
		bool expect;
	} cases[] = {
		{ EXECUTE_CONTENT_ONLY, "claude-code", true },
		{ EXECUTE_CONTENT_ONLY, "Claude-Code", true },
		{ EXECUTE_CONTENT_ONLY, "codex", true },
		{ EXECUTE_CONTENT_ONLY, "codex-mcp-client", true },
		{ EXECUTE_CONTENT_ONLY, "opencode", true },
		{ EXECUTE_CONTENT_ONLY, "opencoder", false },
		{ EXECUTE_CONTENT_ONLY, "claude-ai", false },
		{ EXECUTE_CONTENT_ONLY, "claude", false },
		{ EXECUTE_CONTENT_ONLY, "", false },
		{ "a, b,c", "b", true },
		{ "a, b,c", "c", true },
		{ "", "a", false },
		{ " , ", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s in \"%s\"\n", cases[i].client, cases[i].list);
		assert_int_equal(client_is_listed(cases[i].list, cases[i].client), cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),      cmocka_unit_test(test_structured),
		cmocka_unit_test(test_outputs),   cmocka_unit_test(test_limit),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_client_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
