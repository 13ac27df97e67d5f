/*
 * What a cell is: everything the warden and init need to know to build one, as one flat struct.
 *
 * The front fills it, the warden checks it with cell_spec_check() and hands it to init as it is. It
 * names nothing of the host: no path outside the cell, no uid, no device.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* Which seccomp program a cell gets; the tables are in filters/. */
enum cell_profile {
	CELL_PROFILE_PYTHON,
	CELL_PROFILE_BASH,
	CELL_PROFILE_NODE,
	CELL_PROFILE_GO,
	CELL_PROFILE_COMPILE,
	CELL_PROFILE_BINARY,
	CELL_PROFILE_INSTALL,
	CELL_PROFILE_COUNT,
};

enum cell_flags {
	CELL_LOOPBACK = 1u << 0, /* 127.0.0.1 and ::1 are up; there is never a route out */
	CELL_DRIVER = 1u << 1,   /* init starts argv at once, with a socket to the front on fd 3 */
	CELL_FLAGS_ALL = (1u << 2) - 1,
};

enum {
	CELL_STRINGS_MAX = 8 * 1024, /* argv and environment of the runtime itself */
	CELL_ARGS_MAX = 64,
	CELL_ENV_MAX = 64,
	CELL_CODE_PATH_MAX = 64,
	CELL_TREES_MAX = 32,
};

/* Every number is a hard limit of the kernel's. Ranges are in cell_spec.c, with their reasons. */
struct cell_limits {
	uint64_t memory_bytes;
	uint64_t cpu_milli; /* thousandths of a CPU */
	uint64_t processes; /* threads count */
	uint64_t workspace_bytes;
	uint64_t workspace_inodes;
	uint64_t tmp_bytes;
	uint64_t open_files;
};

struct cell_spec {
	uint32_t flags;
	uint32_t profile;
	uint32_t trees; /* bit n: the n-th tree that the command registered is mounted */
	uint32_t argc;
	uint32_t envc;
	uint32_t strings_len;
	struct cell_limits limits;
	/* Where init writes the code of a run: a plain name in /tmp; unused by drivers. */
	char code_path[CELL_CODE_PATH_MAX];
	/* argc strings, then envc strings NAME=value, each ended by NUL. */
	char strings[CELL_STRINGS_MAX];
};

/* 0, or -EINVAL with *ret_why (a static sentence) telling which field is out of bounds. */
int cell_spec_check(const struct cell_spec *spec, const char **ret_why);

/* Appends one more argument or NAME=value; arguments must all come before the environment.
 * -E2BIG when it does not fit. */
int cell_spec_add_arg(struct cell_spec *spec, const char *arg);
int cell_spec_add_env(struct cell_spec *spec, const char *name, const char *value);

/* Fills pointers (into strings) for execve, each list ended by NULL. The spec must have been checked.
 * argv has room for CELL_ARGS_MAX + 1, envp for CELL_ENV_MAX + 1. */
void cell_spec_vectors(struct cell_spec *spec, char **argv, char **envp);

/* Splits n NUL-ended strings out of text; false when they are not exactly len bytes. */
bool strings_split(char *text, size_t len, size_t n, char **ret);
