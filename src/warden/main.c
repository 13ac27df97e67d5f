/*
 * hotcell-warden: the only privileged program. It builds, measures out and kills cells, and does
 * nothing else: no text is parsed here, no path of a client's is opened, no client is known.
 *
 * It is told by the command what it needs (requests.c), moves into a root of its own in which nothing
 * of the host can be named (template.c), drops the capabilities it does not need (privileges.c), and
 * then serves one front. When either of the two goes away, it kills every cell and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "warden/kernel.h"
#include "warden/warden.h"
#include "warden/watch.h"

enum {
	EVENTS_AT_ONCE = 32,
	DRAIN_MS = 2000,          /* for cells to die when the warden ends */
	BUSY_CGROUP_RETRY_MS = 2, /* v1 lets go of a cgroup a moment after its last process */
};

/* Marks for the loop: which of the fixed descriptors an event is for. */
static char command_mark, front_mark, signals_mark;

void warden_send(struct warden *w, const void *message, const int *fds, size_t n_fds)
{
	if (wire_send(WARDEN_FD_FRONT, message, fds, n_fds) < 0)
		w->front_blocked = true;
}

int warden_watch(struct warden *w, int fd, void *ptr)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = ptr };

	return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void warden_greet(struct warden *w)
{
	WIRE_MESSAGE(warden_hello, hello, WARDEN_HELLO);

	if (w->greeted)
		return;
	w->greeted = true;
	hello.uid_mode = w->settings.uid_mode;
	hello.cgroup_kind = w->cgroups.kind;
	hello.controllers = w->cgroups.controllers;
	hello.landlock_abi = w->landlock_abi;
	hello.bind_trees = w->template.bind_trees;
	warden_send(w, &hello, NULL, 0);
	/* Only now is it heard: its first request must not meet a warden that is still finding out. */
	if (warden_watch(w, WARDEN_FD_FRONT, &front_mark) < 0)
		w->front_blocked = true;
}

/* The first spare is how it is found out what the host allows: without overlays in user namespaces
 * cells are made with bind mounts, and the front is told so. */
void warden_prepare_failed(struct warden *w, uint32_t step)
{
	if (step == STEP_ROOT && !w->template.bind_trees && !w->greeted) {
		w->template.bind_trees = true;
		return;
	}
	/* It would fail again and again. The next who asks has one made for him, and is told why not. */
	w->prepare_step = step;
	warden_greet(w);
}

static size_t count_spares(const struct warden *w)
{
	size_t n = 0;

	for (const struct cell *cell = w->cells; cell; cell = cell->next)
		n += cell->state <= CELL_SPARE && !cell->wanted && !cell->doomed;
	return n;
}

void warden_refill(struct warden *w)
{
	uint32_t step;

	/* After a failure nothing is tried until somebody asks: the reason is then told to him. */
	while (w->state == WARDEN_SERVING && !w->prepare_step &&
	       count_spares(w) < MAX(w->settings.spare, w->greeted ? 0u : 1u)) {
		struct cell *cell;
		int r = cell_prepare(w, &cell, &step);

		if (r < 0) {
			warden_prepare_failed(w, step);
			return;
		}
	}
}

struct cell *warden_take_spare(struct warden *w, uint32_t *ret_step, int *ret_errnum)
{
	struct cell *best = NULL;
	int r;

	for (struct cell *cell = w->cells; cell; cell = cell->next) {
		if (cell->state > CELL_SPARE || cell->wanted || cell->doomed)
			continue;
		if (!best || cell->state > best->state)
			best = cell;
	}
	if (best)
		return best;
	/* What failed before may be mended by now; if not, this one tells why. */
	w->prepare_step = 0;
	r = cell_prepare(w, &best, ret_step);
	if (r < 0) {
		*ret_errnum = -r;
		return NULL;
	}
	return best;
}

/* Frees what is removed. True when some cgroup was still busy and must be tried again. */
static bool sweep(struct warden *w)
{
	bool busy = false;

	for (struct cell **at = &w->cells; *at;) {
		struct cell *cell = *at, *next = cell->next;

		if (cell->state != CELL_REMOVED) {
			at = &cell->next;
		} else if (cell_reap(w, cell)) {
			*at = next;
		} else {
			busy = true;
			at = &cell->next;
		}
	}
	return busy;
}

