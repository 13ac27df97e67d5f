#include "command/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
	SCOPE_WAIT_MS = 2000, /* a busy machine; usually some 20 ms */
	SCOPE_LOOK_MS = 2,
};

/* Runs a program with nothing on its stdio; its exit status, or -1. */
static int run_quietly(char *const argv[])
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; null >= 0 && fd <= 2; fd++)
			(void)dup2(null, fd);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* systemd moves us in its own time, after it has answered. */
static bool wait_for(const char *name)
{
	const struct timespec pause = { .tv_nsec = SCOPE_LOOK_MS * 1000000l };
	uint64_t end = clock_monotonic_ms() + SCOPE_WAIT_MS;
	char text[4096];

	do {
		_cleanup_close_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || fd_read_text(fd, text, sizeof(text)) < 0)
			return false;
		if (strstr(text, name))
			return true;
		(void)nanosleep(&pause, NULL);
	} while (clock_monotonic_ms() < end);
	return false;
}

bool scope_enter(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char bus[256], name[48], pid[16];
	char *const argv[] = {
		(char[]){ "busctl" },
		(char[]){ "--user" },
		(char[]){ "--quiet" },
		(char[]){ "call" },
		(char[]){ "org.freedesktop.systemd1" },
		(char[]){ "/org/freedesktop/systemd1" },
		(char[]){ "org.freedesktop.systemd1.Manager" },
		(char[]){ "StartTransientUnit" },
		(char[]){ "ssa(sv)a(sa(sv))" },
		name,
		(char[]){ "fail" },
		/* properties: our pid, delegation, what `systemctl --user` shows, no leftovers */
		(char[]){ "4" },
		(char[]){ "PIDs" },
		(char[]){ "au" },
		(char[]){ "1" },
		pid,
		(char[]){ "Delegate" },
		(char[]){ "b" },
		(char[]){ "true" },
		(char[]){ "Description" },
		(char[]){ "s" },
		(char[]){ "hotcell sandboxes" },
		(char[]){ "CollectMode" },
		(char[]){ "s" },
		(char[]){ "inactive-or-failed" },
		(char[]){ "0" },
		NULL,
	};

	if (!runtime || (size_t)snprintf(bus, sizeof(bus), "%s/bus", runtime) >= sizeof(bus) ||
	    access(bus, W_OK) < 0)
		return false;
	snprintf(name, sizeof(name), "hotcell-%d.scope", getpid());
	snprintf(pid, sizeof(pid), "%d", getpid());
	return run_quietly(argv) == 0 && wait_for(name);
}
