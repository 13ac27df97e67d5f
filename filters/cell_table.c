/*
 * What the programs in a cell may ask of the kernel.
 *
 * An allow list: what is not here answers ENOSYS, as an older kernel would, and libraries fall
 * back. Some calls have another errno because programs react better to it. Nothing is killed for a
 * call it may not make, except by another ABI (32-bit, x32), whose numbers mean something else.
 */
#include "policy.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const struct clause clone_rule[] = {
	{ .tests = { MASKED(0, NEW_NAMESPACES, ONE(0)) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

/* The loopback of a cell's own network namespace is all there is to talk to. */
#define NO_INET    IN_BINARY
#define NO_NETLINK (IN_BASH | IN_BINARY)

static const struct clause socket_rule[] = {
	{ .tests = { ARG(0, ONE(AF_UNIX)),
		     MASKED(1, SOCKET_TYPE, SPAN(SOCK_STREAM, SOCK_DGRAM), ONE(SOCK_SEQPACKET)),
		     ARG(2, ONE(0)) },
	  .action = ALLOW },
	{ .tests = { ARG(0, ONE(AF_INET), ONE(AF_INET6)), MASKED(1, SOCKET_TYPE, ONE(SOCK_STREAM)),
		     ARG(2, ONE(0), ONE(IPPROTO_TCP)) },
	  .action = ALLOW,
	  .except = NO_INET },
	{ .tests = { ARG(0, ONE(AF_INET), ONE(AF_INET6)), MASKED(1, SOCKET_TYPE, ONE(SOCK_DGRAM)),
		     ARG(2, ONE(0), ONE(IPPROTO_UDP)) },
	  .action = ALLOW,
	  .except = NO_INET },
	/* NETLINK_ROUTE, for getifaddrs(): os.networkInterfaces() throws without it. */
	{ .tests = { ARG(0, ONE(AF_NETLINK)), MASKED(1, SOCKET_TYPE, SPAN(SOCK_DGRAM, SOCK_RAW)),
		     ARG(2, ONE(0)) },
	  .action = ALLOW,
	  .except = NO_NETLINK },
	{ .tests = { ARG(0, SPAN(AF_UNIX, AF_INET), ONE(AF_INET6)) },
	  .action = FAIL(EPROTONOSUPPORT),
	  .except = NO_INET },
	{ .tests = { ARG(0, ONE(AF_UNIX)) },
	  .action = FAIL(EPROTONOSUPPORT),
	  .except = IN_ALL & ~NO_INET },
	{ .tests = { ARG(0, ONE(AF_NETLINK)) },
	  .action = FAIL(EPROTONOSUPPORT),
	  .except = NO_NETLINK },
	{ .action = FAIL(EAFNOSUPPORT) },
};

const struct clause socketpair_rule[] = {
	{ .tests = { ARG(0, ONE(AF_UNIX)) }, .action = ALLOW },
	{ .action = FAIL(EAFNOSUPPORT) },
};

/* Left out: socket filters and BPF (SOL_SOCKET from 26 on), TCP_ULP, TCP_REPAIR, TCP keys,
 * source-specific multicast, and the netfilter and multicast-routing commands that hide behind
 * IPPROTO_IP (64 and up). */
const struct clause setsockopt_rule[] = {
	{ .tests = { ARG(1, ONE(SOL_SOCKET)), ARG(2, SPAN(0, 25)) }, .action = ALLOW },
	{ .tests = { ARG(1, ONE(IPPROTO_TCP)),
		     /* NODELAY…CONGESTION, USER_TIMEOUT, FASTOPEN, NOTSENT_LOWAT,
		      * FASTOPEN_CONNECT */
		     ARG(2, SPAN(1, 13), ONE(18), ONE(23), ONE(25), ONE(30)) },
	  .action = ALLOW },
	{ .tests = { ARG(1, ONE(IPPROTO_IP)),
		     /* TOS TTL, RECVOPTS RETOPTS PKTINFO, MTU_DISCOVER RECVERR RECVTTL RECVTOS,
		      * FREEBIND, BIND_ADDRESS_NO_PORT, MULTICAST_IF…DROP_MEMBERSHIP */
		     ARG(2, SPAN(1, 2), SPAN(6, 8), SPAN(10, 13), ONE(15), ONE(24), SPAN(32, 36)) },
	  .action = ALLOW },
	{ .tests = { ARG(1, ONE(IPPROTO_IPV6)),
		     /* UNICAST_HOPS, MULTICAST_IF HOPS LOOP, RECVERR (glibc's resolver), V6ONLY,
		      * RECVPKTINFO, TCLASS */
		     ARG(2, SPAN(16, 19), SPAN(25, 26), ONE(49), ONE(67)) },
	  .action = ALLOW },
	{ .action = FAIL(ENOPROTOOPT) },
};

static const struct clause ioctl_rule[] = {
	{ .tests = { ARG(1, SPAN(TCGETS, TCSETSF), SPAN(TIOCGPGRP, TIOCSPGRP), ONE(TIOCGWINSZ),
			 ONE(FIONREAD), ONE(FIONBIO), ONE(TIOCGSID), SPAN(FIONCLEX, FIOASYNC)) },
	  .action = ALLOW },
	{ .action = FAIL(ENOTTY) }, /* TIOCSTI above all */
};

static const struct clause prctl_rule[] = {
	{ .tests = { ARG(0, SPAN(PR_SET_PDEATHSIG, PR_SET_DUMPABLE), SPAN(PR_SET_NAME, PR_GET_NAME),
			 ONE(PR_CAPBSET_READ), SPAN(PR_SET_CHILD_SUBREAPER, PR_GET_TID_ADDRESS),
			 ONE(PR_SET_VMA)) },
	  .action = ALLOW },
	{ .action = FAIL(EINVAL) },
};

/* Code may lock itself in further, but not with a listener (whose ioctls are refused anyway) and
 * not with SPEC_ALLOW, which would take a mitigation away. Flags: TSYNC, LOG, TSYNC_ESRCH. */
static const struct clause seccomp_rule[] = {
	{ .tests = { ARG(0, SPAN(SECCOMP_SET_MODE_STRICT, SECCOMP_GET_ACTION_AVAIL)),
		     MASKED(1, ~0x13u, ONE(0)) },
	  .action = ALLOW },
	{ .action = FAIL(EINVAL) },
};

/* No priority inheritance: CVE-2014-3153, CVE-2026-43499. Nor FUTEX_FD. */
const struct clause futex_rule[] = {
	{ .tests = { MASKED(1, FUTEX_CMD_MASK, SPAN(FUTEX_WAIT, FUTEX_WAKE),
			    SPAN(FUTEX_REQUEUE, FUTEX_WAKE_OP),
			    SPAN(FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET)) },
	  .action = ALLOW },
	{ .action = FAIL(ENOSYS) },
};

const struct clause prlimit_rule[] = {
	{ .tests = { ARG(0, ONE(0)) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

static const struct clause personality_rule[] = {
	{ .tests = { ARG(0, ONE(0), ONE(UINT32_MAX)) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

/* RWF_NOWAIT tells whether a page of a shared file is cached. Allowed: HIPRI, DSYNC, SYNC, APPEND;
 * the kernel answers EOPNOTSUPP to flags it does not know, so callers are prepared. */
static const struct clause preadv2_rule[] = {
	{ .tests = { MASKED(5, ~0x17u, ONE(0)) }, .action = ALLOW },
	{ .action = FAIL(EOPNOTSUPP) },
};

/* Not devices. The mode is 16 bits to the kernel; a type of 0 means a regular file. */
#define PLAIN_TYPES ONE(0), ONE(S_IFIFO), ONE(S_IFREG), ONE(S_IFSOCK)

static const struct clause mknod_rule[] = {
	{ .tests = { MASKED(1, S_IFMT, PLAIN_TYPES) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

static const struct clause mknodat_rule[] = {
	{ .tests = { MASKED(2, S_IFMT, PLAIN_TYPES) }, .action = ALLOW },
	{ .action = FAIL(EPERM) },
};

/* Not F_SETOWN, F_SETSIG, F_SETOWN_EX (signals to others), F_SETLEASE, F_NOTIFY (watching them). */
static const struct clause fcntl_rule[] = {
	{ .tests = { ARG(1, SPAN(0, 7) /* DUPFD…SETLKW */, ONE(9) /* GETOWN */,
			 ONE(11) /* GETSIG */, SPAN(36, 38) /* OFD locks */,
			 SPAN(1030, 1034) /* DUPFD_CLOEXEC…GET_SEALS */) },
	  .action = ALLOW },
	{ .action = FAIL(EINVAL) },
};

static const struct row rows[] = {
	YES("read write readv writev pread64 pwrite64 preadv pwritev pwritev2 lseek close "
	    "close_range dup dup2 dup3 pipe pipe2 sendfile splice tee copy_file_range fadvise64 "
	    "readahead fsync fdatasync syncfs sync_file_range fallocate truncate ftruncate flock",
	    "files that are open"),
	YES("open openat openat2 creat stat fstat lstat newfstatat statx access faccessat "
	    "faccessat2 readlink readlinkat getcwd chdir fchdir getdents getdents64 statfs "
	    "fstatfs umask mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink "
	    "symlinkat unlink unlinkat chmod fchmod fchmodat fchmodat2 chown fchown lchown "
	    "fchownat utime utimes futimesat utimensat getxattr lgetxattr fgetxattr listxattr "
	    "llistxattr flistxattr",
	    "names; mounts, Landlock and nosuid say where"),
	YES("mmap munmap mprotect mremap madvise msync brk mincore mlock mlock2 munlock "
	    "membarrier pkey_alloc pkey_free pkey_mprotect memfd_create",
	    "memory; writable and executable too, for JITs"),
	YES("execve execveat fork vfork exit exit_group wait4 waitid kill tkill tgkill "
	    "rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal setpgid getpgid "
	    "getpgrp setsid getsid getpid getppid gettid",
	    "processes; the PID namespace bounds them"),
	YES("rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait "
	    "sigaltstack pause restart_syscall signalfd signalfd4",
	    "signals; restart_syscall comes after every freeze"),
	YES("set_tid_address set_robust_list get_robust_list rseq arch_prctl futex_waitv",
	    "threads"),
	YES("time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm "
	    "getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun "
	    "timer_delete timerfd_create timerfd_settime timerfd_gettime times",
	    "time"),
	YES("select pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait "
	    "epoll_pwait epoll_pwait2 eventfd eventfd2",
	    "waiting"),
	YES("getuid geteuid getgid getegid getresuid getresgid getgroups capget getrandom uname "
	    "sysinfo getrusage getrlimit setrlimit getpriority setpriority getcpu sched_yield "
	    "sched_getaffinity sched_setaffinity sched_getattr sched_getparam sched_getscheduler "
	    "sched_get_priority_max sched_get_priority_min sched_rr_get_interval",
	    "facts and own limits"),
	YES("landlock_create_ruleset landlock_add_rule landlock_restrict_self",
	    "code may lock itself in further"),
	YES("sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockopt getsockname "
	    "getpeername",
	    "sockets that are open"),
	SOME("bind connect listen accept accept4", IN_ALL & ~IN_COMPILE,
	     "compilers have no business with them"),
	SOME("shmget shmat shmdt shmctl semget semop semtimedop semctl", IN_ALL & ~IN_COMPILE,
	     "System V, in the cell's own IPC namespace"),
	SOME("inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",
	     IN_NODE | IN_GO | IN_INSTALL, "instances are counted per user and run out"),

	CHECK("clone", clone_rule, "no new namespaces, else EPERM"),
	{ .names = "socket",
	  .profiles = IN_ALL & ~IN_COMPILE,
	  .rule = socket_rule,
	  .why = "UNIX; TCP, UDP not in binary; NETLINK_ROUTE nor in bash; else EAFNOSUPPORT",
	  .elsewhere = IN_COMPILE },
	{ .names = "socket",
	  .profiles = IN_COMPILE,
	  .action = FAIL(EAFNOSUPPORT),
	  .why = "compilers talk over pipes and socketpairs",
	  .elsewhere = IN_ALL & ~IN_COMPILE },
	CHECK("socketpair", socketpair_rule, "UNIX only, else EAFNOSUPPORT"),
	CHECK("setsockopt", setsockopt_rule, "common options, else ENOPROTOOPT"),
	CHECK("ioctl", ioctl_rule, "terminal questions and FIO*; never TIOCSTI; else ENOTTY"),
	CHECK("prctl", prctl_rule,
	      "names, death signal, dumpable, subreaper, no_new_privs; else EINVAL"),
	CHECK("seccomp", seccomp_rule, "stricter filters, no listener; else EINVAL"),
	CHECK("futex", futex_rule, "no priority inheritance, else ENOSYS"),
	CHECK("prlimit64", prlimit_rule, "own limits only, else EPERM"),
	CHECK("personality", personality_rule, "asking only, else EPERM"),
	CHECK("preadv2", preadv2_rule, "without RWF_NOWAIT (page-cache oracle), else EOPNOTSUPP"),
	CHECK("mknod", mknod_rule, "no devices, else EPERM"),
	CHECK("mknodat", mknodat_rule, "no devices, else EPERM"),
	CHECK("fcntl", fcntl_rule, "no leases, no notification, no signal owner; else EINVAL"),

	NO("setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", FAIL(EOPNOTSUPP),
	   "cp -a goes on after this one, not after EPERM"),
	NO("ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp", FAIL(EPERM),
	   "other processes' memory and files"),
	NO("mount umount2 unshare setns chroot pivot_root sethostname setdomainname reboot",
	   FAIL(EPERM), "the shape of the cell"),
	NO("bpf perf_event_open", FAIL(EPERM), "kernel surface"),
	NO("keyctl add_key request_key", FAIL(EPERM), "keyrings have no namespace"),
	NO("setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups "
	   "capset",
	   FAIL(EPERM), "there is nobody else to be"),
	NO("get_mempolicy set_mempolicy mbind ioprio_set sched_setscheduler sched_setparam "
	   "sched_setattr",
	   FAIL(EPERM), "the host decides"),
	/* The flags are behind a pointer, where a filter cannot look. */
	NO("clone3", FAIL(ENOSYS), "its flags cannot be checked; libraries fall back to clone"),
};

const struct policy cell_policy = {
	.name = "cell",
	.rows = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.fallback = FAIL(ENOSYS),
};
