#include "backend/native.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/file_server.h"
#include "backend/native_cell.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "loop/port.h"
#include "wire/warden_messages.h"

/* Requests that may wait for the warden: a CREATE is 8 KiB, so this is a queue of 500 cells. */
enum { QUEUE_MAX = 4 << 20 };

enum native_state { WAITS_FOR_HELLO, SERVING, LOST };

struct native {
	struct backend base;
	struct loop *loop;
	struct port *warden;
	enum native_state state;
	struct native_cell *cells;
	uint64_t cookie;
	struct loop_timer *lost_timer;
	struct error lost_err;
	void (*lost)(const struct error *err, void *data);
	void *data;
};

#define IN(state) (1u << (state))

static const struct wire_rule rules[WARDEN_MESSAGE_COUNT] = {
	[WARDEN_HELLO] = { IN(WAITS_FOR_HELLO), sizeof(struct warden_hello), 0, 0, 0 },
	[WARDEN_CREATED] = { IN(SERVING), sizeof(struct warden_created), 0, 1, CELL_FD_COUNT },
	[WARDEN_FAILED] = { IN(SERVING), sizeof(struct warden_failed), 0, 0, 0 },
	[WARDEN_GONE] = { IN(SERVING), sizeof(struct warden_gone), 0, 0, 0 },
	[WARDEN_FILES_READY] = { IN(SERVING), sizeof(struct warden_files_ready), 0, 0, 1 },
};

union warden_in {
	struct wire_header header;
	struct warden_hello hello;
	struct warden_created created;
	struct warden_failed failed;
	struct warden_gone gone;
	struct warden_files_ready files_ready;
};

static struct native_cell *by_cookie(struct native *native, uint64_t cookie)
{
	struct native_cell *cell = native->cells;

	while (cell && cell->cookie != cookie)
		cell = cell->next;
	return cell;
}

static struct native_cell *by_id(struct native *native, uint64_t id)
{
	struct native_cell *cell = native->cells;

	while (cell && (cell->id != id || id == 0))
		cell = cell->next;
	return cell;
}

static void discard(struct native_cell *cell)
{
	native_cell_close(cell);
	free(cell->create);
	free(cell);
}

static void forget(struct native_cell *cell)
{
	struct native_cell **at = &cell->native->cells;

	while (*at != cell)
		at = &(*at)->next;
	*at = cell->next;
	discard(cell);
}

static int send_destroy(struct native_cell *cell)
{
	WIRE_MESSAGE(warden_destroy, destroy, WARDEN_DESTROY);

	destroy.cell = cell->id;
	return port_send(cell->native->warden, &destroy, sizeof(destroy), NULL, 0);
}

/* --- the warden is lost ----------------------------------------------------------------------- */

/* From the loop, one cell a turn: a `failed` may free any cell. */
static void tell_lost(void *data)
{
	struct native *native = data;

	for (struct native_cell *cell = native->cells; cell; cell = cell->next) {
		if (cell->orphan) {
			loop_timer_start(native->lost_timer, 0, 0);
			forget(cell);
			return;
		}
		if (!cell->gone && !cell->failed) {
			cell->gone = true;
			loop_timer_start(native->lost_timer, 0, 0);
			cell->base.events->failed(&cell->base, &native->lost_err, cell->base.data);
			return;
		}
	}
	if (native->lost)
		native->lost(&native->lost_err, native->data);
}

static void lose(struct native *native, const char *why)
{
	native->state = LOST;
	native->warden = port_free(native->warden);
	error_set(&native->lost_err, ERR_UNAVAILABLE, 0, "sandbox unavailable: %s", why);
	for (struct native_cell *cell = native->cells; cell; cell = cell->next)
		native_cell_kill(&cell->base);
	loop_timer_start(native->lost_timer, 0, 0);
}

/* --- what the warden says --------------------------------------------------------------------- */

static int send_create(struct native_cell *cell)
{
	_cleanup_free_ struct warden_create *create = TAKE_PTR(cell->create);

	return port_send(cell->native->warden, create, sizeof(*create), NULL, 0);
}

/* The cells asked for so far, oldest first: the list has the newest at its head. */
static int send_creates(struct native *native)
{
	for (;;) {
		struct native_cell *oldest = NULL;
		int r;

		for (struct native_cell *cell = native->cells; cell; cell = cell->next)
			if (cell->create)
				oldest = cell;
		if (!oldest)
			return 0;
		r = send_create(oldest);
		if (r < 0)
			return r;
	}
}

