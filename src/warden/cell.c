#include "warden/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "cell_filters.h"
#include "warden/build.h"
#include "warden/kernel.h"
#include "warden/start.h"
#include "warden/warden.h"
#include "wire/cell_messages.h"

int cell_prepare(struct warden *w, struct cell **ret, uint32_t *ret_step)
{
	_cleanup_close_ int sync_child = -1;
	struct cell *cell;
	int pair[2], slot, r;

	*ret_step = STEP_SLOT;
	slot = slots_take(&w->slots);
	if (slot < 0)
		return slot;
	cell = xcalloc(1, sizeof(*cell));
	cell->number = ++w->last_number;
	cell->slot = slot;
	cell->sync = cell->user_ns = cell->workspace = -1;
	*ret_step = STEP_CGROUP;
	r = cgroup_make(&w->cgroups, cell->number, &cell->cgroup);
	if (r < 0) {
		slots_give(&w->slots, slot);
		free(cell);
		return r;
	}
	cell->next = w->cells;
	w->cells = cell;
	*ret_step = STEP_SOCKETS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = -errno;
	} else {
		cell->sync = pair[0];
		sync_child = pair[1];
		r = fd_set_nonblock(cell->sync, true);
		if (r == 0)
			r = warden_watch(w, cell->sync, cell);
	}
	if (r == 0) {
		*ret_step = STEP_CRADLE;
		r = start_cell(w, cell, sync_child, &cell->starter);
	}
	if (r < 0) {
		cell->doomed = true;
		cell_destroy(w, cell);
		return r;
	}
	*ret = cell;
	return 0;
}

static void tell_failed(struct warden *w, struct cell *cell, uint32_t step, int errnum)
{
	WIRE_MESSAGE(warden_failed, failed, WARDEN_FAILED);

	failed.cookie = cell->cookie;
	failed.cell = cell->created ? cell->number : 0;
	failed.step = step;
	failed.errnum = errnum;
	warden_send(w, &failed, NULL, 0);
}

/* The cell cannot be: say it once, then take it away. */
static void cell_fail(struct warden *w, struct cell *cell, uint32_t step, int errnum)
{
	if (cell->wanted) {
		tell_failed(w, cell, step, errnum);
		cell->failed = true;
	} else {
		warden_prepare_failed(w, step);
	}
	cell->doomed = true;
	cell_destroy(w, cell);
}

