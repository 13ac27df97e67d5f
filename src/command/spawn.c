#include "command/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
	FIRST_FD = 3,
	FDS_MAX = 8,
	/* Above every number that a child's descriptors get, so that none is overwritten before it
	 * was used. */
	SAFE_FD = 16,
};

static const int default_signals[] = {
	SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGTTIN, SIGTTOU,
};

static int set_attributes(posix_spawnattr_t *attributes, bool has_client)
{
	sigset_t none, defaults;
	int r;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < ARRAY_SIZE(default_signals); i++)
		sigaddset(&defaults, default_signals[i]);
	r = posix_spawnattr_setflags(attributes,
				     (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					     (has_client ? 0 : POSIX_SPAWN_SETPGROUP)));
	if (r == 0)
		r = posix_spawnattr_setpgroup(attributes, 0);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attributes, &defaults);
	return -r;
}

static int set_actions(posix_spawn_file_actions_t *actions, const int *fds, size_t n_fds,
		       bool has_client)
{
	int r = 0;

	if (!has_client)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
	if (r == 0 && !has_client)
		r = posix_spawn_file_actions_adddup2(actions, 0, 1);
	/* A working directory would be kept busy for as long as the program lives. */
	if (r == 0)
		r = posix_spawn_file_actions_addchdir_np(actions, "/");
	for (size_t i = 0; r == 0 && i < n_fds; i++)
		r = posix_spawn_file_actions_adddup2(actions, fds[i], FIRST_FD + (int)i);
	return -r;
}

static int spawn_with(const struct child_request *request, const int *fds, pid_t *ret)
{
	const char *lang = getenv("LANG");
	char language[64];
	char *environment[] = { lang ? language : NULL, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	snprintf(language, sizeof(language), "LANG=%s", lang ? lang : "");
	r = posix_spawnattr_init(&attributes);
	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_init(&actions);
	if (r != 0) {
		posix_spawnattr_destroy(&attributes);
		return -r;
	}
	r = set_attributes(&attributes, request->has_client);
	if (r == 0)
		r = set_actions(&actions, fds, request->n_fds, request->has_client);
	/* posix_spawn does not write to argv; its type is older than const. */
	if (r == 0)
		r = -posix_spawn(ret, request->path, &actions, &attributes,
				 (char *const *)(uintptr_t)request->argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

int child_start(const struct child_request *request, struct child *ret)
{
	int safe[FDS_MAX] = { 0 }, r = request->n_fds > FDS_MAX ? -E2BIG : 0;
	size_t n = 0;

	*ret = (struct child){ .pidfd = -1 };
	for (; r == 0 && n < request->n_fds; n++) {
		safe[n] = fcntl(request->fds[n], F_DUPFD_CLOEXEC, SAFE_FD);
		if (safe[n] < 0) {
			r = -errno;
			break;
		}
	}
	if (r == 0)
		r = spawn_with(request, safe, &ret->pid);
	while (n > 0)
		(void)fd_close(safe[--n]);
	if (r < 0) {
		ret->pid = 0;
		return r;
	}
	/* Nobody else reaps our children, so the number still is this child's. */
	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	if (ret->pidfd < 0) {
		r = -errno;
		child_end(ret, 0);
		return r;
	}
	return 0;
}

static void wait_until(int pidfd, uint64_t deadline_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	for (;;) {
		uint64_t now = clock_monotonic_ms();

		if (now >= deadline_ms)
			return;
		if (poll(&p, 1, (int)(deadline_ms - now)) != 0 && p.revents)
			return;
	}
}

void child_end(struct child *child, uint64_t deadline_ms)
{
	pid_t r;

	if (child->pid <= 0)
		return;
	if (child->pidfd >= 0)
		wait_until(child->pidfd, deadline_ms);
	/* Harmless to one that has ended and waits to be reaped. */
	(void)kill(child->pid, SIGKILL);
	do
		r = waitpid(child->pid, NULL, 0);
	while (r < 0 && errno == EINTR);
	child->pidfd = fd_close(child->pidfd);
	child->pid = 0;
}
