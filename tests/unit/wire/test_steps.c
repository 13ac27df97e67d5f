#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "wire/steps.h"

/* Each can follow "cannot" in a sentence: there, lower case, no full stop, unlike the others. */
static void test_step_texts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CELL_STEP_COUNT; i++) {
		const char *text = cell_step_text(i);

		assert_non_null(text);
		assert_in_range(text[0], 'a', 'z');
		assert_int_not_equal(text[strlen(text) - 1], '.');
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(text, cell_step_text(j));
	}
}

/* The number comes from another program: whatever it is, there is a text. */
static void test_unknown_step(void **state)
{
	static const uint32_t steps[] = { CELL_STEP_COUNT, CELL_STEP_COUNT + 1, INT32_MAX,
					  UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_string_equal(cell_step_text(steps[i]), "build the cell");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_texts),
		cmocka_unit_test(test_unknown_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
