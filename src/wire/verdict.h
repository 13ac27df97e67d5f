/* How a run ended. Part of every interface; never mixed with a struct error, which is hotcell's own. */
#pragma once

#include <stdint.h>

#define RUN_VERDICTS(X)       \
	X(EXIT, "exit")       \
	X(SIGNAL, "signal")   \
	X(TIMEOUT, "timeout") \
	X(MEMORY, "memory")   \
	X(OUTPUT, "output")   \
	X(BLOCKED, "blocked") \
	X(CANCELLED, "cancelled")

enum run_verdict {
#define X(name, text) VERDICT_##name,
	RUN_VERDICTS(X)
#undef X
		RUN_VERDICT_COUNT,
};

/* The word as results carry it; never NULL. */
const char *run_verdict_name(uint32_t verdict);
