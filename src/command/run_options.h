/* The options of `hotcell run`. */
#pragma once

#include "command/options.h"
#include "wire/cell_spec.h"

struct config;

struct run_options {
	const char *language, *policy, *files, *code;
	uint64_t timeout_ms; /* 0: the configured one */
	struct cell_limits limits;
	bool json, verbose, help;
	struct option_list env, settings;
	/* what follows the options */
	const char *file; /* NULL with -c */
	const char *const *args;
	size_t n_args;
};

enum { RUN_OPTION_ROWS = 14 };
extern const struct option_row run_option_rows[RUN_OPTION_ROWS];

/* Everything points into argv. False with ERR_INPUT and a sentence. */
bool run_options_parse(struct run_options *ret, int argc, char **argv, struct error *err);

/* What only the configuration can tell: the most that may be asked for. */
bool run_options_check(const struct run_options *options, const struct config *config,
		       struct error *err);