static int make_workspace(const struct warden *w, const struct cell *cell,
			  const struct cell_limits *limits)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	char size[24], inodes[24], uid[24];
	int fd;

	if (fs < 0)
		return -errno;
	snprintf(size, sizeof(size), "%" PRIu64, limits->workspace_bytes);
	snprintf(inodes, sizeof(inodes), "%" PRIu64, limits->workspace_inodes);
	snprintf(uid, sizeof(uid), "%u",
		 w->settings.uid_mode == UID_SLOTS ? slots_worker_uid(&w->slots, cell->slot) : 0);
	if (sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "uid", uid, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "gid", uid, 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

/* What init must know goes into its socket before anybody else has the other end. */
static int brief_init(const struct warden *w, int control, const struct cell_spec *spec)
{
	const struct cell_filter *filter = &cell_filters[spec->profile];
	static struct cell_filter_message code;
	WIRE_MESSAGE(cell_spec_message, message, CELL_SPEC);
	int r;

	message.spec = *spec;
	message.landlock_abi = w->landlock_abi;
	message.shared_uid = w->settings.uid_mode == UID_SINGLE;
	message.limit_data = !(w->cgroups.controllers & (1u << CGROUP_MEMORY));
	message.limit_processes = !(w->cgroups.controllers & (1u << CGROUP_PIDS));
	r = wire_send(control, &message, NULL, 0);
	if (r < 0)
		return r;
	if (filter->length > CELL_FILTER_MAX)
		return -E2BIG;
	code = (struct cell_filter_message){ .length = filter->length };
	memcpy(code.code, filter->code, filter->length * sizeof(*filter->code));
	code.header.type = CELL_FILTER;
	code.header.size = (uint32_t)(offsetof(struct cell_filter_message, code) +
				      filter->length * sizeof(*filter->code));
	return wire_send(control, &code, NULL, 0);
}

static int open_sockets(const struct cell_spec *spec, int control[2], int driver[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return -errno;
	if ((spec->flags & CELL_DRIVER) &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, driver) < 0)
		return -errno;
	return 0;
}

/* Hands the cell to the front: sockets, and fds to kill, freeze and measure it without the warden. */
static int tell_created(struct warden *w, struct cell *cell, int control, int driver)
{
	int handles[CELL_FD_COUNT], fds[CELL_FD_COUNT];
	WIRE_MESSAGE(warden_created, created, WARDEN_CREATED);
	size_t n = 0;

	for (size_t i = 0; i < CELL_FD_COUNT; i++)
		handles[i] = -1;
	handles[CELL_FD_CONTROL] = control;
	handles[CELL_FD_DRIVER] = driver;
	/* O_PATH: fstatfs works on it, reading a name of the workspace does not. */
	handles[CELL_FD_WORKSPACE] = openat(cell->workspace, ".", O_PATH | O_CLOEXEC);
	cgroup_handles(&w->cgroups, &cell->cgroup, handles);
	created.cookie = cell->cookie;
	created.cell = cell->number;
	for (size_t i = 0; i < CELL_FD_COUNT; i++) {
		if (handles[i] < 0)
			continue;
		created.has |= 1u << i;
		fds[n++] = handles[i];
	}
	warden_send(w, &created, fds, n);
	cell->created = true;
	for (size_t i = CELL_FD_WORKSPACE; i < CELL_FD_COUNT; i++)
		(void)fd_close(handles[i]);
	return 0;
}

static int send_go(struct cell *cell, const struct cell_spec *spec, int control, int driver)
{
	const int fds[] = { cell->workspace, control, driver };
	WIRE_MESSAGE(build_go, go, BUILD_GO);

	go.flags = spec->flags;
	go.trees = spec->trees;
	go.tmp_bytes = spec->limits.tmp_bytes;
	return wire_send(cell->sync, &go, fds, driver >= 0 ? 3 : 2);
}

/* The cell is a waiting process; the request makes it the cell that was asked for. */
static void equip(struct warden *w, struct cell *cell, const struct warden_create *request)
{
	_cleanup_close_ int control_up = -1, control_in = -1, driver_up = -1, driver_in = -1;
	const struct cell_spec *spec = &request->spec;
	int control[2] = { -1, -1 }, driver[2] = { -1, -1 };
	enum cell_step step = STEP_CGROUP_LIMITS;
	int r = cgroup_limit(&w->cgroups, &cell->cgroup, &spec->limits);

	if (r == 0) {
		step = STEP_WORKSPACE;
		cell->workspace = r = make_workspace(w, cell, &spec->limits);
	}
	if (r >= 0) {
		step = STEP_SOCKETS;
		r = open_sockets(spec, control, driver);
	}
	control_up = control[0];
	control_in = control[1];
	driver_up = driver[0];
	driver_in = driver[1];
	if (r == 0)
		r = brief_init(w, control_up, spec);
	if (r == 0)
		r = send_go(cell, spec, control_in, driver_in);
	/* Nobody is there to be told: it has failed, and has said why. */
	if (r == -EPIPE)
		cell_on_sync(w, cell);
	if (r < 0) {
		if (!cell->doomed)
			cell_fail(w, cell, step, -r);
		return;
	}
	cell->state = CELL_BUILDING;
	(void)tell_created(w, cell, control_up, driver_up);
}

void cell_assign(struct warden *w, struct cell *cell, const struct warden_create *request)
{
	cell->wanted = true;
	cell->cookie = request->cookie;
	cell->memory_limit = request->spec.limits.memory_bytes;
	if (cell->state == CELL_SPARE) {
		equip(w, cell, request);
		return;
	}
	cell->request = xmalloc(sizeof(*request));
	*cell->request = *request;
}

static void became_spare(struct warden *w, struct cell *cell)
{
	WIRE_MESSAGE(build_word, mapped, BUILD_MAPPED);
	int r = start_write_maps(w, cell);

	if (r == 0)
		r = wire_send(cell->sync, &mapped, NULL, 0);
	if (r < 0) {
		cell_fail(w, cell, STEP_ID_MAP, -r);
		return;
	}
	cell->state = CELL_SPARE;
	if (cell->request) {
		_cleanup_free_ struct warden_create *request = TAKE_PTR(cell->request);

		equip(w, cell, request);
	}
}

/* Its process ended or executed init: either way this socket has nothing more to say. */
static void sync_closed(struct cell *cell)
{
	cell->sync = fd_close(cell->sync);
	if (cell->state == CELL_BUILDING)
		cell->state = CELL_RUNNING;
}

static void on_build_message(struct warden *w, struct cell *cell, const void *message,
			     struct wire_fds *fds)
{
	static const struct wire_rule rules[BUILD_MESSAGE_COUNT] = {
		[BUILD_PID] = { 1u << CELL_PREPARING, sizeof(struct build_pid), 0, 0, 0 },
		[BUILD_HERE] = { 1u << CELL_PREPARING, sizeof(struct build_word), 0, 1, 1 },
		[BUILD_PREPARED] = { 1u << CELL_SPARE | 1u << CELL_BUILDING,
				     sizeof(struct build_word), 0, 0, 0 },
		[BUILD_FAILED] = { ~0u, sizeof(struct build_failed), 0, 0, 0 },
	};
	const struct wire_header *header = message;

	if (wire_check(rules, BUILD_MESSAGE_COUNT, cell->state, header, fds->n) < 0) {
		cell_fail(w, cell, STEP_SPEC, EPROTO);
		return;
	}
	switch (header->type) {
	case BUILD_PID:
		cell->init = ((const struct build_pid *)message)->pid;
		break;
	case BUILD_HERE:
		cell->user_ns = wire_take_fd(fds, 0);
		cell->here = true;
		break;
	case BUILD_PREPARED:
		warden_greet(w);
		return;
	default: {
		const struct build_failed *failed = message;

		cell_fail(w, cell, failed->step, failed->errnum);
		return;
	}
	}
	if (cell->here && cell->init > 0)
		became_spare(w, cell);
}

void cell_on_sync(struct warden *w, struct cell *cell)
{
	while (cell->sync >= 0 && !cell->doomed) {
		_Alignas(8) char message[256];
		_cleanup_fds_ struct wire_fds fds;
		ssize_t n = wire_recv(cell->sync, message, sizeof(message), &fds);

		if (n == -EAGAIN)
			return;
		if (n == -ECONNRESET)
			continue; /* it ended without reading all; what it said before comes next */
		if (n <= 0) {
			sync_closed(cell);
			return;
		}
		on_build_message(w, cell, message, &fds);
	}
}

static void tell_gone(struct warden *w, struct cell *cell, int status, const struct rusage *usage)
{
	WIRE_MESSAGE(warden_gone, gone, WARDEN_GONE);

	gone.cell = cell->number;
	gone.status = status;
	gone.over_memory = cell->over_memory;
	gone.cpu_us = (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
		      (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
	gone.memory_max_bytes = (uint64_t)usage->ru_maxrss * 1024u;
	warden_send(w, &gone, NULL, 0);
}

bool cell_on_child(struct warden *w, struct cell *cell, pid_t pid, int status,
		   const struct rusage *usage)
{
	if (pid == cell->files) {
		cell->files = 0;
		return true;
	}
	if (pid == cell->starter) {
		cell->starter = 0;
		/* It says why before it exits; without a word it was killed. */
		if (cell->init == 0 && cell->state < CELL_GONE) {
			cell_on_sync(w, cell);
			if (cell->init == 0 && !cell->doomed)
				cell_fail(w, cell, STEP_CRADLE, ECHILD);
		}
		if (cell->doomed)
			cell_destroy(w, cell);
		return true;
	}
	if (pid != cell->init)
		return false;
	/* init's last words, if it never became init. */
	cell_on_sync(w, cell);
	cell->init = 0;
	if (cell->state < CELL_BUILDING && !cell->doomed) {
		cell_fail(w, cell, STEP_CRADLE, ECHILD);
		return true;
	}
	cell->state = CELL_GONE;
	if (cell->created && !cell->failed)
		tell_gone(w, cell, status, usage);
	if (cell->doomed)
		cell_destroy(w, cell);
	return true;
}

void cell_kill(struct warden *w, struct cell *cell)
{
	/* Both pids are our children and not yet reaped, so they cannot be anybody else's. Killing
	 * init kills its whole pid namespace; the cgroup is killed as well, in case. */
	if (cell->starter > 0)
		(void)kill(cell->starter, SIGKILL);
	if (cell->init > 0)
		(void)kill(cell->init, SIGKILL);
	cgroup_kill(&w->cgroups, &cell->cgroup);
}

void cell_destroy(struct warden *w, struct cell *cell)
{
	cell->doomed = true;
	if (cell->files > 0)
		(void)kill(cell->files, SIGKILL);
	cell->sync = fd_close(cell->sync);
	if (cell->init > 0 || cell->starter > 0) {
		cell_kill(w, cell);
		return; /* cell_on_child() comes back here */
	}
	cell->state = CELL_REMOVED;
	cell->user_ns = fd_close(cell->user_ns);
	cell->workspace = fd_close(cell->workspace);
}

int cell_start_files(struct warden *w, struct cell *cell, int *ret_socket)
{
	_cleanup_close_ int up = -1, in = -1;
	int pair[2], r;

	if (cell->user_ns < 0 || cell->workspace < 0 || cell->files > 0)
		return cell->files > 0 ? -EBUSY : -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	up = pair[0];
	in = pair[1];
	r = start_files(w, cell, in, &cell->files);
	if (r < 0)
		return r;
	*ret_socket = TAKE_FD(up);
	return 0;
}

bool cell_reap(struct warden *w, struct cell *cell)
{
	if (cell->state != CELL_REMOVED || cell->files > 0)
		return false;
	if (cgroup_remove(&w->cgroups, &cell->cgroup) < 0)
		return false; /* quarantine: the slot stays taken until the kernel lets go */
	slots_give(&w->slots, cell->slot);
	free(cell->request);
	free(cell);
	return true;
}
