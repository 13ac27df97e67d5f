/*
 * Building a cell from inside: what the process does that becomes its pid 1.
 *
 * It runs in a copy of the warden, in the new namespaces, with capabilities only in the cell's own user
 * namespace, and ends by executing hotcell-init. Every step is checked; one that fails is told to the
 * warden by number and errno, and the process exits. Nothing of a user's is here yet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "warden/template.h"
#include "wire/steps.h"
#include "wire/wire.h"

/* Between the warden and the process that becomes a cell (socket `sync`). */
enum build_message {
	BUILD_PID = 1,  /* up: the pid of the new process */
	BUILD_HERE,     /* up, fd: its user namespace */
	BUILD_MAPPED,   /* down: the uid maps are written */
	BUILD_PREPARED, /* up: everything stands that does not depend on a spec */
	BUILD_GO,     /* down, fds: workspace, init's control socket, driver's socket (optional) */
	BUILD_FAILED, /* up: a step failed */
	BUILD_MESSAGE_COUNT,
};

struct build_pid {
	struct wire_header header;
	int32_t pid;
	uint32_t reserved;
};

struct build_word { /* HERE, MAPPED, PREPARED */
	struct wire_header header;
};

struct build_go {
	struct wire_header header;
	uint32_t flags; /* enum cell_flags */
	uint32_t trees;
	uint64_t tmp_bytes;
};

struct build_failed {
	struct wire_header header;
	uint32_t step;
	int32_t errnum;
};

struct build_context {
	int sync;
	int init_exe;
	const struct template *template;
	bool single_uid; /* UID_SINGLE: there is no second uid to change to */
};

/* Never returns: becomes hotcell-init, or tells why not and exits. */
_Noreturn void build_cell(const struct build_context *context);

/* Tells the warden and exits; for the steps before build_cell() too. */
_Noreturn void build_fail(int sync, enum cell_step step, int errnum);
