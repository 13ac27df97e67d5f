#include "warden/build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "warden/kernel.h"
#include "warden/mounts.h"
#include "wire/cell_messages.h"

void build_fail(int sync, enum cell_step step, int errnum)
{
	WIRE_MESSAGE(build_failed, failed, BUILD_FAILED);

	failed.step = step;
	failed.errnum = errnum;
	(void)wire_send(sync, &failed, NULL, 0);
	_exit(1);
}

/* Runs one step; the whole build reads as a list of these. */
#define STEP(name, call)                                       \
	do {                                                   \
		int _r = (call);                               \
		if (_r < 0)                                    \
			build_fail(c->sync, STEP_##name, -_r); \
	} while (0)

static int expect(int sync, uint16_t type, void *message, size_t size, struct wire_fds *fds)
{
	ssize_t n = wire_recv(sync, message, size, fds);

	if (n == 0)
		_exit(1); /* the warden is gone, or does not want this cell any more */
	if (n < 0)
		return (int)n;
	if (((struct wire_header *)message)->type != type || (size_t)n != size)
		return -EPROTO;
	return 0;
}

static int say_here(int sync)
{
	_cleanup_close_ int ns = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	WIRE_MESSAGE(build_word, here, BUILD_HERE);

	if (ns < 0)
		return -errno;
	return wire_send(sync, &here, &ns, 1);
}

static int say_prepared(int sync)
{
	WIRE_MESSAGE(build_word, prepared, BUILD_PREPARED);

	return wire_send(sync, &prepared, NULL, 0);
}

static int await_maps(int sync)
{
	_cleanup_fds_ struct wire_fds fds;
	struct build_word word;

	return expect(sync, BUILD_MAPPED, &word, sizeof(word), &fds);
}

/* With one uid only, init is not root in the cell, and would lose every capability when it is executed.
 * The one with which its program's bounding set is emptied is handed through. */
static int hand_on_setpcap(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].inheritable = 1u << CAP_SETPCAP;
	data[1].inheritable = 0;
	if (syscall(SYS_capset, &header, data) < 0 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETPCAP, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Becomes uid 0 of the cell's own user namespace, which is init's uid on the host. */
static int become_init_user(bool single_uid)
{
	if (single_uid)
		return hand_on_setpcap();
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* Dies with the warden. The signal must be asked for after the last change of uid, which clears it;
 * if the warden died before, its end of the socket is closed. */
static int die_with_warden(int sync)
{
	struct pollfd p = { .fd = sync };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	if (poll(&p, 1, 0) < 0)
		return -errno;
	return (p.revents & (POLLHUP | POLLERR)) ? -EOWNERDEAD : 0;
}

static int leave_session(void)
{
	if (setsid() < 0 && errno != EPERM) /* EPERM: it leads one already */
		return -errno;
	umask(022);
	/* A keyring of its own, or keys would be shared by uid. Not every kernel has them. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return -errno;
	return 0;
}

static int loopback_up(void)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

/* Kernel objects that are counted by user: small numbers, so that one cell cannot take the share of
 * all. They belong to this user namespace; the path is resolved in it. */
static int limit_sysctls(void)
{
	static const struct {
		const char *name, *value;
		bool optional;
	} sysctls[] = {
		{ "max_user_namespaces", "0", false },   { "max_mnt_namespaces", "0", false },
		{ "max_net_namespaces", "0", false },    { "max_pid_namespaces", "0", false },
		{ "max_ipc_namespaces", "0", false },    { "max_uts_namespaces", "0", false },
		{ "max_cgroup_namespaces", "0", false }, { "max_time_namespaces", "0", true },
		{ "max_inotify_instances", "16", true }, { "max_inotify_watches", "4096", true },
		{ "max_fanotify_groups", "0", true },
	};
	_cleanup_close_ int dir = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(sysctls); i++) {
		int r = fd_write_file_at(dir, sysctls[i].name, sysctls[i].value);

		if (r < 0 && !(sysctls[i].optional && r == -ENOENT))
			return r;
	}
	return 0;
}

/* Believe it only after trying: a user namespace would give back every capability. */
static int prove_no_nesting(void)
{
	if (unshare(CLONE_NEWUSER) == 0)
		return -EEXIST;
	return errno == ENOSPC || errno == EPERM || errno == EUSERS ? 0 : -errno;
}

static int verify_root(void)
{
	char cwd[PATH_MAX];
	struct stat st;

	if (!getcwd(cwd, sizeof(cwd)))
		return -errno;
	if (strcmp(cwd, "/workspace") != 0)
		return -EXDEV;
	/* What only the template has must be gone. */
	if (stat("/trees", &st) == 0)
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	if (stat("/new", &st) == 0)
		return -EEXIST;
	return errno == ENOENT ? 0 : -errno;
}

static int exec_init(const struct build_context *c, struct wire_fds *fds)
{
	/* Two steps, because the numbers they must have may be taken by one another. */
	_cleanup_close_ int exe = fcntl(c->init_exe, F_DUPFD_CLOEXEC, 20);
	_cleanup_close_ int control = fcntl(fds->fd[1], F_DUPFD_CLOEXEC, 20);
	_cleanup_close_ int driver = fds->n > 2 ? fcntl(fds->fd[2], F_DUPFD_CLOEXEC, 20) : -1;
	_cleanup_close_ int sync = fcntl(c->sync, F_DUPFD_CLOEXEC, 20);
	char *const argv[] = { (char[]){ "hotcell-init" }, NULL };
	char *const envp[] = { NULL };

	if (exe < 0 || control < 0 || sync < 0 || (fds->n > 2 && driver < 0))
		return -errno;
	if (close_range(3, 19, 0) < 0)
		return -errno;
	if (dup2(control, INIT_FD_CONTROL) < 0 || (driver >= 0 && dup2(driver, INIT_FD_DRIVER) < 0))
		return -errno;
	(void)syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	build_fail(sync, STEP_EXEC_INIT, errno);
}

/* All that does not depend on what will run in it, and so can be ready before anybody asks. */
static void prepare(const struct build_context *c)
{
	STEP(NAMESPACES, say_here(c->sync));
	STEP(ID_MAP, await_maps(c->sync));
	STEP(UID, become_init_user(c->single_uid));
	STEP(PARENT_DEATH, die_with_warden(c->sync));
	STEP(SESSION, leave_session());
	STEP(HOSTNAME, sethostname("cell", 4) < 0 ? -errno : 0);
	STEP(SYSCTLS, limit_sysctls());
	STEP(NO_NESTING, prove_no_nesting());
	STEP(PRIVATE_MOUNTS, mounts_make_private());
	STEP(ROOT, mounts_root(c->template));
	STEP(PROC, mounts_proc());
	STEP(DEV, mounts_dev());
	STEP(SPEC, say_prepared(c->sync));
}

void build_cell(const struct build_context *c)
{
	_cleanup_fds_ struct wire_fds fds;
	struct build_go go;

	prepare(c);
	STEP(SPEC, expect(c->sync, BUILD_GO, &go, sizeof(go), &fds));
	if (fds.n < 2)
		build_fail(c->sync, STEP_SPEC, EPROTO);
	if (go.flags & CELL_LOOPBACK)
		STEP(LOOPBACK, loopback_up());
	STEP(TREES, mounts_trees(c->template, go.trees));
	STEP(TMP, mounts_tmp(go.tmp_bytes));
	STEP(WORKSPACE_MOUNT, mounts_workspace(fds.fd[0]));
	STEP(PIVOT, mounts_pivot());
	STEP(VERIFY_ROOT, verify_root());
	STEP(EXEC_INIT, exec_init(c, &fds));
	_exit(1);
}
