/* The parts of `hotcell setup host` that read other people's files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "command/host_setup.h"

static const struct {
	const char *what, *uids, *gids;
	uint32_t expect;
} ranges[] = {
	{ "nobody has any", "", "", 100000 },
	{ "one before", "a:100000:65536\n", "", 165536 },
	{ "different in both files", "a:100000:65536\n", "a:165536:65536\n", 231072 },
	{ "out of order", "b:165536:65536\na:100000:65536\n", "", 231072 },
	{ "a gap that is too small", "a:100000:10\nb:120000:10\n", "", 120010 },
	{ "a gap that is large enough", "a:300000:65536\n", "", 100000 },
	{ "lines that make no sense", "a\n:\nb:x:y\n\n#c:100000:9\n", "", 100009 },
	{ "nothing left", "a:100000:4294967000\n", "", 0 },
};

static void test_free_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		print_message("%s\n", ranges[i].what);
		assert_int_equal(host_free_range(ranges[i].uids, ranges[i].gids), ranges[i].expect);
	}
}

static const struct {
	const char *unit;
	bool found;
	unsigned expect;
} units[] = {
	{ "", false, 0 },
	{ "[Service]\nUser=%i\n", false, 0 },
	{ "[Service]\nDelegate=pids memory\n", true, DELEGATES_PIDS | DELEGATES_MEMORY },
	{ "[Service]\nDelegate=pids memory cpu\n", true, DELEGATES_ALL },
	{ "[Service]\nDelegate=cpuset io\n", true, 0 },
	{ "[Service]\nDelegate=yes\n", true, DELEGATES_ALL },
	{ "[Service]\nDelegate=yesterday\n", true, 0 },
	{ "[Service]\nDelegate=yes\nDelegate=pids\n", true, DELEGATES_PIDS },
	{ "#Delegate=yes\n", false, 0 },
};

static void test_delegated(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		bool found = false;

		print_message("%s", units[i].unit);
		assert_int_equal(host_delegated(units[i].unit, &found), units[i].expect);
		assert_int_equal(found, units[i].found);
	}
}

static const struct {
	const char *text, *line, *expect; /* NULL: not in it */
} lines[] = {
	{ "a:1:2\nb:3:4\n", "a:1:2", "b:3:4\n" },
	{ "a:1:2\nb:3:4\n", "b:3:4", "a:1:2\n" },
	{ "a:1:2\nb:3:4", "b:3:4", "a:1:2\n" },
	{ "aa:1:2\na:1:2\n", "a:1:2", "aa:1:2\n" },
	{ "a:1:22\n", "a:1:2", NULL },
	{ "", "a:1:2", NULL },
	{ "a:1:2\na:1:2\n", "a:1:2", "a:1:2\n" },
};

static void test_drop_line(void **state)
{
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(text, sizeof(text), "%s", lines[i].text);
		assert_int_equal(host_drop_line(text, lines[i].line), lines[i].expect != NULL);
		assert_string_equal(text, lines[i].expect ? lines[i].expect : lines[i].text);
	}
}

/* What a package installs is what the command would write. */
static void test_profile(void **state)
{
	char path[512], file_text[4096] = "", text[HOST_TEXT_MAX];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/packaging/apparmor/hotcell", getenv("HOTCELL_SOURCE"));
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(file_text, 1, sizeof(file_text) - 1, file) > 0);
	fclose(file);
	host_profile_text("/usr/bin/hotcell", text, sizeof(text));
	assert_string_equal(text, file_text);
	assert_non_null(strstr(text, HOST_SETUP_MARKER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_free_range),
		cmocka_unit_test(test_delegated),
		cmocka_unit_test(test_drop_line),
		cmocka_unit_test(test_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
