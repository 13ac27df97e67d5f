#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/id.h"

enum { ROUNDS = 1000 };

static void test_shape(void **state)
{
	char id[ID_SIZE];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(id_make(id), 0);
		assert_int_equal(strlen(id), ID_LENGTH);
		assert_int_equal(strspn(id, "0123456789abcdefghjkmnpqrstvwxyz"), ID_LENGTH);
	}
}

/* All 128 bits are in it: every one of the 26 places is more than one letter, and no two ids are alike. */
static void test_differ(void **state)
{
	static char ids[ROUNDS][ID_SIZE];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(id_make(ids[i]), 0);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
	for (int place = 0; place < ID_LENGTH; place++) {
		size_t letters = 0;

		for (const char *c = "0123456789abcdefghjkmnpqrstvwxyz"; *c; c++) {
			int seen = 0;

			for (int i = 0; i < ROUNDS && !seen; i++)
				seen = ids[i][place] == *c;
			letters += (size_t)seen;
		}
		/* The last group has 3 bits of the 128. */
		assert_int_equal(letters, place == ID_LENGTH - 1 ? 8 : 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
