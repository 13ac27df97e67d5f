/*
 * Real cgroups, where the host gives any: an instance's directories, and what a dead one leaves.
 * The numbers are taken from the end and locked, so that living instances are not met.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/macros.h"
#include "command/hierarchies.h"
#include "command/locks.h"

struct scene {
	struct hierarchies h;
	int folder, lock;
	unsigned number;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	struct error err;

	assert_true(hierarchies_open(&s->h, "auto", &err));
	s->folder = locks_open(&err);
	assert_true(s->folder >= 0);
	s->lock = -1;
	for (s->number = INSTANCES_MAX; s->lock < 0 && s->number > 0;)
		s->lock = locks_take(s->folder, --s->number);
	assert_true(s->lock >= 0);
	assert_int_equal(hierarchies_remove(&s->h, s->number, 1000), 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	assert_int_equal(hierarchies_remove(&s->h, s->number, 1000), 0);
	hierarchies_close(&s->h);
	fd_close(s->lock);
	fd_close(s->folder);
	free(s);
	return 0;
}

static void test_locks(void **state)
{
	struct scene *s = *state;
	int lock;

	assert_int_equal(locks_take(s->folder, s->number), -EWOULDBLOCK);
	/* A child that has the descriptor keeps the lock after we gave it up, as the warden does. */
	lock = fcntl(s->lock, F_DUPFD_CLOEXEC, 3);
	s->lock = fd_close(s->lock);
	assert_int_equal(locks_take(s->folder, s->number), -EWOULDBLOCK);
	fd_close(lock);
	s->lock = locks_take(s->folder, s->number);
	assert_true(s->lock >= 0);
}

static void test_make_and_remove(void **state)
{
	struct scene *s = *state;
	bool left[INSTANCES_MAX];
	struct error err;

	if (s->h.kind == CGROUP_NONE)
		skip();
	hierarchies_numbers(&s->h, left);
	assert_false(left[s->number]);
	assert_true(hierarchies_make(&s->h, s->number, &err));
	if (geteuid() == 0)
		assert_true(s->h.controllers & (1u << CGROUP_MEMORY));
	hierarchies_numbers(&s->h, left);
	assert_true(left[s->number]);
	assert_int_equal(hierarchies_remove(&s->h, s->number, 0), 0);
	hierarchies_numbers(&s->h, left);
	assert_false(left[s->number]);
	assert_int_equal(hierarchies_remove(&s->h, s->number, 0), 0);
}

/* Starts a process that waits for ever in the cell-like directory `name` of every hierarchy. */
static pid_t start_in(struct scene *s, const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (s->h.own[i] >= 0)
			assert_true(mkdirat(s->h.own[i], name, 0755) == 0 || errno == EEXIST);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char path[64];

		snprintf(path, sizeof(path), "%s/cgroup.procs", name);
		for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
			if (s->h.own[i] >= 0 && fd_write_file_at(s->h.own[i], path, "0") < 0)
				_exit(1);
		(void)signal(SIGTERM, SIG_IGN);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	fd_close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	fd_close(ready[0]);
	return pid;
}

static void test_sweep_of_the_living(void **state)
{
	struct scene *s = *state;
	struct error err;
	pid_t pids[3];

	if (s->h.kind == CGROUP_NONE)
		skip();
	assert_true(hierarchies_make(&s->h, s->number, &err));
	pids[0] = start_in(s, "1");
	pids[1] = start_in(s, "1");
	pids[2] = start_in(s, "2");
	/* a frozen one must die too */
	if (s->h.own[CGROUP_FREEZER] >= 0)
		assert_int_equal(
			fd_write_file_at(s->h.own[CGROUP_FREEZER], "2/freezer.state", "FROZEN"), 0);
	/* Not reaped: a zombie holds its cgroup on v1 no longer than it holds its parent's eye. */
	assert_int_equal(hierarchies_remove(&s->h, s->number, 2000), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

static void test_wanted(void **state)
{
	struct hierarchies h;
	struct error err;

	(void)state;
	assert_true(hierarchies_open(&h, "none", &err));
	assert_int_equal(h.kind, CGROUP_NONE);
	hierarchies_close(&h);
	if (hierarchies_open(&h, "v2", &err))
		assert_int_equal(h.kind, CGROUP_V2);
	else
		assert_int_equal(err.code, ERR_UNAVAILABLE);
	hierarchies_close(&h);
	if (hierarchies_open(&h, "v1", &err))
		assert_int_equal(h.kind, CGROUP_V1);
	else
		assert_non_null(strstr(err.message, "cells.cgroup = v1"));
	hierarchies_close(&h);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_locks),
		TEST(test_make_and_remove),
		TEST(test_sweep_of_the_living),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
