/*
 * The one contract of isolation: how core gets cells, whatever they are made of.
 *
 * A cell is asked for with cell_new() and is the caller's until cell_free(), which ends whatever is
 * still in it. Events come from the loop, never from inside a call made here; after cell_free() none
 * come. A cell may be freed from inside an event, but the caller then returns at once.
 *
 * The order after a run: cell_kill(), wait for `gone`, cell_usage(), cell_list() and cell_open(),
 * cell_free(). Usage and files can be read between `gone` and the free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/isolation.h"
#include "base/error.h"
#include "wire/cell_messages.h"
#include "wire/files_messages.h"

struct backend;
struct cell;

struct cell_usage {
	uint64_t cpu_us; /* since cell_run() */
	uint64_t memory_peak_bytes;
	uint64_t processes_peak; /* without init, at least 1 */
	uint64_t oom_kills;
	bool memory_is_exact; /* by the kernel's own peak; false: sampled */
	bool processes_is_exact;
};

/* At most one of each comes. All are required. */
struct cell_events {
	/* cell_run() may be called. */
	void (*ready)(struct cell *cell, void *data);
	/* The program's process ended: the kernel's word, as waitpid gives it. */
	void (*exited)(struct cell *cell, int status, void *data);
	/* A driver says that the run ended by itself; no more than exit(code) would say. */
	void (*finished)(struct cell *cell, int code, void *data);
	/* A step of building failed inside the cell; no user code was started. */
	void (*broken)(struct cell *cell, uint32_t step, int errnum, void *data);
	/* The program said on the driver's socket what no driver says. The cell has been killed. */
	void (*rogue)(struct cell *cell, void *data);
	/* Every process of the cell is dead; status is init's. */
	void (*gone)(struct cell *cell, int status, void *data);
	/* The cell could not be made, or was lost, all of it. Nothing else comes. */
	void (*failed)(struct cell *cell, const struct error *err, void *data);
};

/* One entry of the workspace. */
struct cell_file {
	char *path;
	uint32_t kind; /* enum files_kind */
	uint32_t mode;
	uint64_t size;
	uint64_t mtime_ns;
};

/* Completions; errnum is 0 or a positive errno. Entries are the callee's to read, not to keep. */
typedef void (*cell_listed)(int errnum, const struct cell_file *files, size_t n_files,
			    uint64_t skipped, void *data);
typedef void (*cell_opened)(int errnum, int fd, uint64_t size, void *data); /* takes the fd */
typedef void (*cell_put_done)(int errnum, void *data);

void backend_free(struct backend *backend); /* accepts NULL; every cell must have been freed */
const char *backend_name(const struct backend *backend);
enum isolation_level backend_isolation(const struct backend *backend);

/* NULL with err set when not even asking is possible. The spec is copied. */
struct cell *cell_new(struct backend *backend, const struct cell_spec *spec,
		      const struct cell_events *events, void *data, struct error *err);
void cell_free(struct cell *cell); /* accepts NULL */

/* Hands over program and pipes (enum run_fd); the fds stay the caller's. Once, after `ready`. 0 or a
 * negative errno. */
int cell_run(struct cell *cell, const int fds[RUN_FD_COUNT]);

/* Ends everything in the cell; `gone` follows. Harmless when called again. */
void cell_kill(struct cell *cell);

/* Stops and resumes everything in the cell; 0, or a negative errno (-ENOTSUP: this host cannot). */
int cell_freeze(struct cell *cell, bool on);

void cell_usage(struct cell *cell, struct cell_usage *ret);

/* True on a host without cgroups: what a run has cost is known only once the cell is gone. */
bool cell_usage_is_late(const struct cell *cell);

/* True when surely nothing was made in the workspace since the cell was. */
bool cell_workspace_is_empty(struct cell *cell);

/* Everything below the workspace, at most max entries. Calls are answered in order. */
void cell_list(struct cell *cell, uint32_t max, cell_listed done, void *data);
void cell_open(struct cell *cell, const char *path, cell_opened done, void *data);
/* The bytes of fd (which stays the caller's) become the file path; parents are made. */
void cell_put(struct cell *cell, const char *path, bool executable, int fd, cell_put_done done,
	      void *data);
