/*
 * What is written to which cgroup file, for v2, v1 and none. The hierarchies are ordinary directories
 * here, so that v2 is planned right on a v1 machine too; the real ones are used by the escape tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/macros.h"
#include "warden/cgroup.h"

static const struct cell_limits limits = {
	.memory_bytes = 256u << 20,
	.cpu_milli = 1500,
	.processes = 64,
};

struct hierarchy {
	char path[64];
	struct cgroups cgroups;
	struct cgroup cgroup;
};

static void touch(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	(void)fd_close(fd);
}

static const char *content(int dir, const char *name)
{
	static char text[256];
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(fd_read_text(fd, text, sizeof(text)) >= 0);
	(void)fd_close(fd);
	return text;
}

/* A directory a controller, and in each the cell's own with the files a kernel would show. */
static void set_up(struct hierarchy *h, enum cgroup_kind kind, uint32_t controllers,
		   const char *const *files)
{
	snprintf(h->path, sizeof(h->path), "/tmp/hotcell-cgroup-XXXXXX");
	assert_non_null(mkdtemp(h->path));
	cgroups_init(&h->cgroups);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		char name[96];

		if (kind == CGROUP_NONE || (kind == CGROUP_V2 && i != CGROUP_UNIFIED))
			continue;
		snprintf(name, sizeof(name), "%s/%zu", h->path, i);
		assert_int_equal(mkdir(name, 0755), 0);
		h->cgroups.dirs[i] = open(name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	}
	assert_int_equal(cgroups_start(&h->cgroups, kind, controllers), 0);
	assert_int_equal(cgroup_make(&h->cgroups, 7, &h->cgroup), 0);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		for (size_t j = 0; h->cgroup.dirs[i] >= 0 && files[j]; j++)
			touch(h->cgroup.dirs[i], files[j]);
	}
}

static void tear_down(struct hierarchy *h)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", h->path);
	(void)cgroup_remove(&h->cgroups, &h->cgroup);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		(void)fd_close(h->cgroups.dirs[i]);
	assert_int_equal(system(command), 0);
}

static const char *const v2_files[] = { "memory.max",  "memory.swap.max", "memory.oom.group",
					"pids.max",    "cpu.max",         "cgroup.kill",
					"memory.peak", "cpu.stat",        NULL };
static const char *const v1_files[] = { "memory.limit_in_bytes",
					"memory.memsw.limit_in_bytes",
					"pids.max",
					"cpu.cfs_period_us",
					"cpu.cfs_quota_us",
					"cgroup.procs",
					"cgroup.kill",
					NULL };
static const uint32_t all = 1u << CGROUP_MEMORY | 1u << CGROUP_PIDS | 1u << CGROUP_CPU;

static void test_v2_writes_each_limit(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V2, all, v2_files);
	int dir = h.cgroup.dirs[CGROUP_UNIFIED];

	assert_int_equal(cgroup_limit(&h.cgroups, &h.cgroup, &limits), 0);
	assert_string_equal(content(dir, "memory.max"), "268435456");
	assert_string_equal(content(dir, "memory.swap.max"), "0");
	assert_string_equal(content(dir, "memory.oom.group"), "1");
	assert_string_equal(content(dir, "pids.max"), "65"); /* init is one more */
	assert_string_equal(content(dir, "cpu.max"), "150000 100000");
	tear_down(&h);
}

static void test_v2_leaves_alone_what_is_not_delegated(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V2, 1u << CGROUP_PIDS, v2_files);
	int dir = h.cgroup.dirs[CGROUP_UNIFIED];

	assert_int_equal(cgroup_limit(&h.cgroups, &h.cgroup, &limits), 0);
	assert_string_equal(content(dir, "memory.max"), "");
	assert_string_equal(content(dir, "cpu.max"), "");
	assert_string_equal(content(dir, "pids.max"), "65");
	tear_down(&h);
}

static void test_v2_fails_when_a_limit_cannot_be_set(void **state)
{
	static const char *const without_memory[] = { "pids.max", "cpu.max", NULL };
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V2, all, without_memory);
	assert_int_equal(cgroup_limit(&h.cgroups, &h.cgroup, &limits), -ENOENT);
	tear_down(&h);
}

static void test_v2_is_entered_by_clone(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V2, all, v2_files);
	assert_int_equal(cgroup_clone_fd(&h.cgroups, &h.cgroup), h.cgroup.dirs[CGROUP_UNIFIED]);
	tear_down(&h);
}

