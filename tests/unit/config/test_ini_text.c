#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "config/ini_text.h"

/* Writes what it hears: "[section]", then "key=value@line" for each pair. */
static bool write_down(const struct ini_entry *entry, void *data, struct error *err)
{
	struct buf *b = data;

	if (entry->key && strcmp(entry->key, "refuse") == 0)
		return error_set(err, ERR_LIMIT, 0, "refused");
	if (!entry->key)
		return buf_printf(b, "[%s@%u]", entry->section, entry->line) == 0;
	return buf_printf(b, "{%s=%s@%u}", entry->key, entry->value, entry->line) == 0;
}

static bool read_text(struct buf *b, const char *text, size_t len, struct error *err)
{
	const struct ini_reader reader = { .entry = write_down, .data = b };

	buf_clear(b);
	return ini_read_text("f.ini", text, len, &reader, err);
}

static void test_good(void **state)
{
	static const struct {
		const char *text, *expect;
	} cases[] = {
		{ "", "" },
		{ "\n\n", "" },
		{ "[a]\nk = v\n", "[a@1]{k=v@2}" },
		{ "[a]\nk = v", "[a@1]{k=v@2}" },
		{ "[a]\r\nk = v\r\n", "[a@1]{k=v@2}" },
		{ "\xef\xbb\xbf[a]\nk=v\n", "[a@1]{k=v@2}" },
		{ "; c\n# c\n\n  # c\n[a]\n", "[a@5]" },
		{ "  [a]  \n\t k \t=\t v w \t\n", "[a@1]{k=v w@2}" },
		{ "[a]\nk =\nl=\n", "[a@1]{k=@2}{l=@3}" },
		/* The value goes to the end of its line, whatever is in it. */
		{ "[a]\nk = a = b ; c # d : e\n", "[a@1]{k=a = b ; c # d : e@2}" },
		{ "[a]\nk = ;x\n", "[a@1]{k=;x@2}" },
		{ "[a]\nk = [b]\n", "[a@1]{k=[b]@2}" },
		/* A line that is set in belongs to no other. */
		{ "[a]\nk = v\n  l = w\n", "[a@1]{k=v@2}{l=w@3}" },
		{ "[a]\nk=1\n[b]\nk=2\n[a]\nk=3\n", "[a@1]{k=1@2}[b@3]{k=2@4}[a@5]{k=3@6}" },
		{ "[policy.strict]\nk=\xc3\xa9\xff\n", "[policy.strict@1]{k=\xc3\xa9\xff@2}" },
	};
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, 10000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };

		print_message("case %zu\n", i);
		if (!read_text(&b, cases[i].text, strlen(cases[i].text), &err))
			fail_msg("%s", err.message);
		assert_string_equal(buf_string(&b), cases[i].expect);
	}
}

#define TEXT(t) t, sizeof(t) - 1

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *expect; /* the beginning of the sentence */
	} cases[] = {
		{ TEXT("k = v\n"), "f.ini:1: 'k' stands before" },
		{ TEXT("[a]\nk\n"), "f.ini:2: expected 'key = value'" },
		{ TEXT("[a]\nk v\nl=1\nm\n"), "f.ini:2: expected 'key = value'" },
		{ TEXT("[a]\nk: v\n"), "f.ini:2: write 'key = value'" },
		{ TEXT("[a]\nk:l = v\n"), "f.ini:2: write 'key = value'" },
		{ TEXT("[a]\n= v\n"), "f.ini:2: a key has" },
		{ TEXT("[a]\n \t = v\n"), "f.ini:2: a key has" },
		{ TEXT("[a]\n01234567890123456789012345678901234567890123456789 = v\n"),
		  "f.ini:2: a key has" },
		{ TEXT("[a\n"), "f.ini:1: the section's name is not closed" },
		{ TEXT("[]\n"), "f.ini:1: a section's name has" },
		{ TEXT("[a] b = c\n"), "f.ini:1: there is text after ']'" },
		{ TEXT("[a] ; comment\n"), "f.ini:1: there is text after ']'" },
		{ TEXT("[01234567890123456789012345678901234567890123456789]\n"),
		  "f.ini:1: a section's name has" },
		{ TEXT("[a]\nk = v\0w\n"), "f.ini:2: there is a NUL byte" },
		{ TEXT("\0"), "f.ini:1: there is a NUL byte" },
		{ TEXT("[a]\n; \0\n"), "f.ini:2: there is a NUL byte" },
		{ TEXT("[a]\nk = \x1b[31m\n"),
		  "f.ini:2: there is a control character (byte 0x1b)" },
		{ TEXT("[a]\nk = a\rb\n"), "f.ini:2: there is a control character (byte 0x0d)" },
		{ TEXT("\x7f"
		       "ELF"),
		  "f.ini:1: there is a control character (byte 0x7f)" },
		{ TEXT("[a]\n\nrefuse = 1\nx\n"), "f.ini:3: refused" },
	};
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, 10000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };

		assert_false(read_text(&b, cases[i].text, cases[i].len, &err));
		print_message("%s\n", err.message);
		assert_memory_equal(err.message, cases[i].expect, strlen(cases[i].expect));
		assert_false(read_text(&b, cases[i].text, cases[i].len, NULL));
	}
}

