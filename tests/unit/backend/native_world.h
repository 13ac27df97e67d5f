/* A native backend whose warden, init and driver are played by the test. Included after cmocka.h. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native.h"
#include "base/fd.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "wire/warden_messages.h"

/* The test is the warden, the init and the driver of one cell. */
struct world {
	struct loop *loop;
	struct backend *backend;
	struct cell *cell;
	int warden;
	int control, driver, kill; /* our ends */
	/* what the cell told */
	int ready, exited, finished, broken, rogue, gone, failed, lost;
	int status, code, errnum;
	uint32_t step;
	struct error err;
	/* what file requests gave */
	int listed, opened, put;
	int files_errnum;
	size_t n_files;
	char first[64];
};

static inline void on_ready(struct cell *cell, void *data)
{
	(void)cell;
	((struct world *)data)->ready++;
}

static inline void on_exited(struct cell *cell, int status, void *data)
{
	struct world *world = data;

	(void)cell;
	world->exited++;
	world->status = status;
}

static inline void on_finished(struct cell *cell, int code, void *data)
{
	struct world *world = data;

	(void)cell;
	world->finished++;
	world->code = code;
}

static inline void on_broken(struct cell *cell, uint32_t step, int errnum, void *data)
{
	struct world *world = data;

	(void)cell;
	world->broken++;
	world->step = step;
	world->errnum = errnum;
}

static inline void on_rogue(struct cell *cell, void *data)
{
	(void)cell;
	((struct world *)data)->rogue++;
}

static inline void on_gone(struct cell *cell, int status, void *data)
{
	struct world *world = data;

	(void)cell;
	world->gone++;
	world->status = status;
}

static inline void on_failed(struct cell *cell, const struct error *err, void *data)
{
	struct world *world = data;

	(void)cell;
	world->failed++;
	world->err = *err;
}

static const struct cell_events events = {
	.ready = on_ready,
	.exited = on_exited,
	.finished = on_finished,
	.broken = on_broken,
	.rogue = on_rogue,
	.gone = on_gone,
	.failed = on_failed,
};

static inline void on_lost(const struct error *err, void *data)
{
	struct world *world = data;

	world->lost++;
	world->err = *err;
}

static inline void world_open(struct world *world)
{
	int pair[2];

	*world = (struct world){ .control = -1, .driver = -1, .kill = -1 };
	world->loop = loop_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	world->warden = pair[1];
	world->backend = native_new(world->loop, pair[0], on_lost, world);
}

static inline void world_close(struct world *world)
{
	cell_free(world->cell);
	backend_free(world->backend);
	loop_free(world->loop);
	(void)fd_close(world->warden);
	(void)fd_close(world->control);
	(void)fd_close(world->driver);
	(void)fd_close(world->kill);
}

static inline void say_hello(struct world *world)
{
	WIRE_MESSAGE(warden_hello, hello, WARDEN_HELLO);

	hello.controllers = 1u << CGROUP_MEMORY | 1u << CGROUP_PIDS;
	hello.landlock_abi = 1;
	assert_int_equal(wire_send(world->warden, &hello, NULL, 0), 0);
	loop_step(world->loop);
}

static inline void ask(struct world *world, uint32_t flags)
{
	struct cell_spec spec = { .flags = flags };
	struct error err;

	world->cell = cell_new(world->backend, &spec, &events, world, &err);
	assert_non_null(world->cell);
}

/* Receives what the backend asked of the warden. */
static inline uint16_t receive(struct world *world, void *message, size_t size)
{
	_Alignas(8) char buffer[WIRE_MAX_BYTES];
	struct wire_fds fds;
	ssize_t n = wire_recv(world->warden, buffer, sizeof(buffer), &fds);
	struct wire_header header;

	assert_true(n > 0);
	memcpy(&header, buffer, sizeof(header));
	if (message) {
		assert_true((size_t)n >= size);
		memcpy(message, buffer, size);
	}
	return header.type;
}

static inline void create(struct world *world, bool driver)
{
	WIRE_MESSAGE(warden_created, created, WARDEN_CREATED);
	struct warden_create request;
	int control[2], drive[2] = { -1, -1 }, kill_pipe[2];
	int fds[3];
	size_t n = 0;

	assert_int_equal(receive(world, &request, sizeof(request)), WARDEN_CREATE);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, drive), 0);
	assert_int_equal(pipe2(kill_pipe, O_CLOEXEC | O_NONBLOCK), 0);
	created.cookie = request.cookie;
	created.cell = 77;
	created.has = 1u << CELL_FD_CONTROL | 1u << CELL_FD_KILL;
	fds[n++] = control[0];
	if (driver) {
		created.has |= 1u << CELL_FD_DRIVER;
		fds[n++] = drive[0];
	}
	fds[n++] = kill_pipe[1];
	assert_int_equal(wire_send(world->warden, &created, fds, n), 0);
	(void)fd_close(control[0]);
	(void)fd_close(drive[0]);
	(void)fd_close(kill_pipe[1]);
	world->control = control[1];
	world->driver = drive[1];
	world->kill = kill_pipe[0];
	loop_step(world->loop);
}

static inline void say_ready(struct world *world, int socket)
{
	WIRE_MESSAGE(cell_ready, ready, CELL_READY);

	assert_int_equal(wire_send(socket, &ready, NULL, 0), 0);
	loop_step(world->loop);
}

static inline int run(struct world *world)
{
	int fds[RUN_FD_COUNT];
	int r;

	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		fds[i] = world->warden; /* any descriptor */
	r = cell_run(world->cell, fds);
	return r;
}

static inline void say_done(struct world *world, int code)
{
	WIRE_MESSAGE(cell_done, done, CELL_DONE);

	done.code = code;
	assert_int_equal(wire_send(world->driver, &done, NULL, 0), 0);
	loop_step(world->loop);
}

static inline void say_gone(struct world *world, int status)
{
	WIRE_MESSAGE(warden_gone, gone, WARDEN_GONE);

	gone.cell = 77;
	gone.status = status;
	gone.cpu_us = 1500;
	gone.memory_max_bytes = 4096;
	assert_int_equal(wire_send(world->warden, &gone, NULL, 0), 0);
	loop_step(world->loop);
}

static inline bool was_killed(const struct world *world)
{
	char byte;

	return read(world->kill, &byte, 1) == 1 && byte == '1';
}