static int on_hello(struct native *native, const struct warden_hello *hello)
{
	const struct isolation_facts facts = {
		.own_uids = hello->uid_mode == UID_SLOTS,
		.memory_limit = hello->controllers & (1u << CGROUP_MEMORY),
		.processes_limit = hello->controllers & (1u << CGROUP_PIDS),
		.landlock = hello->landlock_abi > 0,
		.own_overlay = !hello->bind_trees,
	};

	if (hello->uid_mode > UID_SINGLE || hello->cgroup_kind >= CGROUP_KIND_COUNT)
		return -EPROTO;
	native->base.isolation = isolation_rate(&facts);
	native->state = SERVING;
	return send_creates(native);
}

static int on_created(struct native *native, const struct warden_created *created,
		      struct wire_fds *fds)
{
	struct native_cell *cell = by_cookie(native, created->cookie);

	if (!cell || cell->id || created->cell == 0 || by_id(native, created->cell))
		return -EPROTO;
	cell->id = created->cell;
	/* Its owner did not wait: the fds are closed by our caller. */
	if (cell->orphan)
		return send_destroy(cell);
	return native_cell_created(cell, created->has, fds);
}

static int on_failed(struct native *native, const struct warden_failed *failed)
{
	struct native_cell *cell = by_cookie(native, failed->cookie);
	struct error err;

	if (!cell || cell->id != failed->cell || cell->gone)
		return -EPROTO;
	if (cell->orphan) {
		forget(cell);
		return 0;
	}
	/* There is nothing left to destroy. */
	cell->id = 0;
	cell->gone = true;
	native_cell_kill(&cell->base);
	error_set(&err, failed->step == STEP_SLOT ? ERR_BUSY : ERR_UNAVAILABLE, failed->errnum,
		  "sandbox unavailable: cannot %s", cell_step_text(failed->step));
	cell->base.events->failed(&cell->base, &err, cell->base.data);
	return 0;
}

static int on_gone(struct native *native, const struct warden_gone *gone)
{
	struct native_cell *cell = by_id(native, gone->cell);

	if (!cell || cell->gone)
		return -EPROTO;
	native_cell_drain_control(cell);
	if (cell->orphan) {
		forget(cell);
		return 0;
	}
	cell->gone = true;
	cell->gone_cpu_us = gone->cpu_us;
	cell->gone_memory_bytes = gone->memory_max_bytes;
	cell->gone_over_memory = gone->over_memory != 0;
	if (!cell->failed)
		cell->base.events->gone(&cell->base, gone->status, cell->base.data);
	return 0;
}

static int on_files_ready(struct native *native, const struct warden_files_ready *ready,
			  struct wire_fds *fds)
{
	struct native_cell *cell = by_id(native, ready->cell);

	if ((ready->errnum == 0) != (fds->n == 1))
		return -EPROTO;
	/* May cross a DESTROY; the fd is closed by our caller. */
	if (!cell || cell->orphan)
		return 0;
	if (!cell->files)
		return -EPROTO;
	if (ready->errnum)
		file_server_fail(cell->files, ready->errnum);
	else
		file_server_connect(cell->files, wire_take_fd(fds, 0));
	return 0;
}

static int dispatch(struct native *native, const union warden_in *in, struct wire_fds *fds)
{
	switch (in->header.type) {
	case WARDEN_HELLO:
		return on_hello(native, &in->hello);
	case WARDEN_CREATED:
		return on_created(native, &in->created, fds);
	case WARDEN_FAILED:
		return on_failed(native, &in->failed);
	case WARDEN_GONE:
		return on_gone(native, &in->gone);
	case WARDEN_FILES_READY:
		return on_files_ready(native, &in->files_ready, fds);
	default:
		return -EPROTO;
	}
}

static void readable(void *data)
{
	struct native *native = data;
	union warden_in in;
	_cleanup_fds_ struct wire_fds fds;
	ssize_t n = wire_recv(port_socket(native->warden), &in, sizeof(in), &fds);

	if (n == -EAGAIN)
		return;
	if (n == 0)
		lose(native, "the warden has ended");
	else if (n < 0 ||
		 wire_check(rules, WARDEN_MESSAGE_COUNT, native->state, &in.header, fds.n) < 0 ||
		 dispatch(native, &in, &fds) < 0)
		lose(native, "the warden said something unexpected");
}

