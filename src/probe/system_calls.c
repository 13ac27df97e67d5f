/* System calls that a cell refuses, by number and harmless arguments. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "probe/probe.h"

#define P(pointer) ((long)(intptr_t)(pointer))

/* Newer than some kernel headers; the same on every machine. */
enum {
	NR_OPEN_TREE = 428,
	NR_MOVE_MOUNT = 429,
	NR_FSOPEN = 430,
	NR_FSMOUNT = 432,
	NR_CLONE3 = 435,
	NR_PIDFD_GETFD = 438,
	NR_PROCESS_MADVISE = 440,
	NR_MOUNT_SETATTR = 442,
	NR_MEMFD_SECRET = 447,
	NR_CACHESTAT = 451,
	NR_NONE = 1000,
	RWF_NO_WAIT = 8,
};

static char page[4096] __attribute__((aligned(4096)));
static uint32_t word;
static struct iovec iov = { page, 16 };
static struct perf_event_attr perf = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(perf) };
static struct sched_param priority = { .sched_priority = 1 };
static uint64_t clone_args[8] = { [4] = SIGCHLD };
static struct timespec past = { .tv_sec = 1 };

struct attempt {
	const char *name;
	long number;
	long args[6];
	long (*call)(const struct attempt *attempt); /* instead of the plain call */
};

