#include "command/cgroup_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"

enum {
	DEPTH_MAX = 8, /* the warden makes two levels */
	PAUSE_NS = 1000 * 1000,
};

/* v1, and v2 before 5.14: every process by its number. One that was just started is met by the next
 * round; that numbers are reused within one round of a frozen or dying group is not to be feared. */
static void kill_each(int dir)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];

	if (!procs) {
		(void)fd_close(fd);
		return;
	}
	while (fgets(line, sizeof(line), procs)) {
		long pid = 0;

		for (const char *p = line; *p >= '0' && *p <= '9' && pid < 1 << 24; p++)
			pid = pid * 10 + (*p - '0');
		/* 0 is a process of another pid namespace: not ours to end. */
		if (pid > 1 && pid != getpid())
			(void)kill((pid_t)pid, SIGKILL);
	}
	(void)fclose(procs);
}

static void kill_all(int dir)
{
	if (fd_write_file_at(dir, "cgroup.kill", "1") == 0)
		return;
	/* A frozen process dies only when it is thawed. */
	kill_each(dir);
	(void)fd_write_file_at(dir, "freezer.state", "THAWED");
}

static int sweep(int parent, const char *name, uint64_t deadline_ms, int depth);

static void sweep_children(int dir, uint64_t deadline_ms, int depth)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);

	if (!list) {
		(void)fd_close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)sweep(dir, entry->d_name, deadline_ms, depth + 1);
	(void)closedir(list);
}

static int sweep(int parent, const char *name, uint64_t deadline_ms, int depth)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	_cleanup_close_ int dir = -1;

	if (depth > DEPTH_MAX)
		return -ELOOP;
	for (;;) {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY && errno != ENOTEMPTY)
			return -errno;
		if (dir < 0)
			dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (dir < 0)
			return errno == ENOENT ? 0 : -errno;
		kill_all(dir);
		sweep_children(dir, deadline_ms, depth);
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (clock_monotonic_ms() >= deadline_ms)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
}

int cgroup_sweep(int parent, const char *name, uint64_t wait_ms)
{
	return sweep(parent, name, clock_monotonic_ms() + wait_ms, 0);
}
