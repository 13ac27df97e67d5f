/*
 * Tries system calls that a cell must refuse and prints what came of each, one JSON object a line:
 * {"name": "mount", "ok": false, "errno": "EPERM"}. A call that kills is {"errno": "SIGSYS"}.
 *
 * Outside (in namespaces of its own, as root) the same calls reach the kernel: that is the positive control.
 * Arguments are chosen so that a call that is let through does no harm: each runs in a child of its own, and
 * those that would change the machine have an argument that the kernel refuses with another errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* Open before the probes begin, so that a table can name them. */
enum {
	FD_NS = 50,
	FD_TCP = 51,
	FD_UDP = 52,
	FD_PIPE = 53,
	FD_FILE = 55,
	FD_TTY = 56,
	FD_PIDFD = 57
};

struct probe {
	const char *name;
	long number;
	long args[6];
	long (*call)(const struct probe *probe); /* instead of a plain system call */
};

static char page[4096] __attribute__((aligned(4096)));
static uint32_t word;
static uint32_t word_two;
static char big[64 * 1024];
static struct iovec iov = { big, 16 };
static struct perf_event_attr perf = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(perf) };
static struct sched_param one = { .sched_priority = 1 };
static struct sock_filter accept_all[] = { { BPF_RET | BPF_K, 0, 0, 0xffffffff } };
static struct sock_fprog accept_program = { 1, accept_all };
static uint64_t clone_args[8] = { [4] = SIGCHLD };
static struct timespec past = { .tv_sec = 1 };

#define P(pointer) ((long)(intptr_t)(pointer))
#define HIGH       (1L << 32)

