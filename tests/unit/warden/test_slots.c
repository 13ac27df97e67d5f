/* Uid slots: never the same two uids for two cells at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "warden/slots.h"

static void test_every_slot_once(void **state)
{
	struct slots slots;

	(void)state;
	slots_init(&slots, 1000, 3);
	assert_int_equal(slots_take(&slots), 0);
	assert_int_equal(slots_take(&slots), 1);
	assert_int_equal(slots_take(&slots), 2);
	assert_int_equal(slots_take(&slots), -EAGAIN);
}

static void test_a_slot_rests_as_long_as_possible(void **state)
{
	struct slots slots;

	(void)state;
	slots_init(&slots, 1000, 3);
	assert_int_equal(slots_take(&slots), 0);
	slots_give(&slots, 0);
	assert_int_equal(slots_take(&slots), 1);
	assert_int_equal(slots_take(&slots), 2);
	assert_int_equal(slots_take(&slots), 0);
}

static void test_uids_do_not_meet(void **state)
{
	struct slots slots;

	(void)state;
	slots_init(&slots, 1900000000, SLOTS_MAX);
	for (int i = 0; i + 1 < SLOTS_MAX; i++) {
		assert_int_equal(slots_worker_uid(&slots, i), slots_init_uid(&slots, i) + 1);
		assert_true(slots_init_uid(&slots, i + 1) > slots_worker_uid(&slots, i));
	}
}

static void test_count_is_bounded(void **state)
{
	struct slots slots;
	int n = 0;

	(void)state;
	slots_init(&slots, 0, 1000000);
	while (slots_take(&slots) >= 0)
		n++;
	assert_int_equal(n, SLOTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_slot_once),
		cmocka_unit_test(test_a_slot_rests_as_long_as_possible),
		cmocka_unit_test(test_uids_do_not_meet),
		cmocka_unit_test(test_count_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
