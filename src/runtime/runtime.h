/*
 * Runtimes: what hotcell knows of a language, read from runtime.ini files, and what this host has of it.
 *
 * Nothing language-specific is in C. A folder NAME/ with a runtime.ini adds a language; a later folder
 * replaces an earlier one of the same name. A file with an error is told (file, line, what) and left
 * out; the others still load.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum runtime_kind {
	RUNTIME_DRIVER,  /* a driver is started with the cell and waits for code */
	RUNTIME_COMMAND, /* the code is written to a file, then the command runs it */
};

struct runtime_string {
	const char *name, *value;
};

struct runtime {
	const char *name;              /* "python": lower-case letters, digits, + - # . _ */
	const char *title;             /* "Python" */
	const char *const *aliases;    /* ended by NULL */
	const char *const *extensions; /* without the dot, ended by NULL */
	const char *folder;            /* where runtime.ini is, on the host */
	const char *place;             /* where that folder is in a cell: /opt/hotcell/NAME */
	const char *program;           /* the toolchain found on the host, or NULL: not installed */
	const char *version;           /* "3.11.2", found by runtimes_probe(), or NULL */
	const char *install;           /* the command that installs it */
	enum runtime_kind kind;
	const char *const *argv; /* ended by NULL; argv[0] is absolute; {file} is the code's path */
	const char *code_file;   /* name of the code's file: "main.sh" */
	const struct runtime_string *env;
	size_t n_env;
	uint32_t profile; /* enum cell_profile, as a number: runtime/ does not see wire/ */
	bool loopback;
	const char *const *files; /* the folder's files a cell needs, ended by NULL: "driver.py" */
	const char *example;      /* a small program */
};

struct runtimes;

/* Loads every NAME/runtime.ini of the folders (ended by NULL; later ones win). Problems are collected:
 * runtimes_problem(). False only when nothing at all could be loaded. */
bool runtimes_load(struct runtimes **ret, const char *const *folders, struct error *err);
void runtimes_free(struct runtimes *runtimes); /* accepts NULL */

size_t runtimes_count(const struct runtimes *runtimes);
const struct runtime *runtimes_at(const struct runtimes *runtimes, size_t i); /* by name */

/* By name or alias. False with ERR_NOT_FOUND and a sentence that lists what there is and the closest
 * name; or, for a language known but not installed, the command that installs it. */
bool runtimes_find(const struct runtimes *runtimes, const char *name, const struct runtime **ret,
		   struct error *err);

/* By a file's extension or a "#!" line's interpreter; NULL when neither tells. */
const struct runtime *runtimes_guess(const struct runtimes *runtimes, const char *file_name,
				     const char *code, size_t code_len);

/* Finds the version of every toolchain there is by running it, outside any cell: for `doctor` and
 * `runtimes`, never on the way to a run. Takes some 20 ms each. */
void runtimes_probe(struct runtimes *runtimes);

/* The i-th file that could not be used, as a sentence, or NULL. */
const char *runtimes_problem(const struct runtimes *runtimes, size_t i);
