#include "backend/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "loop/loop.h"

static struct fake_cell *fake_cell(struct cell *cell)
{
	return (struct fake_cell *)cell;
}

void fake_ready(struct fake_cell *cell)
{
	cell->base.events->ready(&cell->base, cell->base.data);
}

void fake_exit(struct fake_cell *cell, int status)
{
	cell->base.events->exited(&cell->base, status, cell->base.data);
}

void fake_done(struct fake_cell *cell, int code)
{
	cell->base.events->finished(&cell->base, code, cell->base.data);
}

void fake_broken(struct fake_cell *cell, uint32_t step, int errnum)
{
	cell->base.events->broken(&cell->base, step, errnum, cell->base.data);
}

void fake_rogue(struct fake_cell *cell)
{
	cell_kill(&cell->base);
	cell->base.events->rogue(&cell->base, cell->base.data);
}

void fake_gone(struct fake_cell *cell, int status)
{
	cell->gone = true;
	fake_close_fds(cell);
	cell->base.events->gone(&cell->base, status, cell->base.data);
}

void fake_failed(struct fake_cell *cell, const char *message)
{
	struct error err;

	error_set(&err, ERR_UNAVAILABLE, 0, "%s", message);
	cell->base.events->failed(&cell->base, &err, cell->base.data);
}

void fake_write(struct fake_cell *cell, enum run_fd which, const void *data, size_t len)
{
	(void)fd_write_all(cell->fds[which], data, len);
}

void fake_close_fds(struct fake_cell *cell)
{
	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		cell->fds[i] = fd_close(cell->fds[i]);
}

/* --- files ------------------------------------------------------------------------------------ */

static void answer_list(struct fake_backend *fake, const struct fake_request *request)
{
	struct cell_file files[FAKE_FILES_MAX];

	for (size_t i = 0; i < fake->n_files; i++) {
		files[i] = (struct cell_file){
			.path = fake->files[i].path,
			.kind = fake->files[i].kind,
			.mode = 0644,
			.size = fake->files[i].size,
			.mtime_ns = fake->files[i].mtime_ns,
		};
	}
	request->listed(fake->files_errnum, files, fake->files_errnum ? 0 : fake->n_files, 0,
			request->data);
}

static void answer_open(struct fake_backend *fake, const struct fake_request *request)
{
	for (size_t i = 0; i < fake->n_files; i++) {
		const struct fake_file *file = &fake->files[i];

		if (!strcmp(file->path, request->path)) {
			int fd = fd_from_bytes("fake", file->content, strlen(file->content));

			request->opened(0, fd, strlen(file->content), request->data);
			return;
		}
	}
	request->opened(ENOENT, -1, 0, request->data);
}

static void answer_request(struct fake_cell *cell)
{
	struct fake_request request = cell->requests[0];

	cell->n_requests--;
	memmove(cell->requests, cell->requests + 1, cell->n_requests * sizeof(request));
	loop_timer_start(cell->timer, 0, 0);
	if (request.listed)
		answer_list(cell->backend, &request);
	else if (request.opened)
		answer_open(cell->backend, &request);
	else
		request.put(cell->backend->files_errnum, request.data);
}

static void turn(void *data)
{
	struct fake_cell *cell = data;

	if (cell->kills && !cell->gone && !cell->backend->stubborn)
		fake_gone(cell, cell->backend->gone_status);
	else if (cell->n_requests)
		answer_request(cell);
}

static struct fake_request *ask(struct cell *base, const char *path, void *data)
{
	struct fake_cell *cell = fake_cell(base);
	struct fake_request *request = &cell->requests[cell->n_requests++];

	*request = (struct fake_request){ .data = data };
	snprintf(request->path, sizeof(request->path), "%s", path);
	loop_timer_start(cell->timer, 0, 0);
	return request;
}

static void list(struct cell *cell, uint32_t max, cell_listed done, void *data)
{
	(void)max;
	ask(cell, "", data)->listed = done;
}

static void open_file(struct cell *cell, const char *path, cell_opened done, void *data)
{
	ask(cell, path, data)->opened = done;
}

static void put(struct cell *base, const char *path, bool executable, int fd, cell_put_done done,
		void *data)
{
	struct fake_backend *fake = fake_cell(base)->backend;
	struct fake_file *file = &fake->files[fake->n_files++];

	(void)executable;
	*file = (struct fake_file){ .kind = FILES_REGULAR, .mtime_ns = 1 };
	snprintf(file->path, sizeof(file->path), "%s", path);
	if (pread(fd, file->content, sizeof(file->content) - 1, 0) >= 0)
		file->size = strlen(file->content);
	ask(base, path, data)->put = done;
}

/* --- cells ------------------------------------------------------------------------------------ */

static struct cell *new_cell(struct backend *backend, const struct cell_spec *spec,
			     struct error *err)
{
	struct fake_backend *fake = (struct fake_backend *)backend;
	struct fake_cell *cell;

	if (fake->refuse) {
		error_set(err, ERR_UNAVAILABLE, 0, "sandbox unavailable: refused");
		return NULL;
	}
	cell = xcalloc(1, sizeof(*cell));
	cell->backend = fake;
	cell->spec = *spec;
	cell->timer = loop_timer_new(fake->loop, turn, cell);
	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		cell->fds[i] = -1;
	fake->cell = cell;
	fake->created++;
	return &cell->base;
}

static void free_cell(struct cell *base)
{
	struct fake_cell *cell = fake_cell(base);

	if (cell->backend->cell == cell)
		cell->backend->cell = NULL;
	cell->backend->freed++;
	fake_close_fds(cell);
	(void)loop_timer_free(cell->timer);
	free(cell);
}

static int run(struct cell *base, const int fds[RUN_FD_COUNT])
{
	struct fake_cell *cell = fake_cell(base);

	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		cell->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
	cell->runs++;
	return 0;
}

static void kill_cell(struct cell *base)
{
	struct fake_cell *cell = fake_cell(base);

	cell->kills++;
	loop_timer_start(cell->timer, 0, 0);
}

static int freeze(struct cell *cell, bool on)
{
	(void)cell;
	(void)on;
	return -ENOTSUP;
}

static void usage(struct cell *cell, struct cell_usage *ret)
{
	*ret = fake_cell(cell)->backend->usage;
}

static bool workspace_is_empty(struct cell *cell)
{
	return fake_cell(cell)->backend->empty;
}

static void fake_free(struct backend *backend)
{
	free(backend);
}

static const struct backend_ops fake_ops = {
	.name = "fake",
	.free = fake_free,
	.cell_new = new_cell,
	.cell_free = free_cell,
	.run = run,
	.kill = kill_cell,
	.freeze = freeze,
	.usage = usage,
	.workspace_is_empty = workspace_is_empty,
	.list = list,
	.open = open_file,
	.put = put,
};

struct fake_backend *fake_new(struct loop *loop)
{
	struct fake_backend *fake = xcalloc(1, sizeof(*fake));

	fake->base.ops = &fake_ops;
	fake->base.isolation = ISOLATION_FAIR;
	fake->loop = loop;
	fake->empty = true;
	fake->gone_status = SIGKILL;
	return fake;
}
