/* The front's command line: `hotcell-front run|mcp [--uid N | --keep-uid 1] [--trees BITS] RUNTIMES_FOLDER...`. It comes from
 * the hotcell command, not from people. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct arguments {
	bool serves_mcp; /* else one order of `hotcell run` */
	bool has_uid;
	bool keeps_uid;
	uid_t uid;
	bool has_trees;
	uint32_t trees;
	const char *const *folders; /* ended by NULL */
};

bool arguments_parse(struct arguments *ret, int argc, char **argv, struct error *err);
