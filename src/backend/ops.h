/* What a backend implements; backend.h says what each means. Included by backends only. */
#pragma once

#include "backend/backend.h"

struct backend_ops {
	const char *name;
	void (*free)(struct backend *backend);
	struct cell *(*cell_new)(struct backend *backend, const struct cell_spec *spec,
				 struct error *err);
	void (*cell_free)(struct cell *cell);
	int (*run)(struct cell *cell, const int fds[RUN_FD_COUNT]);
	void (*kill)(struct cell *cell);
	int (*freeze)(struct cell *cell, bool on);
	void (*usage)(struct cell *cell, struct cell_usage *ret);
	bool (*workspace_is_empty)(struct cell *cell);
	void (*list)(struct cell *cell, uint32_t max, cell_listed done, void *data);
	void (*open)(struct cell *cell, const char *path, cell_opened done, void *data);
	void (*put)(struct cell *cell, const char *path, bool executable, int fd,
		    cell_put_done done, void *data);
};

/* First member of every backend's own struct. */
struct backend {
	const struct backend_ops *ops;
	enum isolation_level isolation;
};

/* First member of every backend's own cell. cell_new() of backend.c fills it. */
struct cell {
	struct backend *backend;
	const struct cell_events *events;
	void *data;
	bool usage_is_late; /* see cell_usage_is_late() */
};
