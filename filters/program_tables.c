/* Filters of our own programs, loaded when each has opened and started what it needs. */
#include "policy.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* init: pid 1 of a cell after its last fork (children would inherit the filter). It has no heap. */
static const struct row init_rows[] = {
	YES("read write recvmsg sendmsg recvfrom sendto close poll ppoll", "the control socket"),
	YES("wait4 waitid kill", "the worker and the orphans"),
	YES("rt_sigreturn rt_sigprocmask rt_sigaction rt_sigtimedwait restart_syscall", "signals"),
	/* The vdso falls back to the system call when the clock source has none. */
	YES("clock_gettime getpid", "when, who"),
	YES("gettid tgkill exit exit_group", "the end, abort() too"),
};

/* files: memory only from the heap, not executable; names only by openat2 and the *at calls. */
static const struct clause plain_mmap_rule[] = {
	{ .tests = { MASKED(2, PROT_EXEC, ONE(0)), MASKED(3, MAP_ANONYMOUS, ONE(MAP_ANONYMOUS)) },
	  .action = ALLOW },
	{ .action = KILL },
};

static const struct clause plain_mprotect_rule[] = {
	{ .tests = { MASKED(2, PROT_EXEC, ONE(0)) }, .action = ALLOW },
	{ .action = KILL },
};

static const struct clause files_fcntl_rule[] = {
	/* GETFD SETFD GETFL SETFL; DUPFD_CLOEXEC for fdopendir(), which takes the fd it is given */
	{ .tests = { ARG(1, SPAN(1, 4), ONE(1030)) }, .action = ALLOW },
	{ .action = KILL },
};

static const struct row files_rows[] = {
	YES("recvmsg sendmsg recvfrom sendto poll ppoll close", "the request socket"),
	YES("openat2 fstat newfstatat statx fstatfs getdents64 readlinkat lseek read pread64",
	    "looking"),
	YES("write pwrite64 copy_file_range sendfile ftruncate fallocate fsync fchmod fchown "
	    "fchownat mkdirat unlinkat renameat2 utimensat",
	    "changing"),
	YES("brk munmap mremap madvise", "the heap"),
	CHECK("mmap", plain_mmap_rule, "anonymous, not executable"),
	CHECK("mprotect", plain_mprotect_rule, "not executable"),
	CHECK("fcntl", files_fcntl_rule, "flags and duplicates"),
	YES("clock_gettime getpid gettid rt_sigreturn rt_sigprocmask rt_sigaction restart_syscall "
	    "futex tgkill",
	    "the C library, abort() too"),
	YES("getrandom", "glibc seeds its heap with it"),
	YES("exit exit_group", "the end"),
};

