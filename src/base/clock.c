#include "base/clock.h"

#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
	return clock_monotonic_ns() / 1000000u;
}

uint64_t clock_real_ms(void)
{
	return now_ns(CLOCK_REALTIME) / 1000000u;
}
