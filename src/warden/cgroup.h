/*
 * The cgroup of a cell, behind one table of operations for v2, v1 and none.
 *
 * struct cgroups is the instance's: a directory in every hierarchy, opened by the command. struct
 * cgroup is one cell's: a directory below each of those, made, limited, entered by its first process,
 * and removed when the cell is gone. Nothing here knows a path: only the cell's number and fds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/warden_messages.h"

struct cgroups {
	enum cgroup_kind kind;
	uint32_t controllers;              /* bits: limits that really exist */
	int dirs[CGROUP_CONTROLLER_COUNT]; /* -1 where there is none */
	const struct cgroup_ops *ops;
};

struct cgroup {
	uint64_t number; /* the cell's: names its directory */
	int dirs[CGROUP_CONTROLLER_COUNT];
};

struct cgroup_ops {
	int (*limit)(const struct cgroup *cgroup, const struct cell_limits *limits,
		     uint32_t controllers);
	/* Opens what the front may kill, freeze and measure the cell with: fds[CELL_FD_...]. */
	void (*handles)(const struct cgroup *cgroup, int fds[CELL_FD_COUNT]);
};

void cgroups_init(struct cgroups *cgroups);
/* Chooses the operations by kind; -EINVAL when a hierarchy the kind needs is missing. */
int cgroups_start(struct cgroups *cgroups, enum cgroup_kind kind, uint32_t controllers);

int cgroup_make(const struct cgroups *cgroups, uint64_t number, struct cgroup *ret);
int cgroup_limit(const struct cgroups *cgroups, const struct cgroup *cgroup,
		 const struct cell_limits *limits);
void cgroup_handles(const struct cgroups *cgroups, const struct cgroup *cgroup,
		    int fds[CELL_FD_COUNT]);

/* The directory for clone3(CLONE_INTO_CGROUP), or -1: then the child calls cgroup_enter() itself. */
int cgroup_clone_fd(const struct cgroups *cgroups, const struct cgroup *cgroup);
int cgroup_enter(const struct cgroups *cgroups, const struct cgroup *cgroup);

/* SIGKILL to everything in it, by whatever means there is. */
void cgroup_kill(const struct cgroups *cgroups, const struct cgroup *cgroup);

/* 0 when its directories are gone, -EBUSY while the kernel still counts something in it. */
int cgroup_remove(const struct cgroups *cgroups, struct cgroup *cgroup);

/* One each, in cgroup_v1.c and cgroup_v2.c. */
extern const struct cgroup_ops cgroup_ops_v1, cgroup_ops_v2, cgroup_ops_none;

/* Opens a file for reading (or writing) below dir and stores it; leaves -1 when it is not there. */
void cgroup_open(int dir, const char *name, int flags, int *ret_fd);
/* Writes a number, as the kernel reads it. */
int cgroup_write_number(int dir, const char *name, uint64_t value);