static void test_v1_writes_each_limit(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V1, all, v1_files);
	assert_int_equal(cgroup_limit(&h.cgroups, &h.cgroup, &limits), 0);
	assert_string_equal(content(h.cgroup.dirs[CGROUP_MEMORY], "memory.limit_in_bytes"),
			    "268435456");
	assert_string_equal(content(h.cgroup.dirs[CGROUP_MEMORY], "memory.memsw.limit_in_bytes"),
			    "268435456");
	assert_string_equal(content(h.cgroup.dirs[CGROUP_PIDS], "pids.max"), "65");
	assert_string_equal(content(h.cgroup.dirs[CGROUP_CPU], "cpu.cfs_quota_us"), "150000");
	assert_string_equal(content(h.cgroup.dirs[CGROUP_CPU], "cpu.cfs_period_us"), "100000");
	tear_down(&h);
}

static void test_v1_is_entered_hierarchy_by_hierarchy(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V1, all, v1_files);
	assert_int_equal(cgroup_clone_fd(&h.cgroups, &h.cgroup), -1);
	assert_int_equal(cgroup_enter(&h.cgroups, &h.cgroup), 0);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		assert_string_equal(content(h.cgroup.dirs[i], "cgroup.procs"), "0");
	tear_down(&h);
}

static void test_kill_writes_cgroup_kill(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_V2, all, v2_files);
	cgroup_kill(&h.cgroups, &h.cgroup);
	assert_string_equal(content(h.cgroup.dirs[CGROUP_UNIFIED], "cgroup.kill"), "1");
	tear_down(&h);
}

static void test_handles_only_what_is_there(void **state)
{
	int fds[CELL_FD_COUNT];
	struct hierarchy h;

	(void)state;
	for (size_t i = 0; i < CELL_FD_COUNT; i++)
		fds[i] = -1;
	set_up(&h, CGROUP_V2, all, v2_files);
	cgroup_handles(&h.cgroups, &h.cgroup, fds);
	assert_true(fds[CELL_FD_KILL] >= 0);
	assert_true(fds[CELL_FD_MEMORY_PEAK] >= 0);
	assert_true(fds[CELL_FD_CPU] >= 0);
	assert_int_equal(fds[CELL_FD_PIDS_PEAK], -1); /* this "kernel" has none */
	assert_int_equal(fds[CELL_FD_CONTROL], -1);
	for (size_t i = 0; i < CELL_FD_COUNT; i++)
		(void)fd_close(fds[i]);
	tear_down(&h);
}

static void test_kinds_need_their_hierarchies(void **state)
{
	struct cgroups cgroups;

	(void)state;
	cgroups_init(&cgroups);
	assert_int_equal(cgroups_start(&cgroups, CGROUP_V2, 0), -EINVAL);
	assert_int_equal(cgroups_start(&cgroups, CGROUP_V1, all), -EINVAL);
	assert_int_equal(cgroups_start(&cgroups, CGROUP_KIND_COUNT, 0), -EINVAL);
	assert_int_equal(cgroups_start(&cgroups, CGROUP_NONE, 0), 0);
}

static void test_none_promises_nothing(void **state)
{
	struct hierarchy h;

	(void)state;
	set_up(&h, CGROUP_NONE, 0, v2_files);
	assert_int_equal(cgroup_limit(&h.cgroups, &h.cgroup, &limits), 0);
	assert_int_equal(cgroup_enter(&h.cgroups, &h.cgroup), 0);
	assert_int_equal(cgroup_remove(&h.cgroups, &h.cgroup), 0);
	tear_down(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v2_writes_each_limit),
		cmocka_unit_test(test_v2_leaves_alone_what_is_not_delegated),
		cmocka_unit_test(test_v2_fails_when_a_limit_cannot_be_set),
		cmocka_unit_test(test_v2_is_entered_by_clone),
		cmocka_unit_test(test_v1_writes_each_limit),
		cmocka_unit_test(test_v1_is_entered_hierarchy_by_hierarchy),
		cmocka_unit_test(test_kill_writes_cgroup_kill),
		cmocka_unit_test(test_handles_only_what_is_there),
		cmocka_unit_test(test_kinds_need_their_hierarchies),
		cmocka_unit_test(test_none_promises_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