/* front: parses what strangers send. It starts nothing, so tricking it runs no program. */
static const struct clause thread_rule[] = {
	{ .tests = { MASKED(0, CLONE_THREAD | NEW_NAMESPACES, ONE(CLONE_THREAD)) },
	  .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

static const struct clause no_exec_rule[] = {
	{ .tests = { MASKED(2, PROT_EXEC, ONE(0)) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

static const struct clause front_socket_rule[] = {
	{ .tests = { ARG(0, ONE(AF_UNIX)),
		     MASKED(1, SOCKET_TYPE, SPAN(SOCK_STREAM, SOCK_DGRAM), ONE(SOCK_SEQPACKET)),
		     ARG(2, ONE(0)) },
	  .action = ALLOW },
	{ .tests = { ARG(0, ONE(AF_INET), ONE(AF_INET6)), MASKED(1, SOCKET_TYPE, ONE(SOCK_STREAM)),
		     ARG(2, ONE(0), ONE(IPPROTO_TCP)) },
	  .action = ALLOW },
	{ .action = FAIL(EAFNOSUPPORT) },
};

static const struct clause front_ioctl_rule[] = {
	/* isatty() asks TCGETS; libuv uses FIONBIO, FIOCLEX and FIONCLEX. */
	{ .tests = { ARG(1, ONE(TCGETS), ONE(TIOCGWINSZ), ONE(FIONREAD), ONE(FIONBIO),
			 SPAN(FIONCLEX, FIOCLEX)) },
	  .action = ALLOW },
	{ .action = FAIL(ENOTTY) },
};

static const struct clause front_prctl_rule[] = {
	{ .tests = { ARG(0, ONE(PR_SET_PDEATHSIG), SPAN(PR_GET_DUMPABLE, PR_SET_DUMPABLE),
			 SPAN(PR_SET_NAME, PR_GET_NAME),
			 SPAN(PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS), ONE(PR_SET_VMA)) },
	  .action = ALLOW },
	{ .action = FAIL(EINVAL) },
};

static const struct clause front_fcntl_rule[] = {
	{ .tests = { ARG(1, SPAN(0, 7), SPAN(36, 38), SPAN(1030, 1034)) }, .action = ALLOW },
	{ .action = FAIL(EINVAL) },
};

/* Only the signals with which the C library ends a thread or the process: the filter is made before
 * our pid is known, so it cannot say "to ourselves". */
static const struct clause front_tgkill_rule[] = {
	{ .tests = { ARG(2, ONE(SIGABRT), SPAN(32, 33)) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

static const struct row front_rows[] = {
	YES("read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close "
	    "close_range dup dup2 dup3 pipe2 sendfile splice copy_file_range fadvise64 fsync "
	    "fdatasync fallocate ftruncate flock",
	    "files that are open"),
	/* Which names: Landlock. */
	YES("open openat openat2 stat fstat lstat newfstatat statx access faccessat faccessat2 "
	    "readlink readlinkat getcwd getdents64 statfs fstatfs umask mkdir mkdirat rmdir "
	    "unlink unlinkat rename renameat renameat2 link linkat chmod fchmod fchmodat "
	    "utimensat",
	    "SQLite and the state directory"),
	YES("munmap mremap madvise msync brk membarrier memfd_create", "memory"),
	CHECK("mmap", no_exec_rule, "not executable: libraries are loaded before the filter"),
	CHECK("mprotect", no_exec_rule, "not executable"),
	YES("poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait "
	    "epoll_pwait2 eventfd2 timerfd_create timerfd_settime timerfd_gettime signalfd4",
	    "waiting"),
	YES("bind connect listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg "
	    "shutdown getsockopt getsockname getpeername",
	    "sockets"),
	CHECK("socket", front_socket_rule, "UNIX and TCP"),
	CHECK("socketpair", socketpair_rule, "UNIX"),
	CHECK("setsockopt", setsockopt_rule, "the options a cell may set"),
	CHECK("ioctl", front_ioctl_rule, "terminal questions, FIO*"),
	CHECK("prctl", front_prctl_rule, "names, dumpable"),
	CHECK("fcntl", front_fcntl_rule, "flags, locks, duplicates, pipe sizes, seals"),
	CHECK("futex", futex_rule, "no priority inheritance"),
	CHECK("clone", thread_rule, "threads only"),
	NO("clone3", FAIL(ENOSYS), "glibc falls back to clone"),
	YES("set_robust_list get_robust_list set_tid_address rseq sched_yield sched_getaffinity "
	    "sched_getparam sched_getscheduler getcpu exit exit_group",
	    "threads"),
	CHECK("prlimit64", prlimit_rule, "own limits"),
	CHECK("tgkill", front_tgkill_rule, "abort()"),
	/* By fd, and pidfds come from the warden: how a cell dies without cgroup.kill. */
	YES("pidfd_send_signal", "killing a cell it was given"),
	YES("rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait sigaltstack "
	    "restart_syscall",
	    "signals"),
	YES("time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep times", "time"),
	YES("getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getrandom "
	    "uname sysinfo getrusage getrlimit getpriority",
	    "facts"),
	/* libuv 1.45 and later asks for a ring when a loop is made and goes on without one. */
	NO("io_uring_setup", FAIL(ENOSYS), "libuv goes on without a ring"),
	NO("execve execveat ptrace mount umount2 pivot_root chroot unshare setns open_tree "
	   "move_mount fsopen fsconfig fsmount fspick mount_setattr bpf io_uring_enter "
	   "io_uring_register process_vm_readv process_vm_writev pidfd_getfd init_module "
	   "finit_module delete_module kexec_load kexec_file_load userfaultfd perf_event_open "
	   "keyctl add_key request_key setuid setgid setreuid setregid setresuid setresgid "
	   "setgroups",
	   KILL, "only somebody who has taken us over would ask"),
};

/* clang-format off */
#define POLICY(label, list, otherwise) \
	{ .name = label, .rows = list, .row_count = sizeof(list) / sizeof(list[0]), \
	  .fallback = otherwise }
/* clang-format on */

const struct policy program_policies[] = {
	POLICY("init", init_rows, KILL),
	POLICY("files", files_rows, KILL),
	/* A call we forgot shows as an error in the log, not as a dead server. */
	POLICY("front", front_rows, FAIL(EPERM)),
};

const size_t program_policy_count = sizeof(program_policies) / sizeof(program_policies[0]);
