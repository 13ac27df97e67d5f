#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "runtime/words.h"

static void test_split(void **state)
{
	static const struct {
		const char *text, *expect; /* words joined by '|'; NULL: refused */
	} cases[] = {
		{ "", "" },
		{ " \t ", "" },
		{ "a", "a|" },
		{ "  a\tb  c ", "a|b|c|" },
		{ "'a b' \"c d\"", "a b|c d|" },
		{ "a'b c'd", "ab cd|" },
		{ "\"it's\"", "it's|" },
		{ "'' x", "|x|" },
		{ "-c 'print({})'", "-c|print({})|" },
		{ "a\\ b", "a\\|b|" }, /* a backslash is a backslash */
		{ "'open", NULL },
		{ "a \"b 'c'", NULL },
		{ "1 2 3 4", "1|2|3|4|" },
		{ "1 2 3 4 5", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct keep keep = { 0 };
		struct error err = { 0 };
		const char *const *list = words_split(&keep, cases[i].text, 4, &err);

		print_message("<%s> %s\n", cases[i].text, err.message);
		if (cases[i].expect) {
			_cleanup_buf_ struct buf joined;

			buf_init(&joined, 100);
			assert_non_null(list);
			for (; *list; list++)
				assert_int_equal(buf_printf(&joined, "%s|", *list), 0);
			assert_string_equal(buf_string(&joined), cases[i].expect);
		} else {
			assert_null(list);
			assert_true(err.message[0]);
		}
		keep_done(&keep);
	}
}

struct word_case {
	const char *word;
	bool expect;
};

static void check(bool (*is)(const char *), const struct word_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		print_message("<%s>\n", cases[i].word);
		assert_int_equal(is(cases[i].word), cases[i].expect);
	}
}

static void test_language(void **state)
{
	static const struct word_case cases[] = {
		{ "python", true },
		{ "c", true },
		{ "c++", true },
		{ "c#", true },
		{ "objective-c", true },
		{ "python3.11", true },
		{ "abcdefghijklmnopqrstuvwxyzabcdef", true },
		{ "abcdefghijklmnopqrstuvwxyzabcdefg", false },
		{ "", false },
		{ "Python", false },
		{ "3d", false },
		{ "-x", false },
		{ ".x", false },
		{ "a b", false },
		{ "a/b", false },
		{ "a\n", false },
		{ "caf\xc3\xa9", false },
		{ "../x", false },
	};

	(void)state;
	check(word_is_language, cases, ARRAY_SIZE(cases));
}

static void test_variable(void **state)
{
	static const struct word_case cases[] = {
		{ "A", true },         { "_", true },    { "a1_B", true }, { "", false },
		{ "1A", false },       { "A-B", false }, { "A B", false }, { "A=B", false },
		{ "\xc3\x89", false }, { "A.B", false },
	};

	(void)state;
	check(word_is_variable, cases, ARRAY_SIZE(cases));
}

static void test_file(void **state)
{
	static const struct word_case cases[] = {
		{ "main.sh", true },
		{ "a", true },
		{ "a b", true },
		{ "", false },
		{ ".", false },
		{ "..", false },
		{ ".sh", false },
		{ "a/b", false },
		{ "/a", false },
		{ "123456789012345678901234567890123456789012345678", true },
		{ "1234567890123456789012345678901234567890123456789", false },
	};

	(void)state;
	check(word_is_file, cases, ARRAY_SIZE(cases));
}

static void test_placeholders(void **state)
{
	static const struct {
		const char *text;
		bool file;
		const char *expect; /* NULL: refused */
	} cases[] = {
		{ "", false, "" },
		{ "{program}", false, "/bin/x" },
		{ "-I{place}/lib:{place}", false, "-I/opt/x/lib:/opt/x" },
		{ "{file}", true, "{file}" },
		{ "{file}", false, NULL },
		{ "{filee}", true, NULL },
		{ "{programs}", true, NULL },
		{ "{prog}", true, NULL },
		/* What does not look like one is left alone. */
		{ "{}", false, "{}" },
		{ "{ print $1 }", false, "{ print $1 }" },
		{ "{A}", false, "{A}" },
		{ "{{place}}", false, "{/opt/x}" },
		{ "{", false, "{" },
		{ "{program", false, "{program" },
	};
	const struct placeholders plain = { .program = "/bin/x", .place = "/opt/x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct placeholders p = plain;
		struct keep keep = { 0 };
		struct error err = { 0 };
		const char *text;

		p.file = cases[i].file;
		text = placeholders_expand(&keep, &p, cases[i].text, &err);
		print_message("<%s> %s\n", cases[i].text, err.message);
		if (cases[i].expect)
			assert_string_equal(text, cases[i].expect);
		else
			assert_null(text);
		keep_done(&keep);
	}
}

/* A line of placeholders cannot grow without an end. */
static void test_expansion_is_bounded(void **state)
{
	static char place[4096], text[4096];
	struct placeholders p = { .program = place, .place = place };
	struct keep keep = { 0 };
	struct error err = { 0 };

	(void)state;
	memset(place, 'x', sizeof(place) - 1);
	for (size_t i = 0; i + 7 < sizeof(text); i += 7)
		memcpy(text + i, "{place}", 7);
	assert_null(placeholders_expand(&keep, &p, text, &err));
	assert_non_null(strstr(err.message, "longer than"));
	keep_done(&keep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),        cmocka_unit_test(test_language),
		cmocka_unit_test(test_variable),     cmocka_unit_test(test_file),
		cmocka_unit_test(test_placeholders), cmocka_unit_test(test_expansion_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
