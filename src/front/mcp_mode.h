/*
 * `hotcell mcp`: the client is on stdin and stdout; the command only holds our life in its hands.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct config;
struct core;
struct core_config;
struct loop;
struct mcp_mode;
struct runtimes;

struct mcp_mode_config {
	struct loop *loop;
	struct core *core;
	const struct runtimes *runtimes;
	const struct config *config;
	const struct core_config *limits;
	int command; /* when this closes, everything ends */
	void (*ended)(void *data);
	void *data;
};

bool mcp_mode_start(struct mcp_mode **ret, const struct mcp_mode_config *config, struct error *err);
void mcp_mode_stop(struct mcp_mode *mode); /* `ended` follows */
/* Lets go of the client: before core_free(), which ends what still runs. Accepts NULL. */
void mcp_mode_close(struct mcp_mode *mode);
void mcp_mode_free(struct mcp_mode *mode); /* accepts NULL; after core_free() */
