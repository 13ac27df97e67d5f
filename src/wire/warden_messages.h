/*
 * Boundary 1: what the warden is told and what it answers.
 *
 * The command sets the warden up (on the socket WARDEN_FD_COMMAND): it has read the configuration and
 * opened everything that has a path on the host; the warden gets descriptors. Then the front asks for
 * cells (on WARDEN_FD_FRONT). The table of what may come when is in warden/requests.c.
 */
#pragma once

#include "wire/cell_spec.h"
#include "wire/steps.h"
#include "wire/wire.h"

enum {
	WARDEN_FD_COMMAND = 3,
	WARDEN_FD_FRONT = 4,
	WARDEN_PLACE_MAX = 128,
	WARDEN_FILE_BYTES_MAX = 4 << 20, /* one file of the template */
};

enum warden_message {
	/* command to warden, while setting up */
	WARDEN_SETTINGS = 1, /* fds: hotcell-init, hotcell-files (both open for execution) */
	WARDEN_CGROUP,       /* fd: the instance's directory in one hierarchy */
	WARDEN_TREE,         /* fd: a directory of the host, mounted read-only in cells */
	WARDEN_FILE,         /* fd: a file whose bytes are copied into the cells' root */
	WARDEN_LINK,         /* a symbolic link in the cells' root */
	WARDEN_START,        /* all is told: build the template, serve the front */
	/* front to warden */
	WARDEN_CREATE,
	WARDEN_DESTROY,
	WARDEN_FILES,
	/* warden to front */
	WARDEN_HELLO,
	WARDEN_CREATED,
	WARDEN_FAILED,
	WARDEN_GONE,
	WARDEN_FILES_READY,
	WARDEN_MESSAGE_COUNT,
};

enum warden_uid_mode {
	UID_SLOTS,  /* root, or subuids: every cell has host uids of its own */
	UID_SINGLE, /* rootless with one uid: init and worker share the user's */
};

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2, CGROUP_KIND_COUNT };

/* Hierarchies as the warden keeps them. On v2 there is only CGROUP_UNIFIED. */
enum cgroup_controller {
	CGROUP_UNIFIED, /* v2; on a hybrid host without controllers, but with kill and freeze */
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,
	CGROUP_CPUACCT,
	CGROUP_FREEZER,
	CGROUP_CONTROLLER_COUNT,
};

struct warden_settings {
	struct wire_header header;
	uint32_t uid_mode;
	uint32_t uid_base; /* slot n has init's uid base + 2n and the worker's base + 2n + 1 */
	uint32_t slots;
	uint32_t cgroup_kind;
	/* Which limits the hierarchies really have: bits 1u << enum cgroup_controller (memory, pids, cpu). */
	uint32_t controllers;
	uint32_t bind_trees; /* overlayfs cannot be used: bind mounts, isolation fair */
	uint32_t spare;      /* cradles kept ready for the next cell */
};

struct warden_cgroup {
	struct wire_header header;
	uint32_t controller;
};

struct warden_tree {
	struct wire_header header;
	uint32_t index;
	char place[WARDEN_PLACE_MAX]; /* absolute, inside the cell */
};

struct warden_file {
	struct wire_header header;
	uint32_t mode;
	char place[WARDEN_PLACE_MAX];
};

struct warden_link {
	struct wire_header header;
	char place[WARDEN_PLACE_MAX];
	char target[WARDEN_PLACE_MAX];
};

struct warden_start {
	struct wire_header header;
};

struct warden_create {
	struct wire_header header;
	uint64_t cookie; /* comes back in CREATED or FAILED */
	struct cell_spec spec;
};

struct warden_destroy {
	struct wire_header header;
	uint64_t cell;
};

struct warden_files {
	struct wire_header header;
	uint64_t cell;
};

/* What the host gives, found by trying. */
struct warden_hello {
	struct wire_header header;
	uint32_t uid_mode;
	uint32_t cgroup_kind;
	uint32_t controllers;
	uint32_t landlock_abi; /* 0: none */
	uint32_t bind_trees;
};

/* Descriptors of a new cell, in this order; has says by bit which are there. */
enum cell_fd {
	CELL_FD_CONTROL,       /* SEQPACKET to init: cell_messages.h */
	CELL_FD_DRIVER,        /* SEQPACKET to the driver, with CELL_DRIVER */
	CELL_FD_WORKSPACE,     /* O_PATH: only good for fstatfs */
	CELL_FD_KILL,          /* cgroup.kill, for writing */
	CELL_FD_EVENTS,        /* cgroup.events */
	CELL_FD_FREEZE,        /* cgroup.freeze or freezer.state, for writing */
	CELL_FD_MEMORY_PEAK,   /* memory.peak or memory.max_usage_in_bytes */
	CELL_FD_MEMORY_EVENTS, /* memory.events or memory.oom_control: both have a line oom_kill N */
	CELL_FD_MEMORY_NOW,    /* memory.current or memory.usage_in_bytes */
	CELL_FD_CPU,           /* cpu.stat (usage_usec) or cpuacct.usage (ns) */
	CELL_FD_PIDS_PEAK,     /* pids.peak where the kernel has it */
	CELL_FD_PIDS_NOW,      /* pids.current */
	CELL_FD_PIDS_EVENTS,   /* pids.events: max N */
	CELL_FD_COUNT,
};

struct warden_created {
	struct wire_header header;
	uint64_t cookie;
	uint64_t cell;
	uint32_t has;
};

/* The cell could not be built, or fell while it was being built. It is gone, all of it. */
struct warden_failed {
	struct wire_header header;
	uint64_t cookie;
	uint64_t cell; /* 0 when CREATED was not sent */
	uint32_t step; /* enum cell_step */
	int32_t errnum;
};

/* Every process of the cell is dead and reaped. Its cgroup and workspace stay until the front has
 * sent DESTROY, so that usage and files can still be read. */
struct warden_gone {
	struct wire_header header;
	uint64_t cell;
	int32_t status;            /* of init, as waitpid gives it */
	uint32_t over_memory;      /* killed by the warden, which watches where no cgroup does */
	uint64_t cpu_us;           /* user and system, of init and all it waited for */
	uint64_t memory_max_bytes; /* largest resident set of one process */
};

/* fd: SEQPACKET to a hotcell-files that is rooted in the workspace. */
struct warden_files_ready {
	struct wire_header header;
	uint64_t cell;
	int32_t errnum; /* not 0: it could not be started, and there is no fd */
	uint32_t reserved;
};
