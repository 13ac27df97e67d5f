#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "base/clock.h"

static void test_monotonic_goes_on(void **state)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t before = clock_monotonic_ns(), before_ms = clock_monotonic_ms();

	(void)state;
	(void)nanosleep(&pause, NULL);
	assert_true(clock_monotonic_ns() >= before + 2000000);
	assert_true(clock_monotonic_ms() >= before_ms + 1);
	assert_true(clock_monotonic_ns() / 1000000 <= clock_monotonic_ms());
}

static void test_real_is_the_date(void **state)
{
	uint64_t now = (uint64_t)time(NULL);
	uint64_t ms = clock_real_ms();

	(void)state;
	assert_in_range(ms / 1000, now - 1, now + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_monotonic_goes_on),
		cmocka_unit_test(test_real_is_the_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
