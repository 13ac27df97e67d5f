/*
 * One runtime.ini. Private to runtime/. runtimes/python/runtime.ini shows the format, the table in
 * runtime_ini.c defines it.
 */
#pragma once

#include "base/error.h"
#include "runtime/keep.h"
#include "runtime/runtime.h"

struct runtime_file {
	struct runtime runtime;
	const char *const *find;         /* where the toolchain may be, ended by NULL */
	const char *const *version_argv; /* prints its version; NULL: nobody knows */
	struct keep keep;
};

/* Reads folder/runtime.ini; the folder's last component is the language's name. NULL with err set
 * ("file:line: what"). The caller frees it. */
struct runtime_file *runtime_file_read(const char *folder, struct error *err);

/* The same from memory, for tests: nothing is looked up in the folder. */
struct runtime_file *runtime_file_parse(const char *folder, const char *text, size_t len,
					struct error *err);

/* Sets runtime.version by running the toolchain; leaves it NULL when that does not tell. */
void runtime_file_probe(struct runtime_file *file);
void runtime_file_free(struct runtime_file *file); /* accepts NULL */
