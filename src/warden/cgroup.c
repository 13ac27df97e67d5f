#include "warden/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static void cell_name(uint64_t number, char name[24])
{
	snprintf(name, 24, "c%" PRIu64, number);
}

void cgroups_init(struct cgroups *cgroups)
{
	*cgroups = (struct cgroups){ .kind = CGROUP_NONE, .ops = &cgroup_ops_none };
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		cgroups->dirs[i] = -1;
}

int cgroups_start(struct cgroups *cgroups, enum cgroup_kind kind, uint32_t controllers)
{
	static const struct cgroup_ops *const by_kind[CGROUP_KIND_COUNT] = {
		[CGROUP_NONE] = &cgroup_ops_none,
		[CGROUP_V1] = &cgroup_ops_v1,
		[CGROUP_V2] = &cgroup_ops_v2,
	};

	if (kind >= CGROUP_KIND_COUNT)
		return -EINVAL;
	if (kind == CGROUP_V2 && cgroups->dirs[CGROUP_UNIFIED] < 0)
		return -EINVAL;
	for (size_t i = CGROUP_MEMORY; kind == CGROUP_V1 && i <= CGROUP_CPU; i++) {
		if ((controllers & (1u << i)) && cgroups->dirs[i] < 0)
			return -EINVAL;
	}
	cgroups->kind = kind;
	cgroups->controllers = controllers;
	cgroups->ops = by_kind[kind];
	return 0;
}

int cgroup_make(const struct cgroups *cgroups, uint64_t number, struct cgroup *ret)
{
	struct cgroup cgroup = { .number = number };
	char name[24];
	int r = 0;

	cell_name(number, name);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		cgroup.dirs[i] = -1;
	for (size_t i = 0; r == 0 && i < CGROUP_CONTROLLER_COUNT; i++) {
		int dir = cgroups->dirs[i];

		/* Two controllers may share one hierarchy (cpu,cpuacct): the second finds it made. */
		if (dir < 0)
			continue;
		if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST) {
			r = -errno;
			break;
		}
		cgroup.dirs[i] = openat(dir, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (cgroup.dirs[i] < 0)
			r = -errno;
	}
	if (r < 0) {
		(void)cgroup_remove(cgroups, &cgroup);
		return r;
	}
	*ret = cgroup;
	return 0;
}

int cgroup_limit(const struct cgroups *cgroups, const struct cgroup *cgroup,
		 const struct cell_limits *limits)
{
	return cgroups->ops->limit(cgroup, limits, cgroups->controllers);
}

void cgroup_handles(const struct cgroups *cgroups, const struct cgroup *cgroup,
		    int fds[CELL_FD_COUNT])
{
	cgroups->ops->handles(cgroup, fds);
}

int cgroup_clone_fd(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	return cgroups->kind == CGROUP_V2 ? cgroup->dirs[CGROUP_UNIFIED] : -1;
}

int cgroup_enter(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	if (cgroups->kind == CGROUP_V2)
		return 0; /* born inside */
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		int r;

		if (cgroup->dirs[i] < 0)
			continue;
		r = fd_write_file_at(cgroup->dirs[i], "cgroup.procs", "0");
		if (r < 0)
			return r;
	}
	return 0;
}

void cgroup_kill(const struct cgroups *cgroups, const struct cgroup *cgroup)
{
	(void)cgroups;
	if (cgroup->dirs[CGROUP_UNIFIED] >= 0)
		(void)fd_write_file_at(cgroup->dirs[CGROUP_UNIFIED], "cgroup.kill", "1");
	/* A frozen v1 cgroup dies only when it is thawed. */
	if (cgroup->dirs[CGROUP_FREEZER] >= 0)
		(void)fd_write_file_at(cgroup->dirs[CGROUP_FREEZER], "freezer.state", "THAWED");
}

int cgroup_remove(const struct cgroups *cgroups, struct cgroup *cgroup)
{
	char name[24];
	int r = 0;

	cell_name(cgroup->number, name);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		cgroup->dirs[i] = fd_close(cgroup->dirs[i]);
		if (cgroups->dirs[i] < 0)
			continue;
		if (unlinkat(cgroups->dirs[i], name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			r = -errno;
	}
	return r;
}

void cgroup_open(int dir, const char *name, int flags, int *ret_fd)
{
	if (dir >= 0 && *ret_fd < 0)
		*ret_fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW);
}

int cgroup_write_number(int dir, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return fd_write_file_at(dir, name, text);
}

static int none_limit(const struct cgroup *cgroup, const struct cell_limits *limits,
		      uint32_t controllers)
{
	(void)cgroup;
	(void)limits;
	(void)controllers;
	return 0; /* init's rlimits and the front's watcher stand in; isolation is weak */
}

static void none_handles(const struct cgroup *cgroup, int fds[CELL_FD_COUNT])
{
	(void)cgroup;
	(void)fds;
}

const struct cgroup_ops cgroup_ops_none = { .limit = none_limit, .handles = none_handles };
