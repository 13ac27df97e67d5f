/*
 * A backend without cells, for tests of core: the test plays the cell.
 *
 * Events are sent by calling fake_event_…; what core did is read from struct fake_cell. Everything is
 * public on purpose. A killed cell says `gone` in the next turn unless `stubborn`.
 */
#pragma once

#include "backend/ops.h"

struct loop;
struct loop_timer;

enum { FAKE_FILES_MAX = 64 };

struct fake_file {
	char path[64];
	char content[64];
	uint32_t kind;
	uint64_t size;
	uint64_t mtime_ns;
};

struct fake_backend;

struct fake_cell {
	struct cell base;
	struct fake_backend *backend;
	struct cell_spec spec;
	struct loop_timer *timer;
	int fds[RUN_FD_COUNT]; /* copies of what RUN handed over, -1 before */
	int runs, kills;
	bool gone;
	/* File requests, answered one a turn. */
	struct fake_request {
		cell_listed listed;
		cell_opened opened;
		cell_put_done put;
		char path[64];
		void *data;
	} requests[FAKE_FILES_MAX];
	size_t n_requests;
};

struct fake_backend {
	struct backend base;
	struct loop *loop;
	struct fake_cell *cell; /* the newest, NULL when it was freed */
	size_t created, freed;
	bool refuse;   /* cell_new() fails */
	bool stubborn; /* no `gone` after a kill */
	bool empty;    /* what workspace_is_empty answers */
	int files_errnum;
	int gone_status;
	struct cell_usage usage;
	struct fake_file files[FAKE_FILES_MAX];
	size_t n_files;
};

struct fake_backend *fake_new(struct loop *loop);

/* What a cell tells; from the test, between two turns of the loop. */
void fake_ready(struct fake_cell *cell);
void fake_exit(struct fake_cell *cell, int status);
void fake_done(struct fake_cell *cell, int code);
void fake_broken(struct fake_cell *cell, uint32_t step, int errnum);
void fake_rogue(struct fake_cell *cell);
void fake_gone(struct fake_cell *cell, int status);
void fake_failed(struct fake_cell *cell, const char *message);

/* The program's ends of its pipes. */
void fake_write(struct fake_cell *cell, enum run_fd which, const void *data, size_t len);
void fake_close_fds(struct fake_cell *cell);
