#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "tools/clip.h"

#define EURO "\xe2\x82\xac"
#define BAD  "\xef\xbf\xbd"

/* gap: bytes that were lost between head and tail. */
static const struct {
	const char *head, *tail;
	uint64_t gap;
	size_t max;
	bool whole;
	const char *text;
} cases[] = {
	{ "", "", 0, 0, true, "" },
	{ "", "", 0, 100, true, "" },
	{ "hello", "", 0, 5, true, "hello" },
	{ "hello", "", 0, 4, false, "he\n[... 1 bytes left out ...]\nlo" },
	{ "hello", "", 0, 0, false, "\n[... 5 bytes left out ...]\n" },
	{ "0123456789", "", 0, 6, false, "012\n[... 4 bytes left out ...]\n789" },
	{ "hello ", "world", 0, 11, true, "hello world" },
	{ "hello ", "world", 0, 4, false, "he\n[... 7 bytes left out ...]\nld" },
	{ "hello ", "world", 90, 100, false, "hello \n[... 90 bytes left out ...]\nworld" },
	{ "hello ", "world", 90, 4, false, "he\n[... 97 bytes left out ...]\nld" },
	/* a character on the seam, and in the place where it is cut */
	{ "a\xe2\x82",
	  "\xac"
	  "b",
	  0, 5, true, "a" EURO "b" },
	{ EURO EURO EURO EURO, "", 0, 8, false, EURO "\n[... 6 bytes left out ...]\n" EURO },
	{ "a" EURO "b" EURO "c", "", 0, 4, false, "a\n[... 7 bytes left out ...]\nc" },
	/* bytes that are no character take three in the result */
	{ "\xff", "", 0, 3, true, BAD },
	{ "\xff\xff\xff\xff", "", 0, 6, false, BAD "\n[... 2 bytes left out ...]\n" BAD },
	{ "\xac\xac\xac\xac\xac\xac", "", 0, 7, false, BAD "\n[... 4 bytes left out ...]\n" BAD },
};

static void test_clip(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct clip_source source = {
			.head = cases[i].head,
			.head_len = strlen(cases[i].head),
			.tail = cases[i].tail,
			.tail_len = strlen(cases[i].tail),
			.total = strlen(cases[i].head) + strlen(cases[i].tail) + cases[i].gap,
		};
		_cleanup_buf_ struct buf to = { 0 };

		print_message("\"%s\" \"%s\" into %zu\n", cases[i].head, cases[i].tail,
			      cases[i].max);
		buf_init(&to, SIZE_MAX);
		assert_int_equal(clip_append(&to, &source, cases[i].max), cases[i].whole);
		assert_string_equal(buf_string(&to), cases[i].text);
	}
}

/* Every length of a text that is nothing but trouble: valid, within the limit, nothing twice. */
static void test_sizes(void **state)
{
	static const char text[] = EURO "\xff" EURO "\xe2\x82" EURO "a\xac" EURO "\xf0\x9f\x98";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		for (size_t max = 0; max < 40; max++) {
			const struct clip_source source = { .head = text,
							    .head_len = len,
							    .total = len };
			_cleanup_buf_ struct buf to = { 0 };

			buf_init(&to, SIZE_MAX);
			(void)clip_append(&to, &source, max);
			assert_true(to.len <= max + 40);
			assert_true(utf8_is_valid(buf_string(&to), to.len));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clip),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
