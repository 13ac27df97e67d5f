/* Whose range of uids a line of /etc/subuid is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/macros.h"
#include "command/privilege.h"

static void test_subuid_find(void **state)
{
	static const struct {
		const char *text;
		bool found;
		uint32_t first, count;
	} cases[] = {
		{ "ann:100000:65536\n", true, 100000, 65536 },
		{ "bob:100000:65536\nann:165536:65536\n", true, 165536, 65536 },
		{ "1001:100000:65536", true, 100000, 65536 }, /* by number, no newline at the end */
		{ "ann:100000:10\nann:200000:65536\n", true, 200000,
		  65536 }, /* the first is too small */
		{ "ann:100000:1000000\n", true, 100000, 65536 },
		{ "", false, 0, 0 },
		{ "anna:100000:65536\n", false, 0, 0 },
		{ "ann:100000\n", false, 0, 0 },
		{ "ann:0:65536\n", false, 0, 0 }, /* would be root's own */
		{ "ann:-1:65536\n", false, 0, 0 },
		{ "ann:4294967000:65536\n", false, 0, 0 },
		{ "ann:99999999999999999999:65536\n", false, 0, 0 },
		{ "ann:100000:65536:more\n", false, 0, 0 },
		{ "ann::\n:::\n\n\n", false, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t first = 0, count = 0;

		print_message("subuid \"%s\"\n", cases[i].text);
		assert_int_equal(subuid_find(cases[i].text, "ann", 1001, &first, &count),
				 cases[i].found);
		assert_int_equal(first, cases[i].first);
		assert_int_equal(count, cases[i].count);
	}
}

static void test_a_line_that_is_too_long_is_passed_over(void **state)
{
	char text[1024];
	uint32_t first, count;

	(void)state;
	for (size_t i = 0; i < 500; i++)
		text[i] = 'x';
	snprintf(text + 500, sizeof(text) - 500, "\nann:100000:65536\n");
	assert_true(subuid_find(text, "ann", 1001, &first, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_subuid_find),
		cmocka_unit_test(test_a_line_that_is_too_long_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