/* The child of a clone that is let through must not go on as a second parent. */
static long do_clone(const struct probe *probe)
{
	long pid = syscall(probe->number, probe->args[0], probe->args[1], 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

/* Another process: ours, so outside it may be asked. */
static long prlimit_of_parent(const struct probe *probe)
{
	return syscall(probe->number, (long)getppid(), 7L, 0L, P(page));
}

static long read_own_memory(const struct probe *probe)
{
	struct iovec to = { page, 16 };
	struct iovec from = { big, 16 };

	return syscall(probe->number, (long)getpid(), P(&to), 1L, P(&from), 1L, 0L);
}

static long kcmp_self(const struct probe *probe)
{
	return syscall(probe->number, (long)getpid(), (long)getpid(), 0L, 0L, 0L);
}

#ifdef __x86_64__
/* getpid by the 32-bit gate. */
static long call_by_int80(const struct probe *probe)
{
	long value = probe->number;

	__asm__ volatile("int $0x80"
			 : "+a"(value)
			 : "b"(probe->args[0])
			 : "memory", "r8", "r9", "r10", "r11");
	if (value < 0) {
		errno = (int)-value;
		return -1;
	}
	return value;
}
#endif

/* clang-format off */
static const struct probe probes[] = {
	/* F18: the shape of the mounts */
	{ "mount", SYS_mount, { P("none"), P("/tmp"), P("tmpfs"), 0, 0 } },
	{ "umount2", SYS_umount2, { P("/nonexistent"), 0 } },
	{ "pivot_root", SYS_pivot_root, { P("/nonexistent"), P("/nonexistent") } },
	{ "chroot", SYS_chroot, { P("/") } },
	{ "open_tree", 428, { AT_FDCWD, P("/"), 0 } },
	{ "open_tree clone", 428, { AT_FDCWD, P("/"), 1 } },
	{ "move_mount", 429, { -1, P(""), -1, P(""), 4 } },
	{ "fsopen", 430, { P("tmpfs"), 0 } },
	{ "fsconfig", 431, { -1, 0, 0, 0, 0 } },
	{ "fsmount", 432, { -1, 0, 0 } },
	{ "fspick", 433, { AT_FDCWD, P("/"), 0 } },
	{ "mount_setattr", 442, { AT_FDCWD, P("/nonexistent"), 0, P(page), 32 } },
	{ "statmount", 457, { 0, 0, 0, 0 } },
	{ "listmount", 458, { 0, 0, 0, 0 } },
	{ "name_to_handle_at", SYS_name_to_handle_at, { AT_FDCWD, P("/"), P(page), P(page + 64), 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1, P(page), 0 } },
	/* F9: devices */
	{ "mknod char", SYS_mknodat, { AT_FDCWD, P("char"), S_IFCHR | 0666, 0x101 } },
	{ "mknod block", SYS_mknodat, { AT_FDCWD, P("block"), S_IFBLK | 0666, 0xfe00 } },
	/* K1: namespaces */
	{ "unshare user", SYS_unshare, { CLONE_NEWUSER } },
	{ "unshare mnt", SYS_unshare, { CLONE_NEWNS } },
	{ "unshare pid", SYS_unshare, { CLONE_NEWPID } },
	{ "unshare net", SYS_unshare, { CLONE_NEWNET } },
	{ "unshare ipc", SYS_unshare, { CLONE_NEWIPC } },
	{ "unshare uts", SYS_unshare, { CLONE_NEWUTS } },
	{ "unshare cgroup", SYS_unshare, { CLONE_NEWCGROUP } },
	{ "unshare time", SYS_unshare, { CLONE_NEWTIME } },
	{ "unshare files", SYS_unshare, { CLONE_FILES } },
	{ "clone user", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, do_clone },
	{ "clone user net", SYS_clone, { CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD }, do_clone },
	{ "clone mnt", SYS_clone, { CLONE_NEWNS | SIGCHLD }, do_clone },
	{ "clone pid", SYS_clone, { CLONE_NEWPID | SIGCHLD }, do_clone },
	{ "clone net", SYS_clone, { CLONE_NEWNET | SIGCHLD }, do_clone },
	{ "clone ipc", SYS_clone, { CLONE_NEWIPC | SIGCHLD }, do_clone },
	{ "clone uts", SYS_clone, { CLONE_NEWUTS | SIGCHLD }, do_clone },
	{ "clone cgroup", SYS_clone, { CLONE_NEWCGROUP | SIGCHLD }, do_clone },
	{ "clone3", 435, { P(clone_args), sizeof(clone_args) }, do_clone },
	{ "setns", SYS_setns, { FD_NS, 0 } },
	/* K2 */
	{ "io_uring_setup", 425, { 1, P(page) } },
	{ "io_uring_enter", 426, { -1, 1, 0, 0, 0, 0 } },
	{ "io_uring_register", 427, { -1, 0, 0, 0 } },
	/* K3: the kernel looks at 32 bits of these, and so must the filter */
	{ "high ioctl TIOCSTI", SYS_ioctl, { FD_TTY, TIOCSTI | HIGH, P("\n") } },
	{ "ioctl TIOCSTI", SYS_ioctl, { FD_TTY, TIOCSTI, P("\n") } },
	{ "high prctl SET_MM", SYS_prctl, { 35 | HIGH, 1, P(page), 0, 0 } },
	{ "prctl SET_MM", SYS_prctl, { 35, 1, P(page), 0, 0 } },
	{ "high socket VSOCK", SYS_socket, { 40 | HIGH, SOCK_STREAM, 0 } },
	{ "socket VSOCK", SYS_socket, { 40, SOCK_STREAM, 0 } },
	{ "high socket PACKET", SYS_socket, { AF_PACKET | HIGH, SOCK_RAW, 0 } },
	{ "high clone user", SYS_clone, { CLONE_NEWUSER | SIGCHLD | (1L << 40) }, do_clone },
	{ "high personality", SYS_personality, { 0x40000 | HIGH } },
	{ "high futex LOCK_PI", SYS_futex, { P(&word), FUTEX_LOCK_PI | HIGH, 0, 0, 0, 0 } },
	{ "high mknod char", SYS_mknodat, { AT_FDCWD, P("char2"), S_IFCHR | 0666 | HIGH, 0x101 } },
	/* K9 */
	{ "keyctl", SYS_keyctl, { 0, -2, 1 } },
	{ "add_key", SYS_add_key, { P("user"), P("hotcell"), P("x"), 1, -2 } },
	{ "request_key", SYS_request_key, { P("user"), P("hotcell-none"), 0, 0 } },
	/* K10 */
	{ "userfaultfd", SYS_userfaultfd, { O_CLOEXEC } },
	{ "perf_event_open", SYS_perf_event_open, { P(&perf), 0, -1, -1, 0 } },
	{ "bpf", SYS_bpf, { 0, P(page), 16 } },
	{ "ptrace", SYS_ptrace, { 0, 0, 0, 0 } },
	{ "kcmp", SYS_kcmp, { 0 }, kcmp_self },
	{ "process_vm_readv", SYS_process_vm_readv, { 0 }, read_own_memory },
	{ "process_vm_writev", SYS_process_vm_writev, { 0 }, read_own_memory },
	{ "pidfd_getfd", 438, { FD_PIDFD, 1, 0 } },
	{ "memfd_secret", 447, { 0 } },
	{ "fanotify_init", SYS_fanotify_init, { 0, 0 } },
	{ "fanotify_mark", SYS_fanotify_mark, { -1, 1, 0, AT_FDCWD, P("/") } },
	{ "inotify_init1", SYS_inotify_init1, { 0 } },
	{ "personality", SYS_personality, { 0x40000 } },
	{ "seccomp listener", SYS_seccomp, { 1, 8, 0 } },
	{ "seccomp SPEC_ALLOW", SYS_seccomp, { 1, 4, 0 } },
	{ "cachestat", 451, { FD_FILE, P(page), P(page + 64), 0 } },
	{ "process_madvise", 440, { -1, P(&iov), 1, 4, 0 } },
	{ "process_mrelease", 448, { -1, 0 } },
	{ "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 0 } },
	{ "migrate_pages", SYS_migrate_pages, { 0, 0, 0, 0 } },
	{ "remap_file_pages", SYS_remap_file_pages, { P(page), 4096, 0, 0, 0 } },
	{ "vmsplice", SYS_vmsplice, { FD_PIPE, P(&iov), 1, 0 } },
	{ "syslog", SYS_syslog, { 10, 0, 0 } },
	{ "acct", SYS_acct, { P("/nonexistent") } },
	{ "swapon", SYS_swapon, { P("/nonexistent"), 0 } },
	{ "swapoff", SYS_swapoff, { P("/nonexistent") } },
	{ "init_module", SYS_init_module, { 0, 0, P("") } },
	{ "finit_module", SYS_finit_module, { -1, P(""), 0 } },
	{ "delete_module", SYS_delete_module, { P("nonexistent"), O_NONBLOCK } },
	{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
	{ "sethostname", SYS_sethostname, { P("probe"), 5 } },
	{ "setdomainname", SYS_setdomainname, { P("probe"), 5 } },
	{ "clock_settime", SYS_clock_settime, { -1, P(page) } },
	{ "adjtimex", SYS_adjtimex, { P(big) } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0, P(big) } },
	{ "mq_open", SYS_mq_open, { P("probe"), O_CREAT | O_RDWR, 0600, 0 } },
	{ "prlimit of another", SYS_prlimit64, { 0 }, prlimit_of_parent },
	{ "preadv2 RWF_NOWAIT", SYS_preadv2, { FD_FILE, P(&iov), 1, 0, 0, 8 } },
	{ "setxattr", SYS_setxattr, { P("."), P("user.probe"), P("x"), 1, 0 } },
	{ "fcntl F_SETOWN", SYS_fcntl, { FD_PIPE, 8, 0 } },
	{ "fcntl F_SETSIG", SYS_fcntl, { FD_PIPE, 10, 0 } },
	{ "fcntl F_SETLEASE", SYS_fcntl, { FD_FILE, 1024, 0 } },
	{ "fcntl F_NOTIFY", SYS_fcntl, { FD_FILE, 1026, 0 } },
	{ "lsm_get_self_attr", 459, { 100, 0, 0, 0 } },
	{ "lsm_set_self_attr", 460, { 100, 0, 0, 0 } },
	{ "lsm_list_modules", 461, { 0, 0, 0 } },
	{ "mseal", 462, { 1, 1, 1 } },
	{ "setxattrat", 463, { -1, 0, 0, 0, 0, 0 } },
	{ "open_tree_attr", 467, { -1, P("x"), 0, 0, 0 } },
	/* P14 and who it is */
	{ "sched_setscheduler RR", SYS_sched_setscheduler, { 0, SCHED_RR, P(&one) } },
	{ "sched_setparam", SYS_sched_setparam, { 0, P(page) } },
	{ "sched_setattr", SYS_sched_setattr, { 0, 0, 0 } },
	{ "ioprio_set RT", SYS_ioprio_set, { 1, 0, 1 << 13 } },
	{ "setpriority -20", SYS_setpriority, { 0, 0, -20 } },
	{ "set_mempolicy", SYS_set_mempolicy, { 0, 0, 0 } },
	{ "get_mempolicy", SYS_get_mempolicy, { 0, 0, 0, 0, 0 } },
	{ "mbind", SYS_mbind, { P(page), 4096, 0, 0, 0, 0 } },
	{ "setuid", SYS_setuid, { 0 } },
	{ "setgid", SYS_setgid, { 0 } },
	{ "setreuid", SYS_setreuid, { 0, 0 } },
	{ "setresuid", SYS_setresuid, { 0, 0, 0 } },
	{ "setresgid", SYS_setresgid, { 0, 0, 0 } },
	{ "setfsuid", SYS_setfsuid, { 0 } },
	{ "setgroups", SYS_setgroups, { 0, 0 } },
	{ "capset", SYS_capset, { P(page), P(page + 64) } },
	/* K11: options of sockets that are programs */
	{ "SO_ATTACH_FILTER", SYS_setsockopt, { FD_UDP, SOL_SOCKET, 26, P(&accept_program), sizeof(accept_program) } },
	{ "SO_ATTACH_BPF", SYS_setsockopt, { FD_UDP, SOL_SOCKET, 50, P(page), 4 } },
	{ "SO_ATTACH_REUSEPORT_CBPF", SYS_setsockopt,
	  { FD_UDP, SOL_SOCKET, 51, P(&accept_program), sizeof(accept_program) } },
	{ "TCP_ULP", SYS_setsockopt, { FD_TCP, IPPROTO_TCP, 31, P("tls"), 3 } },
	{ "TCP_REPAIR", SYS_setsockopt, { FD_TCP, IPPROTO_TCP, 19, P(page), 4 } },
	{ "IP_ADD_SOURCE_MEMBERSHIP", SYS_setsockopt, { FD_UDP, IPPROTO_IP, 39, P(page), 12 } },
	{ "IPT_SO_SET_REPLACE", SYS_setsockopt, { FD_UDP, IPPROTO_IP, 64, P(page), 12 } },
	{ "high SO_ATTACH_FILTER", SYS_setsockopt,
	  { FD_UDP, SOL_SOCKET | HIGH, 26 | HIGH, P(&accept_program), sizeof(accept_program) } },
	/* K12 */
	{ "futex LOCK_PI", SYS_futex, { P(&word), FUTEX_LOCK_PI, 0, 0, 0, 0 } },
	{ "futex TRYLOCK_PI", SYS_futex, { P(&word), FUTEX_TRYLOCK_PI, 0, 0, 0, 0 } },
	{ "futex UNLOCK_PI", SYS_futex, { P(&word), FUTEX_UNLOCK_PI, 0, 0, 0, 0 } },
	{ "futex LOCK_PI private", SYS_futex, { P(&word), FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0 } },
	{ "futex CMP_REQUEUE_PI", SYS_futex, { P(&word), FUTEX_CMP_REQUEUE_PI, 1, 0, P(&word_two), 0 } },
	{ "futex WAIT_REQUEUE_PI", SYS_futex, { P(&word), FUTEX_WAIT_REQUEUE_PI, 1, P(&past), P(&word_two), 0 } },
#ifdef __x86_64__
	{ "iopl", SYS_iopl, { 0 } },
	{ "ioperm", SYS_ioperm, { 0, 1, 0 } },
	{ "modify_ldt", SYS_modify_ldt, { 0, P(page), 16 } },
	/* K5: numbers of other ABIs */
	{ "x32 getpid", 0x40000000 | 39, { 0 } },
	{ "x32 execve", 0x40000000 | 520, { 0, 0, 0 } },
	{ "x32 ioctl", 0x40000000 | 514, { 0, TIOCSTI, 0 } },
	{ "int80 getpid", 20, { 0 }, call_by_int80 },
	{ "int80 unshare", 310, { 0 }, call_by_int80 },
#endif
	/* What must go on working, or the rest proves nothing. */
	{ "fine: getpid", SYS_getpid, { 0 } },
	{ "fine: clone", SYS_clone, { SIGCHLD }, do_clone },
	{ "fine: preadv2", SYS_preadv2, { FD_FILE, P(&iov), 1, 0, 0, 0 } },
	{ "fine: socket", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0 } },
	{ "fine: SO_REUSEADDR", SYS_setsockopt, { FD_TCP, SOL_SOCKET, SO_REUSEADDR, P(&one), 4 } },
	{ "fine: mkfifo", SYS_mknodat, { AT_FDCWD, P("fifo"), S_IFIFO | 0600, 0 } },
	{ "fine: futex", SYS_futex, { P(&word), FUTEX_WAKE, 1, 0, 0, 0 } },
	{ "fine: prctl", SYS_prctl, { 16, P(page), 0, 0, 0 } },
	{ "fine: memfd_create", SYS_memfd_create, { P("probe"), 0 } },
};
/* clang-format on */

/* The file gets to its number whatever was opened before. */
static void place(int fd, int number)
{
	if (fd >= 0 && fd != number) {
		dup2(fd, number);
		close(fd);
	}
}

static void open_everything(void)
{
	int pipe_fds[2];

	place(open("/proc/self/ns/uts", O_RDONLY), FD_NS);
	place(socket(AF_INET, SOCK_STREAM, 0), FD_TCP);
	place(socket(AF_INET, SOCK_DGRAM, 0), FD_UDP);
	if (pipe(pipe_fds) == 0) {
		place(pipe_fds[1], FD_PIPE);
		place(pipe_fds[0], FD_PIPE + 1);
	}
	place(open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), FD_FILE);
	if (write(FD_FILE, big, sizeof(big)) < 0)
		perror("file");
	if (unlockpt(open("/dev/ptmx", O_RDWR | O_NOCTTY)) < 0)
		dup2(STDIN_FILENO, FD_TTY);
	else
		place(open("/dev/ptmx", O_RDWR | O_NOCTTY), FD_TTY);
	place((int)syscall(434, (long)getpid(), 0L), FD_PIDFD);
}

/* 0 when it was let through, an errno, or 1000 + signal. */
static int try_probe(const struct probe *probe)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0) {
		const long *a = probe->args;
		long value;

		errno = 0;
		value = probe->call ? probe->call(probe)
				    : syscall(probe->number, a[0], a[1], a[2], a[3], a[4], a[5]);
		_exit(value < 0 ? errno : 0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void report(const struct probe *probe, int outcome)
{
	const char *name = outcome < 1000 ? strerrorname_np(outcome) : sigabbrev_np(outcome - 1000);

	printf("{\"name\": \"%s\", \"ok\": %s, \"errno\": \"%s%s\"}\n", probe->name,
	       outcome == 0 ? "true" : "false", outcome < 1000 ? "" : "SIG", name ? name : "?");
}

int main(void)
{
	/* Children must not print what the parent had buffered. */
	setvbuf(stdout, NULL, _IONBF, 0);
	open_everything();
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		report(&probes[i], try_probe(&probes[i]));
	return 0;
}
