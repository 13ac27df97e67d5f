#include "warden/start.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/build.h"
#include "warden/kernel.h"
#include "warden/privileges.h"
#include "warden/warden.h"
#include "wire/files_messages.h"

enum {
	NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
		     CLONE_NEWUTS | CLONE_NEWCGROUP,
	CELL_UID = 1000, /* the program's, as it sees itself */
};

/* After a fork: default signals, and nothing of the warden's but what is named. The copies of other
 * cells' sockets must go, or those cells would never see end of file; so must the terminal that is our
 * stderr. */
static int shed(const int *keep, size_t n_keep)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (null < 0 || dup2(null, fd) < 0)
			return -errno;
	}
	sigemptyset(&none);
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	for (unsigned from = 3; from < ~0u;) {
		unsigned next = ~0u;

		for (size_t i = 0; i < n_keep; i++) {
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		}
		if (next > from && close_range(from, next - 1, 0) < 0)
			return -errno;
		if (next == ~0u)
			break;
		from = next + 1;
	}
	return 0;
}

/* Takes the cell's uid, so that the user namespace is made and counted by it and not by root. One
 * capability is kept for making it: some hosts do not let ordinary users. */
static int become_cell_user(const struct warden *w, const struct cell *cell)
{
	uid_t uid = slots_worker_uid(&w->slots, cell->slot);

	if (w->settings.uid_mode != UID_SLOTS)
		return 0;
	if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return privileges_keep(1ull << CAP_SYS_ADMIN);
}

static long clone_into_namespaces(void)
{
	struct clone_args args = { .flags = NAMESPACES | CLONE_NEWTIME | CLONE_PARENT };
	long pid = sys_clone3(&args);

	if (pid < 0 && errno == EINVAL) { /* a kernel without time namespaces */
		args.flags &= ~(uint64_t)CLONE_NEWTIME;
		pid = sys_clone3(&args);
	}
	return pid;
}

static _Noreturn void starter_main(struct warden *w, const struct cell *cell, int sync)
{
	const struct build_context context = {
		.sync = sync,
		.init_exe = w->init_exe,
		.template = &w->template,
		.single_uid = w->settings.uid_mode == UID_SINGLE,
	};
	const int keep[] = { sync, w->init_exe };
	WIRE_MESSAGE(build_pid, message, BUILD_PID);
	long pid;
	int r;

	r = cgroup_enter(&w->cgroups, &cell->cgroup);
	if (r < 0)
		build_fail(sync, STEP_CGROUP_ENTER, -r);
	/* The first to go when the host is short of memory; its children inherit it. */
	r = fd_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "500");
	if (r < 0)
		build_fail(sync, STEP_OOM_SCORE, -r);
	r = shed(keep, 2);
	if (r == 0)
		r = become_cell_user(w, cell);
	if (r < 0)
		build_fail(sync, STEP_UID, -r);
	pid = clone_into_namespaces();
	if (pid < 0)
		build_fail(sync, STEP_NAMESPACES, errno);
	if (pid == 0)
		build_cell(&context);
	message.pid = (int32_t)pid;
	r = wire_send(sync, &message, NULL, 0);
	_exit(r < 0);
}

int start_cell(struct warden *w, const struct cell *cell, int sync, pid_t *ret_starter)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int into = cgroup_clone_fd(&w->cgroups, &cell->cgroup);
	long pid;

	if (into >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (__u64)into;
	}
	pid = sys_clone3(&args);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		starter_main(w, cell, sync);
	*ret_starter = (pid_t)pid;
	return 0;
}

static int write_map(pid_t pid, const char *name, const char *text)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fd_write_file_at(AT_FDCWD, path, text);
}

int start_write_maps(const struct warden *w, const struct cell *cell)
{
	char map[96];
	int r;

	if (w->settings.uid_mode == UID_SLOTS) {
		snprintf(map, sizeof(map), "0 %u 1\n%u %u 1\n",
			 slots_init_uid(&w->slots, cell->slot), CELL_UID,
			 slots_worker_uid(&w->slots, cell->slot));
	} else {
		snprintf(map, sizeof(map), "%u 0 1\n", CELL_UID);
		r = write_map(cell->init, "setgroups", "deny");
		if (r < 0)
			return r;
	}
	r = write_map(cell->init, "uid_map", map);
	return r < 0 ? r : write_map(cell->init, "gid_map", map);
}

/* In the cell's user namespace it has the rights of the cell's own uids, and no others; the workspace
 * is its root. */
static int enter_workspace(const struct warden *w, int user_ns, int workspace)
{
	if (setns(user_ns, CLONE_NEWUSER) < 0 || fchdir(workspace) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return -errno;
	if (w->settings.uid_mode != UID_SLOTS)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(CELL_UID, CELL_UID, CELL_UID) < 0 ||
	    setresuid(CELL_UID, CELL_UID, CELL_UID) < 0)
		return -errno;
	return 0;
}

static _Noreturn void files_main(const struct warden *w, const struct cell *cell, int socket)
{
	/* Out of the way of the number that the socket must have. */
	enum { SOCKET, EXE, USER_NS, WORKSPACE, COUNT };
	const int from[COUNT] = { socket, w->files_exe, cell->user_ns, cell->workspace };
	char *const argv[] = { (char[]){ "hotcell-files" }, NULL };
	char *const envp[] = { NULL };
	int fds[COUNT];

	for (size_t i = 0; i < COUNT; i++) {
		fds[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 100);
		if (fds[i] < 0)
			_exit(1);
	}
	/* A failure is seen by the front as a socket that closes without an answer. */
	if (shed(fds, COUNT) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    enter_workspace(w, fds[USER_NS], fds[WORKSPACE]) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || dup2(fds[SOCKET], FILES_FD) < 0)
		_exit(1);
	(void)syscall(SYS_execveat, fds[EXE], "", argv, envp, AT_EMPTY_PATH);
	_exit(1);
}

int start_files(struct warden *w, const struct cell *cell, int socket, pid_t *ret_pid)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		files_main(w, cell, socket);
	*ret_pid = pid;
	return 0;
}