/* --- the contract ----------------------------------------------------------------------------- */

static struct cell *new_cell(struct backend *backend, const struct cell_spec *spec,
			     struct error *err)
{
	struct native *native = (struct native *)backend;
	struct native_cell *cell;
	int r = 0;

	if (native->state == LOST) {
		*err = native->lost_err;
		return NULL;
	}
	cell = xcalloc(1, sizeof(*cell));
	for (size_t i = 0; i < CELL_FD_COUNT; i++)
		cell->fds[i] = -1;
	cell->native = native;
	cell->loop = native->loop;
	cell->cookie = ++native->cookie;
	cell->driver = spec->flags & CELL_DRIVER;
	cell->next = native->cells;
	native->cells = cell;
	cell->create = xcalloc(1, sizeof(*cell->create));
	cell->create->header = (struct wire_header){ .type = WARDEN_CREATE,
						     .size = sizeof(*cell->create) };
	cell->create->cookie = cell->cookie;
	cell->create->spec = *spec;
	if (native->state == SERVING)
		r = send_create(cell);
	if (r < 0) {
		error_set(err, r == -ENOBUFS ? ERR_BUSY : ERR_UNAVAILABLE, -r,
			  "sandbox unavailable: cannot ask the warden for a cell");
		forget(cell);
		return NULL;
	}
	return &cell->base;
}

/* The struct stays until the warden has told the end of the cell, so that its last message still finds
 * somebody it is about. */
static void free_cell(struct cell *base)
{
	struct native_cell *cell = (struct native_cell *)base;

	native_cell_kill(base);
	native_cell_close(cell);
	if (cell->native->state == LOST) {
		forget(cell);
		return;
	}
	if (cell->id)
		(void)send_destroy(cell);
	if (cell->gone || cell->create)
		forget(cell); /* the warden has said its last word on it, or never heard of it */
	else
		cell->orphan = true;
}

/* The cell's hotcell-files, asked for on first use. */
static struct file_server *file_server_of(struct cell *base)
{
	struct native_cell *cell = (struct native_cell *)base;
	WIRE_MESSAGE(warden_files, files, WARDEN_FILES);

	if (cell->files)
		return cell->files;
	cell->files = file_server_new(cell->loop);
	files.cell = cell->id;
	if (cell->id == 0 || cell->native->state == LOST ||
	    port_send(cell->native->warden, &files, sizeof(files), NULL, 0) < 0)
		file_server_fail(cell->files, EPIPE);
	return cell->files;
}

static void list(struct cell *cell, uint32_t max, cell_listed done, void *data)
{
	file_server_list(file_server_of(cell), max, done, data);
}

static void open_file(struct cell *cell, const char *path, cell_opened done, void *data)
{
	file_server_open(file_server_of(cell), path, done, data);
}

static void put(struct cell *cell, const char *path, bool executable, int fd, cell_put_done done,
		void *data)
{
	file_server_put(file_server_of(cell), path, executable, fd, done, data);
}

static void native_free(struct backend *backend)
{
	struct native *native = (struct native *)backend;

	while (native->cells) {
		struct native_cell *cell = native->cells;

		native->cells = cell->next;
		discard(cell);
	}
	native->warden = port_free(native->warden);
	native->lost_timer = loop_timer_free(native->lost_timer);
	free(native);
}

static const struct backend_ops native_ops = {
	.name = "native",
	.free = native_free,
	.cell_new = new_cell,
	.cell_free = free_cell,
	.run = native_cell_run,
	.kill = native_cell_kill,
	.freeze = native_cell_freeze,
	.usage = native_cell_usage,
	.workspace_is_empty = native_cell_workspace_is_empty,
	.list = list,
	.open = open_file,
	.put = put,
};

struct backend *native_new(struct loop *loop, int socket,
			   void (*lost)(const struct error *err, void *data), void *data)
{
	struct native *native = xcalloc(1, sizeof(*native));
	const struct port_config config = {
		.send = wire_send,
		.readable = readable,
		.data = native,
		.queue_max = QUEUE_MAX,
	};

	native->base.ops = &native_ops;
	native->base.isolation = ISOLATION_WEAK;
	native->loop = loop;
	native->lost = lost;
	native->data = data;
	native->lost_timer = loop_timer_new(loop, tell_lost, native);
	native->warden = port_new(loop, socket, &config);
	if (!native->warden)
		lose(native, "the warden's socket cannot be used");
	return &native->base;
}
