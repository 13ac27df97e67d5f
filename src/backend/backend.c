#include "backend/backend.h"

#include "backend/ops.h"

void backend_free(struct backend *backend)
{
	if (backend)
		backend->ops->free(backend);
}

const char *backend_name(const struct backend *backend)
{
	return backend->ops->name;
}

enum isolation_level backend_isolation(const struct backend *backend)
{
	return backend->isolation;
}

struct cell *cell_new(struct backend *backend, const struct cell_spec *spec,
		      const struct cell_events *events, void *data, struct error *err)
{
	struct cell *cell = backend->ops->cell_new(backend, spec, err);

	if (!cell)
		return NULL;
	cell->backend = backend;
	cell->events = events;
	cell->data = data;
	return cell;
}

void cell_free(struct cell *cell)
{
	if (cell)
		cell->backend->ops->cell_free(cell);
}

int cell_run(struct cell *cell, const int fds[RUN_FD_COUNT])
{
	return cell->backend->ops->run(cell, fds);
}

void cell_kill(struct cell *cell)
{
	cell->backend->ops->kill(cell);
}

int cell_freeze(struct cell *cell, bool on)
{
	return cell->backend->ops->freeze(cell, on);
}

void cell_usage(struct cell *cell, struct cell_usage *ret)
{
	*ret = (struct cell_usage){ 0 };
	cell->backend->ops->usage(cell, ret);
}

bool cell_usage_is_late(const struct cell *cell)
{
	return cell->usage_is_late;
}

bool cell_workspace_is_empty(struct cell *cell)
{
	return cell->backend->ops->workspace_is_empty(cell);
}

void cell_list(struct cell *cell, uint32_t max, cell_listed done, void *data)
{
	cell->backend->ops->list(cell, max, done, data);
}

void cell_open(struct cell *cell, const char *path, cell_opened done, void *data)
{
	cell->backend->ops->open(cell, path, done, data);
}

void cell_put(struct cell *cell, const char *path, bool executable, int fd, cell_put_done done,
	      void *data)
{
	cell->backend->ops->put(cell, path, executable, fd, done, data);
}
