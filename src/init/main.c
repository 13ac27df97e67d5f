/*
 * hotcell-init: pid 1 of a cell. It starts the program, reaps what is orphaned, tells the kernel's exit
 * status to the front, and when its socket closes it exits, which ends the cell.
 *
 * It has a uid that the program has not, cannot be traced or even seen by it, and allocates nothing.
 * Its socket comes from the warden, which has put the cell's description into it; what follows is the
 * front's. Anything unexpected on it ends the cell.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "init/init.h"
#include "init_filter.h"

enum init_state { INIT_IDLE, INIT_BUSY };

static struct init init;

static void tell(const void *message)
{
	/* The front went away: the cell ends with it. */
	if (wire_send(INIT_FD_CONTROL, message, NULL, 0) < 0)
		_exit(1);
}

static _Noreturn void broken(uint32_t step, int errnum)
{
	WIRE_MESSAGE(cell_broken, message, CELL_BROKEN);

	message.step = step;
	message.errnum = errnum;
	tell(&message);
	_exit(1);
}

static void say_ready(void)
{
	WIRE_MESSAGE(cell_ready, message, CELL_READY);

	tell(&message);
}

/* The first two messages, from the warden. */
static void take_briefing(void)
{
	_cleanup_fds_ struct wire_fds fds;
	ssize_t n = wire_recv(INIT_FD_CONTROL, &init.briefing, sizeof(init.briefing), &fds);
	size_t head = offsetof(struct cell_filter_message, code);

	if (n != sizeof(init.briefing) || init.briefing.header.type != CELL_SPEC || fds.n != 0 ||
	    cell_spec_check(&init.briefing.spec, NULL) < 0)
		broken(STEP_SPEC, EPROTO);
	n = wire_recv(INIT_FD_CONTROL, &init.filter, sizeof(init.filter), &fds);
	if (n < (ssize_t)head || init.filter.header.type != CELL_FILTER || fds.n != 0 ||
	    init.filter.length == 0 || init.filter.length > CELL_FILTER_MAX ||
	    (size_t)n != head + init.filter.length * sizeof(init.filter.code[0]))
		broken(STEP_SPEC, EPROTO);
}

static int keep_capabilities(uint32_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = keep, .permitted = keep } };

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* After the last fork: a filter is inherited, so it could not come earlier. */
static void lock_down(void)
{
	const struct sock_fprog program = {
		.len = ARRAY_SIZE(init_filter),
		.filter = (struct sock_filter *)(uintptr_t)init_filter,
	};
	int r = keep_capabilities(0);

	if (r < 0)
		broken(STEP_INIT_CAPS, -r);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		broken(STEP_INIT_FILTER, errno);
}

static void start(const struct worker_start *how)
{
	uint32_t step;
	int r = worker_start(&init, how, &step);

	if (r < 0)
		broken(step, -r);
	lock_down();
}

static void on_message(void)
{
	static const struct wire_rule rules[CELL_MESSAGE_COUNT] = {
		[CELL_RUN] = { 1u << INIT_IDLE, sizeof(struct cell_run), 0, RUN_FD_COUNT,
			       RUN_FD_COUNT },
	};
	_cleanup_fds_ struct wire_fds fds;
	struct cell_run message;
	enum init_state state = init.briefing.spec.flags & CELL_DRIVER || init.worker ? INIT_BUSY
										      : INIT_IDLE;
	ssize_t n = wire_recv(INIT_FD_CONTROL, &message, sizeof(message), &fds);

	if (n <= 0 || wire_check(rules, CELL_MESSAGE_COUNT, state, &message.header, fds.n) < 0)
		_exit(1); /* the front has gone, or is not the front any more */
	start(&(struct worker_start){
		.bundle = fds.fd[RUN_FD_BUNDLE],
		.stdio = { fds.fd[RUN_FD_STDIN], fds.fd[RUN_FD_STDOUT], fds.fd[RUN_FD_STDERR] },
		.driver = -1,
	});
}

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

static void on_child(void)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	int status;
	pid_t pid;

	/* Several children may stand behind one signal; how many, wait4 tells. */
	while (read(init.signals, &info, sizeof(info)) > 0)
		;
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		WIRE_MESSAGE(cell_exit, message, CELL_EXIT);

		if (pid != init.worker)
			continue; /* an orphan of the program's */
		message.status = status;
		message.cpu_us = microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime);
		message.memory_max_bytes = (uint64_t)usage.ru_maxrss * 1024;
		tell(&message);
	}
}

static int block_signals(void)
{
	sigset_t all, child;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return -errno;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	init.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	return init.signals < 0 ? -errno : 0;
}

int main(void)
{
	struct pollfd fds[2] = { { .fd = INIT_FD_CONTROL, .events = POLLIN } };
	int r;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		broken(STEP_INIT_DUMPABLE, errno);
	take_briefing();
	/* What it takes to start a worker; with one uid there is none to change to. */
	r = keep_capabilities(init.briefing.shared_uid
				      ? 1u << CAP_SETPCAP
				      : 1u << CAP_SETPCAP | 1u << CAP_SETUID | 1u << CAP_SETGID);
	if (r == 0)
		r = block_signals();
	if (r < 0)
		broken(STEP_INIT_CAPS, -r);
	if (init.briefing.spec.flags & CELL_DRIVER) {
		start(&(struct worker_start){
			.bundle = -1, .stdio = { -1, -1, -1 }, .driver = INIT_FD_DRIVER });
		/* Only the driver's own copy may keep that socket open. */
		(void)fd_close(INIT_FD_DRIVER);
	}
	say_ready();
	fds[1] = (struct pollfd){ .fd = init.signals, .events = POLLIN };
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		/* A status first: the front may close its end as soon as it has it. */
		if (fds[1].revents)
			on_child();
		if (fds[0].revents)
			on_message();
	}
}
