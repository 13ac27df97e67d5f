/*
 * A subcommand's options as one table: it parses them, checks their ranges and prints the help.
 *
 * Parsing stops at the first word that is not an option, so that a program's own arguments need no
 * "--". Values point into argv.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct option_row;

/* Puts the text (NULL for a switch) at its place in the subcommand's struct. */
typedef bool (*option_take)(const struct option_row *row, const char *text, void *into,
			    struct error *err);

struct option_row {
	char letter;       /* '\0': there is only the long name */
	const char *name;  /* without "--" */
	const char *value; /* what the help calls the value; NULL: a switch */
	option_take take;
	size_t offset;
	uint64_t min, max; /* of numbers; both 0: any */
	const char *help;
};

/* A list of texts, in the order they came. */
enum { OPTION_LIST_MAX = 256 };
struct option_list {
	size_t n;
	const char *text[OPTION_LIST_MAX];
};

bool option_take_switch(const struct option_row *row, const char *text, void *into,
			struct error *err); /* bool */
bool option_take_text(const struct option_row *row, const char *text, void *into,
		      struct error *err); /* const char * */
bool option_take_list(const struct option_row *row, const char *text, void *into,
		      struct error *err); /* struct option_list */
bool option_take_bytes(const struct option_row *row, const char *text, void *into,
		       struct error *err); /* uint64_t */
bool option_take_ms(const struct option_row *row, const char *text, void *into,
		    struct error *err); /* uint64_t */
bool option_take_milli(const struct option_row *row, const char *text, void *into,
		       struct error *err); /* uint64_t, thousandths */
bool option_take_count(const struct option_row *row, const char *text, void *into,
		       struct error *err); /* uint64_t */

/* argv[0] is the subcommand's name. *ret_first is the index of the first word that is no option.
 * False with ERR_INPUT and a sentence that names the option, its value and what is allowed. */
bool options_parse(const struct option_row *rows, size_t n_rows, int argc, char **argv, void *into,
		   int *ret_first, struct error *err);

void options_print(const struct option_row *rows, size_t n_rows, FILE *to);
