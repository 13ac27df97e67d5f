/* A request that was checked: what will be run, where, with which limits. Nothing has happened yet. */
#pragma once

#include "core/core.h"
#include "core/run.h"

struct runtime;

enum {
	PLAN_INPUTS_MAX = 256, /* files put into the workspace before a run */
	PLAN_ENV_NAME_MAX = 128,
};

struct plan_input {
	char *path;
	void *data;
	size_t len;
	bool executable;
};

struct plan {
	const struct runtime *runtime;
	enum policy_name policy;
	struct cell_spec spec;
	int bundle_fd;
	uint64_t timeout_ms;
	uint64_t output_max;
	struct plan_input *inputs;
	size_t n_inputs;
};

/* False with a sentence that names what is wrong, its value and what is allowed. plan_done() is due
 * either way. Takes the request's bundle. */
bool plan_make(struct plan *plan, const struct core_config *config, const struct runtimes *runtimes,
	       const struct run_request *request, struct error *err);
void plan_done(struct plan *plan);

/* A letter or '_', then letters, digits and '_', at most PLAN_ENV_NAME_MAX. */
bool env_name_is_valid(const char *name, size_t len);
