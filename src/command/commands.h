/*
 * The subcommands: each is one file with one row here; its name, help and options come from the row.
 */
#pragma once

#include <stdio.h>

#include "command/options.h"

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_FAILED = 1, /* hotcell could not do it */
	EXIT_STATUS_USAGE = 2,  /* what was asked is wrong; nothing was done */
};

struct command {
	const char *name;
	const char *summary; /* one line */
	const char *usage;   /* what follows the name */
	const char *details; /* paragraphs after the options, or NULL */
	const struct option_row *options;
	size_t n_options;
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

extern const struct command command_run, command_mcp, command_runtimes, command_help;
extern const struct command command_doctor, command_setup;

/* NULL when there is none of that name. */
const struct command *command_find(const char *name);
void command_print_help(const struct command *command, FILE *to);
void commands_print_help(FILE *to);

/* Says that there is no such command, with the nearest one. */
int commands_unknown(const char *name);

/* Prints the sentence to stderr and returns the exit status that belongs to it. */
int command_fail(const struct error *err);

int commands_main(int argc, char **argv);
