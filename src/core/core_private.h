/* struct core, for the files of this room. */
#pragma once

#include "core/core.h"

struct run;

struct core {
	struct loop *loop;
	struct backend *backend;
	const struct runtimes *runtimes;
	struct core_config config;
	struct run *runs; /* under way */
};

/* Ends a run without calling `done`, and frees it. */
void run_release(struct run *run);
