/*
 * cgroup v1: a hierarchy a controller, entered by writing to each; on hybrid hosts the empty v2
 * hierarchy still kills and freezes.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "warden/cgroup.h"

enum { CPU_PERIOD_US = 100000 };

static int limit_memory(int dir, uint64_t bytes)
{
	int r = cgroup_write_number(dir, "memory.limit_in_bytes", bytes);

	if (r < 0)
		return r;
	/* Memory and swap together; not there when the kernel does not account swap. */
	r = cgroup_write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	if (r < 0 && r != -ENOENT && r != -EOPNOTSUPP)
		return r;
	return 0;
}

static int v1_limit(const struct cgroup *cgroup, const struct cell_limits *limits,
		    uint32_t controllers)
{
	int r = 0;

	if (controllers & (1u << CGROUP_MEMORY))
		r = limit_memory(cgroup->dirs[CGROUP_MEMORY], limits->memory_bytes);
	/* init is one process more than the program's own. */
	if (r == 0 && (controllers & (1u << CGROUP_PIDS)))
		r = cgroup_write_number(cgroup->dirs[CGROUP_PIDS], "pids.max",
					limits->processes + 1);
	if (r == 0 && (controllers & (1u << CGROUP_CPU))) {
		int dir = cgroup->dirs[CGROUP_CPU];

		r = cgroup_write_number(dir, "cpu.cfs_period_us", CPU_PERIOD_US);
		if (r == 0)
			r = cgroup_write_number(dir, "cpu.cfs_quota_us",
						limits->cpu_milli * CPU_PERIOD_US / 1000);
	}
	return r;
}

static void v1_handles(const struct cgroup *cgroup, int fds[CELL_FD_COUNT])
{
	int unified = cgroup->dirs[CGROUP_UNIFIED];
	int memory = cgroup->dirs[CGROUP_MEMORY];
	int pids = cgroup->dirs[CGROUP_PIDS];

	cgroup_open(unified, "cgroup.kill", O_WRONLY, &fds[CELL_FD_KILL]);
	cgroup_open(unified, "cgroup.events", O_RDONLY, &fds[CELL_FD_EVENTS]);
	cgroup_open(unified, "cgroup.freeze", O_WRONLY, &fds[CELL_FD_FREEZE]);
	cgroup_open(cgroup->dirs[CGROUP_FREEZER], "freezer.state", O_WRONLY, &fds[CELL_FD_FREEZE]);
	cgroup_open(memory, "memory.max_usage_in_bytes", O_RDONLY, &fds[CELL_FD_MEMORY_PEAK]);
	cgroup_open(memory, "memory.oom_control", O_RDONLY, &fds[CELL_FD_MEMORY_EVENTS]);
	cgroup_open(memory, "memory.usage_in_bytes", O_RDONLY, &fds[CELL_FD_MEMORY_NOW]);
	cgroup_open(cgroup->dirs[CGROUP_CPUACCT], "cpuacct.usage", O_RDONLY, &fds[CELL_FD_CPU]);
	cgroup_open(pids, "pids.peak", O_RDONLY, &fds[CELL_FD_PIDS_PEAK]);
	cgroup_open(pids, "pids.current", O_RDONLY, &fds[CELL_FD_PIDS_NOW]);
	cgroup_open(pids, "pids.events", O_RDONLY, &fds[CELL_FD_PIDS_EVENTS]);
}

const struct cgroup_ops cgroup_ops_v1 = { .limit = v1_limit, .handles = v1_handles };
