#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/utf8.h"

/* The edges of every range of the standard's table. */
static void test_sequence(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, expect;
	} cases[] = {
		{ "", 0, 0 },
		{ "\0", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\x80", 1, 0 },
		{ "\xbf", 1, 0 },
		{ "\xc0\x80", 2, 0 }, /* overlong NUL */
		{ "\xc1\xbf", 2, 0 },
		{ "\xc2\x80", 2, 2 },
		{ "\xdf\xbf", 2, 2 },
		{ "\xdf", 1, 0 },
		{ "\xdf\x7f", 2, 0 },
		{ "\xdf\xc0", 2, 0 },
		{ "\xe0\x9f\xbf", 3, 0 }, /* overlong */
		{ "\xe0\xa0\x80", 3, 3 },
		{ "\xed\x9f\xbf", 3, 3 },
		{ "\xed\xa0\x80", 3, 0 }, /* the first surrogate */
		{ "\xed\xbf\xbf", 3, 0 }, /* the last one */
		{ "\xee\x80\x80", 3, 3 },
		{ "\xef\xbf\xbf", 3, 3 },
		{ "\xef\xbf", 2, 0 },
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
		{ "\xf0\x90\x80\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 }, /* U+10FFFF */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* one more */
		{ "\xf4\x8f\xbf", 3, 0 },
		{ "\xf0\x90\x80\x00", 4, 0 },
		{ "\xf5\x80\x80\x80", 4, 0 },
		{ "\xff", 1, 0 },
		{ "a\xff", 2, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(utf8_sequence(cases[i].bytes, cases[i].len), cases[i].expect);
	}
}

/* Every code point there is, and nothing else, against a plain encoder. */
static void test_every_code_point(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff + 0x100; c++) {
		char b[4];
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		bool good = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);

		if (n == 1)
			b[0] = (char)c;
		else
			b[0] = (char)((0xf00u >> n) | (c >> (6 * (n - 1))));
		for (size_t i = 1; i < n; i++)
			b[i] = (char)(0x80 | ((c >> (6 * (n - 1 - i))) & 0x3f));
		assert_int_equal(utf8_sequence(b, n), good ? n : 0);
		assert_int_equal(utf8_is_valid(b, n), good);
	}
}

#define BAD "\xef\xbf\xbd"

static void test_repair(void **state)
{
	static const struct {
		const char *bytes, *expect;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "\xff", BAD },
		{ "a\xff"
		  "b",
		  "a" BAD "b" },
		{ "\xc3", BAD },
		{ "\xe2\x82", BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xc3\xc3\xa9", BAD "\xc3\xa9" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out;

		buf_init(&out, 100);
		assert_int_equal(utf8_repair(&out, cases[i].bytes, strlen(cases[i].bytes)), 0);
		assert_string_equal(buf_string(&out), cases[i].expect);
		assert_true(utf8_is_valid(buf_string(&out), out.len));
	}
}

static void test_repair_is_bounded(void **state)
{
	_cleanup_buf_ struct buf out;

	(void)state;
	buf_init(&out, 5);
	assert_int_equal(utf8_repair(&out, "\xff\xff", 2), -ENOBUFS);
	assert_int_equal(utf8_repair(&out, "abc", 3), -ENOBUFS);
}

static void test_cut(void **state)
{
	static const struct {
		const char *bytes;
		size_t expect;
	} cases[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "a\xc3", 1 },
		{ "a\xc3\xa9", 3 },
		{ "a\xe2", 1 },
		{ "a\xe2\x82", 1 },
		{ "a\xe2\x82\xac", 4 },
		{ "a\xf0", 1 },
		{ "a\xf0\x9f", 1 },
		{ "a\xf0\x9f\x98", 1 },
		{ "a\xf0\x9f\x98\x80", 5 },
		{ "\xc3", 0 },
		{ "\x80", 1 },
		{ "\x80\x80\x80\x80\x80", 5 },
		{ "\xc3\xa9\xa9", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(utf8_cut(cases[i].bytes, strlen(cases[i].bytes)), cases[i].expect);
	}
}

/* Wherever a text is cut, both halves of it are still valid. */
static void test_cut_everywhere(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\xf4\x8f\xbf\xbf";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		size_t at = utf8_cut(text, len);

		assert_true(at <= len && len - at < 4);
		assert_true(utf8_is_valid(text, at));
		assert_true(utf8_is_valid(text + at, sizeof(text) - 1 - at));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence), cmocka_unit_test(test_every_code_point),
		cmocka_unit_test(test_repair),   cmocka_unit_test(test_repair_is_bounded),
		cmocka_unit_test(test_cut),      cmocka_unit_test(test_cut_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