/* The child of a clone that is let through must not go on as a second parent. */
static long by_clone(const struct attempt *attempt)
{
	long pid = syscall(attempt->number, attempt->args[0], attempt->args[1], 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long of_parent(const struct attempt *attempt)
{
	return syscall(attempt->number, (long)getppid(), attempt->args[1], attempt->args[2],
		       attempt->args[3], attempt->args[4], attempt->args[5]);
}

static long of_file(const struct attempt *attempt)
{
	int fd = open("/tmp", O_RDONLY | O_CLOEXEC | O_DIRECTORY);

	return syscall(attempt->number, (long)fd, attempt->args[1], attempt->args[2],
		       attempt->args[3], attempt->args[4], attempt->args[5]);
}

#ifdef __x86_64__
/* getpid by the 32-bit gate. */
static long by_int80(const struct attempt *attempt)
{
	long value = attempt->number;

	__asm__ volatile("int $0x80" : "+a"(value) : : "memory", "r8", "r9", "r10", "r11");
	return value;
}
#endif

/* clang-format off: a table */
static const struct attempt attempts[] = {
	{ "mount", SYS_mount, { P("none"), P("/nonexistent"), P("tmpfs"), 0, 0 } },
	{ "mount_bind", SYS_mount, { P("/"), P("/nonexistent"), 0, MS_BIND, 0 } },
	{ "umount", SYS_umount2, { P("/nonexistent"), 0 } },
	{ "pivot_root", SYS_pivot_root, { P("/nonexistent"), P("/nonexistent") } },
	{ "chroot", SYS_chroot, { P("/") } },
	{ "open_tree", NR_OPEN_TREE, { AT_FDCWD, P("/"), 1 } },
	{ "move_mount", NR_MOVE_MOUNT, { -1, P(""), -1, P(""), 4 } },
	{ "fsopen", NR_FSOPEN, { P("tmpfs"), 0 } },
	{ "fsmount", NR_FSMOUNT, { -1, 0, 0 } },
	{ "mount_setattr", NR_MOUNT_SETATTR, { AT_FDCWD, P("/nonexistent"), 0, P(page), 32 } },
	{ "name_to_handle_at",
	  SYS_name_to_handle_at,
	  { AT_FDCWD, P("/"), P(page), P(page + 64), 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1, P(page), 0 } },
	{ "mknod_char", SYS_mknodat, { AT_FDCWD, P("/nonexistent/char"), S_IFCHR | 0600, 0x101 } },
	{ "mknod_block",
	  SYS_mknodat,
	  { AT_FDCWD, P("/nonexistent/block"), S_IFBLK | 0600, 0xfe00 } },
	{ "unshare_user", SYS_unshare, { CLONE_NEWUSER } },
	{ "unshare_mount", SYS_unshare, { CLONE_NEWNS } },
	{ "unshare_net", SYS_unshare, { CLONE_NEWNET } },
	{ "unshare_pid", SYS_unshare, { CLONE_NEWPID } },
	{ "clone_user", SYS_clone, { CLONE_NEWUSER | SIGCHLD, 0 }, by_clone },
	{ "clone_net", SYS_clone, { CLONE_NEWNET | SIGCHLD, 0 }, by_clone },
	{ "clone3", NR_CLONE3, { P(clone_args), sizeof(clone_args) }, by_clone },
	{ "setns", SYS_setns, { -1, 0 } },
	{ "ptrace", SYS_ptrace, { PTRACE_TRACEME, 0, 0, 0 } },
	{ "ptrace_init", SYS_ptrace, { PTRACE_SEIZE, 1, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 1, P(&iov), 1, P(&iov), 1, 0 }, of_parent },
	{ "process_vm_writev", SYS_process_vm_writev, { 1, P(&iov), 1, P(&iov), 1, 0 }, of_parent },
	{ "pidfd_getfd", NR_PIDFD_GETFD, { -1, 0, 0 } },
	{ "kcmp", SYS_kcmp, { 1, 1, 0, 0, 0 } },
	{ "process_madvise", NR_PROCESS_MADVISE, { -1, P(&iov), 1, 4, 0 } },
	{ "bpf", SYS_bpf, { 0, P(page), 72 } },
	{ "perf_event_open", SYS_perf_event_open, { P(&perf), 0, -1, -1, 0 } },
	{ "userfaultfd", SYS_userfaultfd, { 1 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 1, P(page) } },
	{ "io_uring_enter", SYS_io_uring_enter, { -1, 0, 0, 0, 0, 0 } },
	{ "memfd_secret", NR_MEMFD_SECRET, { 0 } },
	{ "fanotify_init", SYS_fanotify_init, { 0, 0 } },
	{ "cachestat", NR_CACHESTAT, { -1, P(page), P(page), 0 } },
	{ "keyctl", SYS_keyctl, { 0, -3, 0 } },
	{ "add_key", SYS_add_key, { P("user"), P("a"), P("b"), 1, -3 } },
	{ "request_key", SYS_request_key, { P("user"), P("a"), 0, 0 } },
	{ "setuid", SYS_setuid, { 0 } },
	{ "setgid", SYS_setgid, { 0 } },
	{ "setresuid", SYS_setresuid, { 0, 0, 0 } },
	{ "setgroups", SYS_setgroups, { 0, 0 } },
	{ "capset", SYS_capset, { P(page), P(page) } },
	{ "sethostname", SYS_sethostname, { P("x"), -1 } },
	{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
	{ "kexec_load", SYS_kexec_load, { 0, 1, 0, 0 } },
	{ "init_module", SYS_init_module, { 0, 0, 0 } },
	{ "finit_module", SYS_finit_module, { -1, 0, 0 } },
	{ "syslog", SYS_syslog, { 10, 0, 0 } },
	{ "swapon", SYS_swapon, { P("/nonexistent"), 0 } },
	{ "acct", SYS_acct, { P("/nonexistent") } },
	{ "quotactl", SYS_quotactl, { -1, 0, 0, 0 } },
	{ "clock_settime", SYS_clock_settime, { -1, P(&past) } },
	{ "personality", SYS_personality, { ADDR_NO_RANDOMIZE } },
	{ "prlimit_other", SYS_prlimit64, { 0, 7, 0, P(page) }, of_parent },
	{ "sched_setscheduler", SYS_sched_setscheduler, { 0, SCHED_FIFO, P(&priority) } },
	{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 0 } },
	{ "vmsplice", SYS_vmsplice, { -1, P(&iov), 0, 0 } },
	{ "mq_open", SYS_mq_open, { P("x"), O_RDWR | O_CREAT, 0600, 0 } },
	{ "futex_pi", SYS_futex, { P(&word), FUTEX_LOCK_PI, 0, 0, 0, 0 } },
	{ "preadv2_nowait", SYS_preadv2, { 0, P(&iov), 1, 0, 0, RWF_NO_WAIT }, of_file },
	{ "setxattr", SYS_setxattr, { P("/tmp"), P("user.x"), P("y"), 1, 0 } },
	{ "tiocsti", SYS_ioctl, { 0, TIOCSTI, P("x") } },
	{ "ioctl_unknown", SYS_ioctl, { 0, 0x40086602 }, of_file },
	{ "prctl_unknown", SYS_prctl, { PR_SET_MM, 0, 0, 0, 0 } },
	{ "fcntl_setlease", SYS_fcntl, { 0, F_SETLEASE, F_RDLCK }, of_file },
	{ "fcntl_setown", SYS_fcntl, { 0, F_SETOWN, 1 }, of_file },
	{ "seccomp_listener", SYS_seccomp, { SECCOMP_SET_MODE_FILTER, 8, 0 } },
	{ "unknown_call", NR_NONE, { 0 } },
#ifdef __x86_64__
	{ "modify_ldt", SYS_modify_ldt, { 0, P(page), 16 } },
	{ "iopl", SYS_iopl, { 0 } },
	{ "call_i386", 20, { 0 }, by_int80 },
	{ "call_x32", 0x40000000 + SYS_getpid, { 0 } },
#endif
};
/* clang-format on */

static void killed_by(const char *name, int signal)
{
	const char *abbreviation = sigabbrev_np(signal);
	char outcome[32];

	snprintf(outcome, sizeof(outcome), "killed:SIG%s", abbreviation ? abbreviation : "?");
	probe_say(name, outcome);
}

/* In a child: some calls kill, and what is let through must not change the next attempt. */
static void make(const struct attempt *attempt)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		long result;

		errno = 0;
		result = attempt->call
				 ? attempt->call(attempt)
				 : syscall(attempt->number, attempt->args[0], attempt->args[1],
					   attempt->args[2], attempt->args[3], attempt->args[4],
					   attempt->args[5]);
		probe_say_result(attempt->name, result);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		probe_say_result(attempt->name, -1);
	else if (WIFSIGNALED(status))
		killed_by(attempt->name, WTERMSIG(status));
}

void probe_system_calls(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		make(&attempts[i]);
}
