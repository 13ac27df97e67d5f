/* Places inside the cell's root, and the options of its overlays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "warden/mounts.h"
#include "warden/template.h"
#include "wire/warden_messages.h"

static void test_places(void **state)
{
	static const struct {
		const char *place;
		bool valid;
	} cases[] = {
		{ "/usr", true },
		{ "/etc/alternatives", true },
		{ "/opt/hotcell/x", true },
		{ "usr", false },
		{ "/", false },
		{ "", false },
		{ "/../etc", false },
		{ "/usr/../..", false },
		{ "/usr/", false },
		{ "/usr//bin", false },
		{ "/./usr", false },
		{ "/..", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char place[WARDEN_PLACE_MAX] = { 0 };

		print_message("place \"%s\"\n", cases[i].place);
		snprintf(place, sizeof(place), "%s", cases[i].place);
		assert_int_equal(template_place_is_valid(place, sizeof(place)), cases[i].valid);
	}
}

static void test_a_place_must_end(void **state)
{
	char place[WARDEN_PLACE_MAX];

	(void)state;
	memset(place, 'a', sizeof(place));
	place[0] = '/';
	assert_false(template_place_is_valid(place, sizeof(place)));
}

static void test_overlay_options(void **state)
{
	char text[64], tiny[8];

	(void)state;
	assert_int_equal(mounts_overlay_options(-1, text, sizeof(text)), 0);
	assert_string_equal(text, "lowerdir=/root:/empty,userxattr");
	assert_int_equal(mounts_overlay_options(31, text, sizeof(text)), 0);
	assert_string_equal(text, "lowerdir=/trees/31:/empty,userxattr");
	assert_int_equal(mounts_overlay_options(0, tiny, sizeof(tiny)), -ENAMETOOLONG);
}

static void test_trees_that_were_not_registered_are_refused(void **state)
{
	struct template t = { .trees = 1 };

	(void)state;
	assert_int_equal(mounts_trees(&t, 2), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_a_place_must_end),
		cmocka_unit_test(test_overlay_options),
		cmocka_unit_test(test_trees_that_were_not_registered_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
