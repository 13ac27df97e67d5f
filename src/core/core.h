/*
 * What every part of core shares: the loop, the backend, the languages, the limits in force.
 *
 * front/ makes one from the configuration and wires it to a backend; tests make one around a fake.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "wire/cell_spec.h"

struct backend;
struct loop;
struct runtimes;

enum policy_name { POLICY_STRICT, POLICY_STANDARD, POLICY_PERMISSIVE, POLICY_COUNT };

struct policy {
	const char *name;
	struct cell_limits limits;
};

struct core_config {
	enum policy_name policy; /* used when a request names none */
	struct policy policies[POLICY_COUNT];
	uint64_t timeout_ms;       /* default of a run */
	uint64_t timeout_max_ms;   /* the most a request may ask for */
	uint64_t memory_max_bytes; /* the most a request may ask for, whatever the policy */
	uint32_t trees;            /* of the host, in every cell: bits as in struct cell_spec */
};

struct core;

/* Borrows everything; the caller frees the core first. */
struct core *core_new(struct loop *loop, struct backend *backend, const struct runtimes *runtimes,
		      const struct core_config *config);
void core_free(struct core *core); /* accepts NULL; ends what still runs without calling `done` */

/* The three policies as shipped (reference: strict 256 MB 0.5 CPU, standard 512 MB 1 CPU, permissive
 * 1 GB 2 CPU). */
void core_config_defaults(struct core_config *config);
