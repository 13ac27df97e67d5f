#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"

/* An append that would pass the maximum changes nothing. */
static void test_limit(void **state)
{
	static const struct {
		size_t max, had, more;
		int expect;
	} cases[] = {
		{ 0, 0, 0, 0 },
		{ 0, 0, 1, -ENOBUFS },
		{ 1, 0, 1, 0 },
		{ 1, 1, 0, 0 },
		{ 1, 1, 1, -ENOBUFS },
		{ 255, 255, 1, -ENOBUFS },
		{ 256, 255, 1, 0 },
		{ 256, 255, 2, -ENOBUFS },
		{ 257, 256, 1, 0 },
		{ 5000, 1, 4999, 0 },
		{ 5000, 1, 5000, -ENOBUFS },
		{ 5000, 5000, 1, -ENOBUFS },
		{ 10, 5, SIZE_MAX, -ENOBUFS },
	};
	static uint8_t bytes[5000];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf b;
		int r;

		print_message("%zu bytes and %zu more of at most %zu\n", cases[i].had,
			      cases[i].more, cases[i].max);
		buf_init(&b, cases[i].max);
		assert_int_equal(buf_append(&b, bytes, cases[i].had), 0);
		r = buf_append(&b, bytes, cases[i].more);
		assert_int_equal(r, cases[i].expect);
		assert_int_equal(b.len, cases[i].had + (r == 0 ? cases[i].more : 0));
		assert_int_equal(buf_room(&b), cases[i].max - b.len);
		/* The NUL has room even in a full buffer. */
		assert_int_equal(strlen(buf_string(&b)), b.len);
		assert_true(b.size <= cases[i].max + 1);
	}
}

/* "No limit" works too: it once made a buffer of one byte. */
static void test_huge_maximum(void **state)
{
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, SIZE_MAX);
	assert_int_equal(buf_append_string(&b, "hello"), 0);
	assert_string_equal(buf_string(&b), "hello");
	assert_null(buf_reserve(&b, SIZE_MAX - 1));
}

static void test_reserve_and_commit(void **state)
{
	_cleanup_buf_ struct buf b;
	uint8_t *to;

	(void)state;
	buf_init(&b, 4);
	assert_null(buf_reserve(&b, 5));
	to = buf_reserve(&b, 4);
	assert_non_null(to);
	memcpy(to, "ab", 2);
	buf_commit(&b, 2);
	assert_string_equal(buf_string(&b), "ab");
	assert_null(buf_reserve(&b, 3));
	assert_non_null(buf_reserve(&b, 2));
	assert_int_equal(b.len, 2);
}

static void test_consume(void **state)
{
	static const struct {
		size_t n;
		const char *expect;
	} cases[] = { { 0, "abcdef" }, { 1, "bcdef" }, { 5, "f" },
		      { 6, "" },       { 7, "" },      { SIZE_MAX, "" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf b;

		buf_init(&b, 100);
		buf_consume(&b, cases[i].n); /* of an empty one: nothing */
		assert_int_equal(buf_append_string(&b, "abcdef"), 0);
		buf_consume(&b, cases[i].n);
		assert_string_equal(buf_string(&b), cases[i].expect);
	}
}

static void test_printf(void **state)
{
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, 8);
	assert_int_equal(buf_printf(&b, "%d,%s", 12, "ab"), 0);
	assert_int_equal(buf_printf(&b, "%s", "toolong"), -ENOBUFS);
	assert_string_equal(buf_string(&b), "12,ab");
	buf_clear(&b);
	assert_string_equal(buf_string(&b), "");
	assert_int_equal(buf_printf(&b, "%s", "12345678"), 0);
	assert_int_equal(buf_append_string(&b, ""), 0);
}

/* Bytes are bytes: NULs inside are kept. */
static void test_nul_inside(void **state)
{
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, 16);
	assert_int_equal(buf_append(&b, "a\0b", 3), 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 3);
}

static void test_done_twice(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 16);
	assert_int_equal(buf_append_string(&b, "x"), 0);
	buf_done(&b);
	buf_done(&b);
	assert_int_equal(buf_append_string(&b, "x"), -ENOBUFS);
	assert_string_equal(buf_string(&b), "");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_huge_maximum),
		cmocka_unit_test(test_reserve_and_commit),
		cmocka_unit_test(test_consume),
		cmocka_unit_test(test_printf),
		cmocka_unit_test(test_nul_inside),
		cmocka_unit_test(test_done_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