static void reap_children(struct warden *w)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		for (struct cell *cell = w->cells; cell; cell = cell->next) {
			if (cell_on_child(w, cell, pid, status, &usage))
				break;
		}
	}
}

static int on_signal(struct warden *w)
{
	struct signalfd_siginfo info;

	if (read(w->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo != SIGCHLD)
		return -EINTR;
	reap_children(w);
	return 0;
}

static bool still_there(const struct warden *w, const void *ptr)
{
	for (const struct cell *cell = w->cells; cell; cell = cell->next) {
		if (cell == ptr)
			return true;
	}
	return false;
}

/* One turn; a negative errno when the warden is to end. */
static int turn(struct warden *w, int timeout_ms)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(w->epoll, events, EVENTS_AT_ONCE, timeout_ms);
	int r = 0;

	if (n < 0 && errno != EINTR) {
		w->doing = "wait for messages";
		return -errno;
	}
	for (int i = 0; i < n && r == 0; i++) {
		void *ptr = events[i].data.ptr;

		if (ptr == &command_mark)
			r = requests_from_command(w);
		else if (ptr == &front_mark)
			r = requests_from_front(w);
		else if (ptr == &signals_mark)
			r = on_signal(w);
		else if (still_there(w, ptr))
			cell_on_sync(w, ptr);
	}
	return r == 0 && w->front_blocked ? -EPIPE : r;
}

static int serve(struct warden *w)
{
	int timeout_ms = -1;
	int r;

	do {
		r = turn(w, timeout_ms);
		timeout_ms = sweep(w) ? BUSY_CGROUP_RETRY_MS : -1;
		warden_refill(w);
		if (watch_is_needed(w)) {
			if (clock_monotonic_ms() >= w->next_look_ms) {
				watch_look(w);
				w->next_look_ms = clock_monotonic_ms() + WATCH_INTERVAL_MS;
			}
			timeout_ms = timeout_ms < 0 ? WATCH_INTERVAL_MS : timeout_ms;
		}
	} while (r == 0);
	return r;
}

/* Kills every cell and waits until nothing is left of them. */
static void drain(struct warden *w)
{
	const struct timespec wait = { .tv_nsec = BUSY_CGROUP_RETRY_MS * 1000000l };
	uint64_t end = clock_monotonic_ms() + DRAIN_MS;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	w->state = WARDEN_DRAINING;
	for (struct cell *cell = w->cells; cell; cell = cell->next)
		cell_destroy(w, cell);
	while (clock_monotonic_ms() < end) {
		reap_children(w);
		(void)sweep(w);
		if (!w->cells)
			return;
		(void)sigtimedwait(&child, NULL, &wait);
	}
}

static int prepare_loop(struct warden *w)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0)
		return -errno;
	w->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (w->signals < 0 || w->epoll < 0)
		return -errno;
	for (int fd = WARDEN_FD_COMMAND; fd <= WARDEN_FD_FRONT; fd++) {
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	}
	if (fd_set_nonblock(WARDEN_FD_COMMAND, true) < 0 ||
	    fd_set_nonblock(WARDEN_FD_FRONT, true) < 0)
		return -errno;
	if (warden_watch(w, WARDEN_FD_COMMAND, &command_mark) < 0)
		return -errno;
	return warden_watch(w, w->signals, &signals_mark);
}

int main(void)
{
	static struct warden w = { .init_exe = -1, .files_exe = -1 };
	int r;

	cgroups_init(&w.cgroups);
	r = sys_landlock_abi();
	w.landlock_abi = r > 0 ? (uint32_t)r : 0;
	r = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : prepare_loop(&w);
	if (r < 0) {
		fprintf(stderr,
			"hotcell-warden: cannot start (%s); it is run by hotcell, not by hand\n",
			strerror(-r));
		return 1;
	}
	umask(022);
	r = serve(&w);
	drain(&w);
	/* The command or the front has gone: that is how the warden is told to end. */
	if (r == -ECONNRESET || r == -EINTR || r == -EPIPE)
		return 0;
	fprintf(stderr, "hotcell-warden: cannot %s: %s\n", w.doing, strerror(-r));
	return 1;
}
