/* Time: durations by the monotonic clock, dates by the real one, never mixed. */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
uint64_t clock_real_ms(void); /* since 1970, UTC */
