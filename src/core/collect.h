/*
 * The files of one run: put in before it, found, opened and hashed after it.
 *
 * Borrows cell and plan. Freed after the cell (whose completions point here). Each call completes once,
 * from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/run.h"

struct cell;
struct collect;
struct loop;
struct plan;

enum {
	COLLECT_LIST_MAX = 4096,            /* entries asked for; folders and links count too */
	COLLECT_HASH_FILE_MAX = 64 << 20,   /* larger files get no sha256 */
	COLLECT_HASH_TOTAL_MAX = 256 << 20, /* nor those after this much was hashed */
	COLLECT_HASH_SLICE = 4 << 20,       /* about 10 ms */
};

struct collect *collect_new(struct loop *loop, struct cell *cell, const struct plan *plan);
struct collect *collect_free(struct collect *collect); /* accepts NULL; returns NULL */

/* errnum 0, or a positive errno and the file it is about (NULL: the listing). */
typedef void (*collect_done)(int errnum, const char *path, void *data);

/* Puts the plan's inputs into the workspace and remembers how they look. */
void collect_put(struct collect *collect, collect_done done, void *data);

/* Finds what the run made, changed and deleted. Every process of the cell must be dead. */
void collect_find(struct collect *collect, bool want_fds, collect_done done, void *data);

/* By path, at most RUN_FILES_LISTED_MAX; what was found so far when collect_find() is not done. */
const struct run_file *collect_files(const struct collect *collect, size_t *ret_n,
				     uint64_t *ret_total);

/* What of the run's files is not in that list or could not be read, as a sentence; "" when all is well. */
void collect_note(const struct collect *collect, char *text, size_t size);
