#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/parse.h"

enum { UNTOUCHED = 77 };

#define KB ((uint64_t)1 << 10)
#define MB ((uint64_t)1 << 20)
#define GB ((uint64_t)1 << 30)
#define TB ((uint64_t)1 << 40)

struct number_case {
	const char *text;
	int expect;
	uint64_t value;
};

static void check(const char *what, int (*parse)(const char *, uint64_t *),
		  const struct number_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;

		print_message("%s(\"%s\")\n", what, cases[i].text);
		assert_int_equal(parse(cases[i].text, &v), cases[i].expect);
		/* What is refused changes nothing. */
		assert_int_equal(v, cases[i].expect == 0 ? cases[i].value : UNTOUCHED);
	}
}
#define CHECK(parse, cases) check(#parse, parse, cases, ARRAY_SIZE(cases))

static void test_uint64(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "\xd9\xa1", -EINVAL, 0 }, /* an Arabic one */
	};

	(void)state;
	CHECK(parse_uint64, cases);
}

static void test_bytes(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "512", 0, 512 },
		{ "256M", 0, 256 * MB },
		{ "256m", 0, 256 * MB },
		{ "1K", 0, KB },
		{ "1KB", 0, KB },
		{ "1kib", 0, KB },
		{ "1GiB", 0, GB },
		{ "2T", 0, 2 * TB },
		{ "1.5G", 0, GB + GB / 2 },
		{ "0.5M", 0, MB / 2 },
		{ "1.25KB", 0, 1280 },
		{ "0.001K", 0, 1 },
		{ "1.000M", 0, MB },
		{ "16777215T", 0, 16777215 * TB },
		{ "16777215.999T", 0,
		  16777215 * TB + (TB / 1000) * 999 + (TB % 1000) * 999 / 1000 },
		{ "16777216T", -ERANGE, 0 },
		{ "17179869184G", -ERANGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "18446744073709551615.5K", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "M", -EINVAL, 0 },
		{ ".5M", -EINVAL, 0 },
		{ "1.M", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1.0B", -EINVAL, 0 },
		{ "1.2345M", -EINVAL, 0 },
		{ "1.5.5M", -EINVAL, 0 },
		{ "12x", -EINVAL, 0 },
		{ "12MX", -EINVAL, 0 },
		{ "12MBB", -EINVAL, 0 },
		{ "12Mi", -EINVAL, 0 },
		{ "512B", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "-1M", -EINVAL, 0 },
		{ " 1M", -EINVAL, 0 },
		{ "1 M", -EINVAL, 0 },
		{ "1P", -EINVAL, 0 },
		{ "1\xff", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};

	(void)state;
	CHECK(parse_bytes, cases);
}

static void test_duration(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "250", 0, 250 },
		{ "250ms", 0, 250 },
		{ "30s", 0, 30000 },
		{ "1.5s", 0, 1500 },
		{ "0.001s", 0, 1 },
		{ "5m", 0, 300000 },
		{ "0.5m", 0, 30000 },
		{ "1h", 0, 3600000 },
		{ "1.5", -EINVAL, 0 },
		{ "0.5ms", -EINVAL, 0 },
		{ "1.0ms", 0, 1 },
		{ "1.2345s", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1s1", -EINVAL, 0 },
		{ "18446744073709551615", -ERANGE, 0 },
		{ "18446744073709551s", -ERANGE, 0 },
		{ "5124095576030h", -ERANGE, 0 },
		{ "99999999999999999999h", -ERANGE, 0 },
	};

	(void)state;
	CHECK(parse_duration_ms, cases);
}

static void test_milli(void **state)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "2", 0, 2000 },
		{ "0.5", 0, 500 },
		{ "1.25", 0, 1250 },
		{ "0.001", 0, 1 },
		{ "0.0001", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "1,5", -EINVAL, 0 },
		{ "1.5.1", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "-0.5", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "18446744073709550", 0, 18446744073709550000u },
		{ "18446744073709551", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
	};

	(void)state;
	CHECK(parse_milli, cases);
}

static void test_bool(void **state)
{
	static const struct {
		const char *text;
		int expect;
		bool value;
	} cases[] = {
		{ "yes", 0, true },        { "YES", 0, true },         { "true", 0, true },
		{ "on", 0, true },         { "1", 0, true },           { "no", 0, false },
		{ "False", 0, false },     { "off", 0, false },        { "0", 0, false },
		{ "", -EINVAL, true },     { "y", -EINVAL, true },     { "2", -EINVAL, true },
		{ "yes ", -EINVAL, true }, { "yesno", -EINVAL, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool value = true;

		print_message("parse_bool(\"%s\")\n", cases[i].text);
		assert_int_equal(parse_bool(cases[i].text, &value), cases[i].expect);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_format_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *expect;
	} cases[] = {
		{ 0, "0 bytes" },       { 1, "1 byte" },
		{ 3, "3 bytes" },       { 1023, "1023 bytes" },
		{ 1024, "1.0 KB" },     { 1536, "1.5 KB" },
		{ 17 * 1024, "17 KB" }, { 1023 * 1024, "1023 KB" },
		{ 1048575, "1.0 MB" }, /* not 1024 KB */
		{ 512 * MB, "512 MB" }, { GB + GB * 4 / 10, "1.4 GB" },
		{ TB, "1.0 TB" },       { UINT64_MAX, "16777216 TB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[32];

		assert_string_equal(format_bytes(cases[i].bytes, text, sizeof(text)),
				    cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uint64),   cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_duration), cmocka_unit_test(test_milli),
		cmocka_unit_test(test_bool),     cmocka_unit_test(test_format_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
