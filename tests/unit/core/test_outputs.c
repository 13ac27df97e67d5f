#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "core/outputs.h"

static void add_record(struct outputs *outputs, uint32_t kind, const char *mime, const void *data,
		       size_t len)
{
	const uint32_t header[] = { htole32(kind), htole32((uint32_t)strlen(mime)),
				    htole32((uint32_t)len) };

	outputs_add(outputs, header, sizeof(header));
	outputs_add(outputs, mime, strlen(mime));
	outputs_add(outputs, data, len);
}

static void test_records(void **state)
{
	struct outputs outputs;

	(void)state;
	outputs_init(&outputs);
	add_record(&outputs, 1, "", "41", 2);
	add_record(&outputs, 2, "image/png", "\x89PNG", 4);
	add_record(&outputs, 2, "text/html; charset=utf-8", "", 0);
	add_record(&outputs, 1, "text/plain", "42", 2);
	outputs_parse(&outputs);
	assert_string_equal(outputs.result, "42");
	assert_int_equal(outputs.n, 2);
	assert_string_equal(outputs.list[0].mime, "image/png");
	assert_int_equal(outputs.list[0].len, 4);
	assert_memory_equal(outputs.list[0].data, "\x89PNG", 4);
	assert_string_equal(outputs.list[1].mime, "text/html; charset=utf-8");
	assert_int_equal(outputs.list[1].len, 0);
	assert_int_equal(outputs.ignored, 0);
	outputs_done(&outputs);
}

static void test_nothing(void **state)
{
	struct outputs outputs;

	(void)state;
	outputs_init(&outputs);
	outputs_parse(&outputs);
	assert_null(outputs.result);
	assert_int_equal(outputs.n, 0);
	outputs_done(&outputs);
}

/* A bad record ends the reading; what came before stays, what comes after is ignored. */
static void test_malformed(void **state)
{
	static const struct {
		const char *name;
		uint32_t kind, mime_len, len;
		const char *rest;
	} cases[] = {
		{ "unknown kind", 3, 1, 0, "/" },
		{ "kind 0", 0, 1, 0, "/" },
		{ "no MIME type", 2, 0, 1, "x" },
		{ "no slash", 2, 3, 0, "png" },
		{ "newline in the MIME type", 2, 4, 0, "a/b\n" },
		{ "byte above ASCII", 2, 4, 0, "a/b\xff" },
		{ "MIME type too long", 2, OUTPUTS_MIME_MAX + 1, 0, "a/b" },
		{ "MIME type past the end", 2, 100, 0, "a/b" },
		{ "data past the end", 2, 3, 100, "a/bxxx" },
		{ "lengths that overflow together", 2, 3, UINT32_MAX, "a/b" },
		{ "both at the maximum", 1, UINT32_MAX, UINT32_MAX, "a/b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint32_t header[] = { htole32(cases[i].kind), htole32(cases[i].mime_len),
					    htole32(cases[i].len) };
		struct outputs outputs;

		print_message("%s\n", cases[i].name);
		outputs_init(&outputs);
		add_record(&outputs, 2, "a/a", "first", 5);
		outputs_add(&outputs, header, sizeof(header));
		outputs_add(&outputs, cases[i].rest, strlen(cases[i].rest));
		outputs_parse(&outputs);
		assert_int_equal(outputs.n, 1);
		assert_memory_equal(outputs.list[0].data, "first", 5);
		assert_null(outputs.result);
		outputs_done(&outputs);
	}
}

static void test_limits(void **state)
{
	const size_t large = OUTPUTS_BYTES_MAX - 100;
	_cleanup_free_ char *bytes = xcalloc(1, large);
	struct outputs outputs;

	(void)state;
	outputs_init(&outputs);
	for (size_t i = 0; i < OUTPUTS_RECORDS_MAX + 5; i++)
		add_record(&outputs, 2, "a/b", "x", 1);
	outputs_parse(&outputs);
	assert_int_equal(outputs.n, OUTPUTS_RECORDS_MAX);
	outputs_done(&outputs);

	outputs_init(&outputs);
	add_record(&outputs, 2, "a/b", bytes, large);
	add_record(&outputs, 2, "a/b", bytes, 200); /* does not fit */
	add_record(&outputs, 2, "a/b", bytes, 1);   /* would, but is what follows */
	outputs_parse(&outputs);
	assert_int_equal(outputs.n, 1);
	assert_int_equal(outputs.list[0].len, large);
	assert_true(outputs.ignored > 0);
	outputs_done(&outputs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("outputs", tests, NULL, NULL);
}
