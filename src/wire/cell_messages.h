/*
 * Boundary 2: the front and what is inside a cell.
 *
 * With init (CELL_FD_CONTROL, init's fd 3): the warden puts SPEC and FILTER into the socket before the
 * front gets its end, so they are always first. What init says of exit statuses is the kernel's word:
 * init has another uid than the program and cannot be reached by it.
 *
 * With a driver (CELL_FD_DRIVER, the driver's fd 3): the same RUN; READY and DONE come back. All of it
 * is program-supplied: a DONE says no more than exit() would.
 */
#pragma once

#include <linux/filter.h>

#include "wire/cell_spec.h"
#include "wire/steps.h"
#include "wire/wire.h"

enum {
	INIT_FD_CONTROL = 3,
	INIT_FD_DRIVER = 4, /* becomes DRIVER_FD in the driver */
	DRIVER_FD = 3,
	CELL_FILTER_MAX = 1536, /* instructions */
};

enum cell_message {
	/* warden to init */
	CELL_SPEC = 1,
	CELL_FILTER,
	/* front to init or driver; fds: bundle, stdin, stdout, stderr, outputs */
	CELL_RUN,
	/* init or driver to front */
	CELL_READY,  /* init: the cell is built; driver: loaded, waiting for a RUN */
	CELL_EXIT,   /* init only: the program's process ended */
	CELL_BROKEN, /* init only: a step failed, no user code was started */
	CELL_DONE,   /* driver only: the run ended by itself */
	CELL_MESSAGE_COUNT,
};

enum run_fd {
	RUN_FD_BUNDLE,
	RUN_FD_STDIN,
	RUN_FD_STDOUT,
	RUN_FD_STDERR,
	RUN_FD_OUTPUTS,
	RUN_FD_COUNT
};

struct cell_spec_message {
	struct wire_header header;
	struct cell_spec spec;
	uint32_t landlock_abi; /* rules are made as far as this goes; 0: none (isolation says so) */
	uint32_t shared_uid;   /* UID_SINGLE: init and worker have one uid */
	/* Limits that no cgroup sets: rlimits do, memory's as the second line behind the watcher. */
	uint32_t limit_data;
	uint32_t limit_processes;
};

/* size varies with length */
struct cell_filter_message {
	struct wire_header header;
	uint32_t length;
	uint32_t reserved;
	struct sock_filter code[CELL_FILTER_MAX];
};

struct cell_run {
	struct wire_header header;
};

struct cell_ready {
	struct wire_header header;
};

struct cell_exit {
	struct wire_header header;
	int32_t status; /* as waitpid gives it */
	uint32_t reserved;
	/* Of the program's process and all it has waited for; for hosts without cgroups. */
	uint64_t cpu_us;
	uint64_t memory_max_bytes;
};

struct cell_broken {
	struct wire_header header;
	uint32_t step;
	int32_t errnum;
};

struct cell_done {
	struct wire_header header;
	int32_t code; /* exit code, 0 to 255 */
	uint32_t reserved;
};
