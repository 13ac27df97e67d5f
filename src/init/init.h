/* What init's files share. Nothing in this program allocates. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/cell_messages.h"

struct init {
	struct cell_spec_message briefing;
	struct cell_filter_message filter;
	pid_t worker; /* 0: not started, or ended */
	int signals;
};

/* What a worker is started with. Descriptors are -1 where there is none. */
struct worker_start {
	int bundle; /* a run's code and inputs; a driver gets them later by itself */
	int stdio[3];
	int driver;
};

/* Forks the program's process, locks it down and executes it. 0, or the negative errno of the step
 * that failed and its number: then no byte of the user's was executed. */
int worker_start(struct init *init, const struct worker_start *start, uint32_t *ret_step);

/* Loads the Landlock rules for the calling process; 0 where the kernel has none. */
int landlock_apply(uint32_t abi, bool loopback);
