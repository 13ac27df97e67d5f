/* cgroup v2: one hierarchy; the cell's first process is born inside by clone3(CLONE_INTO_CGROUP). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/fd.h"
#include "warden/cgroup.h"

/* The kernel's own default period. */
enum { CPU_PERIOD_US = 100000 };

static int limit_memory(int dir, const struct cell_limits *limits)
{
	int r = cgroup_write_number(dir, "memory.max", limits->memory_bytes);

	if (r < 0)
		return r;
	/* Without swap in the kernel the file is not there, and nothing can be swapped. */
	r = cgroup_write_number(dir, "memory.swap.max", 0);
	if (r < 0 && r != -ENOENT)
		return r;
	/* One process over the limit ends them all: a run is one thing. */
	return cgroup_write_number(dir, "memory.oom.group", 1);
}

static int v2_limit(const struct cgroup *cgroup, const struct cell_limits *limits,
		    uint32_t controllers)
{
	int dir = cgroup->dirs[CGROUP_UNIFIED];
	char text[64];
	int r = 0;

	if (controllers & (1u << CGROUP_MEMORY))
		r = limit_memory(dir, limits);
	/* init is one process more than the program's own. */
	if (r == 0 && (controllers & (1u << CGROUP_PIDS)))
		r = cgroup_write_number(dir, "pids.max", limits->processes + 1);
	if (r == 0 && (controllers & (1u << CGROUP_CPU))) {
		snprintf(text, sizeof(text), "%" PRIu64 " %d",
			 limits->cpu_milli * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
		r = fd_write_file_at(dir, "cpu.max", text);
	}
	return r;
}

static void v2_handles(const struct cgroup *cgroup, int fds[CELL_FD_COUNT])
{
	int dir = cgroup->dirs[CGROUP_UNIFIED];

	cgroup_open(dir, "cgroup.kill", O_WRONLY, &fds[CELL_FD_KILL]);
	cgroup_open(dir, "cgroup.events", O_RDONLY, &fds[CELL_FD_EVENTS]);
	cgroup_open(dir, "cgroup.freeze", O_WRONLY, &fds[CELL_FD_FREEZE]);
	cgroup_open(dir, "memory.peak", O_RDONLY, &fds[CELL_FD_MEMORY_PEAK]);
	cgroup_open(dir, "memory.events", O_RDONLY, &fds[CELL_FD_MEMORY_EVENTS]);
	cgroup_open(dir, "memory.current", O_RDONLY, &fds[CELL_FD_MEMORY_NOW]);
	cgroup_open(dir, "cpu.stat", O_RDONLY, &fds[CELL_FD_CPU]);
	cgroup_open(dir, "pids.peak", O_RDONLY, &fds[CELL_FD_PIDS_PEAK]);
	cgroup_open(dir, "pids.current", O_RDONLY, &fds[CELL_FD_PIDS_NOW]);
	cgroup_open(dir, "pids.events", O_RDONLY, &fds[CELL_FD_PIDS_EVENTS]);
}

const struct cgroup_ops cgroup_ops_v2 = { .limit = v2_limit, .handles = v2_handles };