/* A line as long as is allowed comes whole; one byte more is refused, never cut. */
static void test_line_length(void **state)
{
	_cleanup_buf_ struct buf b;
	static char text[INI_LINE_MAX + 16];
	struct error err;

	(void)state;
	buf_init(&b, 10000);
	memset(text, 'x', sizeof(text));
	memcpy(text, "[a]\nk=", 6);
	text[4 + INI_LINE_MAX] = '\n';
	assert_true(read_text(&b, text, 4 + INI_LINE_MAX + 1, &err));
	assert_int_equal(b.len, strlen("[a@1]{k=@2}") + INI_LINE_MAX - 2);
	assert_true(read_text(&b, text, 4 + INI_LINE_MAX, &err));
	text[4 + INI_LINE_MAX] = 'x';
	assert_false(read_text(&b, text, 4 + INI_LINE_MAX + 1, &err));
	assert_string_equal(err.message, "f.ini:2: the line is longer than 4096 bytes");
}

static void test_text_length(void **state)
{
	_cleanup_free_ char *text = xmalloc(INI_TEXT_MAX + 1);
	_cleanup_buf_ struct buf b;
	struct error err;

	(void)state;
	buf_init(&b, 100);
	memset(text, '\n', INI_TEXT_MAX + 1);
	assert_true(read_text(&b, text, INI_TEXT_MAX, &err));
	assert_false(read_text(&b, text, INI_TEXT_MAX + 1, &err));
	assert_string_equal(err.message, "f.ini: the file is larger than 262144 bytes");
}

static void test_value_check(void **state)
{
	static const struct {
		const char *value;
		bool expect;
	} cases[] = {
		{ "", true },         { "a b\tc", true },
		{ "\xc3\xa9", true }, { " a", false },
		{ "a ", false },      { "\t", false },
		{ "a\nb", false },    { "a\n[run]\nx=1", false },
		{ "\x7f", false },    { "\x01", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(ini_value_check(cases[i].value, NULL), cases[i].expect);
	}
}

static void test_files(void **state)
{
	char path[] = "/tmp/hotcell-test-XXXXXX";
	_cleanup_buf_ struct buf b;
	const struct ini_reader reader = { .entry = write_down, .data = &b };
	struct error err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	buf_init(&b, 1000);
	assert_int_equal(write(fd, "[a]\nk=v\n", 8), 8);
	assert_int_equal(close(fd), 0);
	assert_true(ini_read_file(path, false, &reader, &err));
	assert_string_equal(buf_string(&b), "[a@1]{k=v@2}");
	assert_int_equal(unlink(path), 0);

	assert_true(ini_read_file(path, true, &reader, &err));
	assert_true(ini_read_file("/dev/null/x", true, &reader, &err));
	assert_true(ini_read_file("/dev/null", false, &reader, &err));
	assert_false(ini_read_file(path, false, &reader, &err));
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.message, "No such file or directory"));
	assert_false(ini_read_file("/tmp", true, &reader, &err));
	assert_string_equal(err.message, "cannot read /tmp: Is a directory");
	assert_false(ini_read_file("/dev/zero", true, &reader, &err));
	assert_non_null(strstr(err.message, "is larger than"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),        cmocka_unit_test(test_refused),
		cmocka_unit_test(test_line_length), cmocka_unit_test(test_text_length),
		cmocka_unit_test(test_value_check), cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
