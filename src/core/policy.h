/* Limits: what a policy gives, what a request may ask for instead, and the sentence when it may not. */
#pragma once

#include "base/error.h"
#include "core/core.h"

/* By name; false with ERR_INPUT and a sentence that lists the names. */
bool policy_find(const char *name, enum policy_name *ret, struct error *err);

/* The request's limits where it names them (not 0), else the policy's. An error names the limit, its
 * value and what is allowed. Workspace and /tmp are memory, so each gets at most half of it. */
bool policy_limits(const struct core_config *config, enum policy_name policy,
		   const struct cell_limits *request, struct cell_limits *ret, struct error *err);

/* The request's time limit, or the configured one for 0. */
bool policy_timeout(const struct core_config *config, uint64_t request_ms, uint64_t *ret_ms,
		    struct error *err);
