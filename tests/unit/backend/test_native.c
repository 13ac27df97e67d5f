#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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

static void on_ready(struct cell *cell, void *data)
{
	(void)cell;
	((struct world *)data)->ready++;
}

static void on_exited(struct cell *cell, int status, void *data)
{
	struct world *world = data;

	(void)cell;
	world->exited++;
	world->status = status;
}

static void on_finished(struct cell *cell, int code, void *data)
{
	struct world *world = data;

	(void)cell;
	world->finished++;
	world->code = code;
}

static void on_broken(struct cell *cell, uint32_t step, int errnum, void *data)
{
	struct world *world = data;

	(void)cell;
	world->broken++;
	world->step = step;
	world->errnum = errnum;
}

static void on_rogue(struct cell *cell, void *data)
{
	(void)cell;
	((struct world *)data)->rogue++;
}

static void on_gone(struct cell *cell, int status, void *data)
{
	struct world *world = data;

	(void)cell;
	world->gone++;
	world->status = status;
}

static void on_failed(struct cell *cell, const struct error *err, void *data)
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

static void on_lost(const struct error *err, void *data)
{
	struct world *world = data;

	world->lost++;
	world->err = *err;
}

static void world_open(struct world *world)
{
	int pair[2];

	*world = (struct world){ .control = -1, .driver = -1, .kill = -1 };
	world->loop = loop_new();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	world->warden = pair[1];
	world->backend = native_new(world->loop, pair[0], on_lost, world);
}

static void world_close(struct world *world)
{
	cell_free(world->cell);
	backend_free(world->backend);
	loop_free(world->loop);
	(void)fd_close(world->warden);
	(void)fd_close(world->control);
	(void)fd_close(world->driver);
	(void)fd_close(world->kill);
}

static void say_hello(struct world *world)
{
	WIRE_MESSAGE(warden_hello, hello, WARDEN_HELLO);

	hello.controllers = 1u << CGROUP_MEMORY | 1u << CGROUP_PIDS;
	hello.landlock_abi = 1;
	assert_int_equal(wire_send(world->warden, &hello, NULL, 0), 0);
	loop_step(world->loop);
}

static void ask(struct world *world, uint32_t flags)
{
	struct cell_spec spec = { .flags = flags };
	struct error err;

	world->cell = cell_new(world->backend, &spec, &events, world, &err);
	assert_non_null(world->cell);
}

/* Receives what the backend asked of the warden. */
static uint16_t receive(struct world *world, void *message, size_t size)
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

static void create(struct world *world, bool driver)
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

static void say_ready(struct world *world, int socket)
{
	WIRE_MESSAGE(cell_ready, ready, CELL_READY);

	assert_int_equal(wire_send(socket, &ready, NULL, 0), 0);
	loop_step(world->loop);
}

static int run(struct world *world)
{
	int fds[RUN_FD_COUNT];
	int r;

	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		fds[i] = world->warden; /* any descriptor */
	r = cell_run(world->cell, fds);
	return r;
}

static void say_done(struct world *world, int code)
{
	WIRE_MESSAGE(cell_done, done, CELL_DONE);

	done.code = code;
	assert_int_equal(wire_send(world->driver, &done, NULL, 0), 0);
	loop_step(world->loop);
}

static void say_gone(struct world *world, int status)
{
	WIRE_MESSAGE(warden_gone, gone, WARDEN_GONE);

	gone.cell = 77;
	gone.status = status;
	gone.cpu_us = 1500;
	gone.memory_max_bytes = 4096;
	assert_int_equal(wire_send(world->warden, &gone, NULL, 0), 0);
	loop_step(world->loop);
}

static bool was_killed(const struct world *world)
{
	char byte;

	return read(world->kill, &byte, 1) == 1 && byte == '1';
}

/* Asked for before HELLO: nothing is sent until the warden is there. Then the whole life. */
static void test_life_with_driver(void **state)
{
	struct cell_usage usage;
	struct warden_destroy destroy;
	struct world world;
	char byte;

	(void)state;
	world_open(&world);
	ask(&world, CELL_DRIVER);
	assert_int_equal(recv(world.warden, &byte, 1, MSG_DONTWAIT), -1);
	say_hello(&world);
	assert_int_equal(backend_isolation(world.backend), ISOLATION_STRONG);
	create(&world, true);
	say_ready(&world, world.control);
	assert_int_equal(world.ready, 0);
	say_ready(&world, world.driver);
	assert_int_equal(world.ready, 1);
	assert_int_equal(run(&world), 0);
	assert_int_equal(run(&world), -EPIPE);
	say_done(&world, 3);
	assert_int_equal(world.finished, 1);
	assert_int_equal(world.code, 3);
	assert_false(cell_workspace_is_empty(world.cell));
	cell_kill(world.cell);
	cell_kill(world.cell);
	assert_true(was_killed(&world));
	assert_int_equal(recv(world.control, &byte, 1, 0), 0);
	say_gone(&world, SIGKILL);
	assert_int_equal(world.gone, 1);
	cell_usage(world.cell, &usage);
	assert_int_equal(usage.cpu_us, 1500);
	assert_int_equal(usage.memory_peak_bytes, 4096);
	assert_int_equal(usage.processes_peak, 1);
	assert_false(usage.memory_is_exact);
	cell_free(world.cell);
	world.cell = NULL;
	assert_int_equal(receive(&world, &destroy, sizeof(destroy)), WARDEN_DESTROY);
	assert_int_equal(destroy.cell, 77);
	assert_int_equal(world.lost, 0);
	world_close(&world);
}

/* Without a driver init's READY counts and its EXIT is the program's. */
static void test_life_without_driver(void **state)
{
	WIRE_MESSAGE(cell_exit, gone, CELL_EXIT);
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, 0);
	create(&world, false);
	say_ready(&world, world.control);
	assert_int_equal(world.ready, 1);
	assert_int_equal(run(&world), 0);
	gone.status = 5 << 8;
	assert_int_equal(wire_send(world.control, &gone, NULL, 0), 0);
	loop_step(world.loop);
	assert_int_equal(world.exited, 1);
	assert_int_equal(world.status, 5 << 8);
	assert_int_equal(cell_freeze(world.cell, true), -ENOTSUP);
	/* Freed before it is gone: the warden's GONE still finds somebody. */
	cell_free(world.cell);
	world.cell = NULL;
	assert_int_equal(receive(&world, NULL, 0), WARDEN_DESTROY);
	say_gone(&world, SIGKILL);
	assert_int_equal(world.gone, 0);
	assert_int_equal(world.lost, 0);
	world_close(&world);
}

/* Freed while it is being asked for: destroyed as soon as it is there. */
static void test_free_early(void **state)
{
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, CELL_DRIVER);
	cell_free(world.cell);
	world.cell = NULL;
	create(&world, true);
	assert_int_equal(receive(&world, NULL, 0), WARDEN_DESTROY);
	say_gone(&world, SIGKILL);
	assert_int_equal(world.lost, 0);
	world_close(&world);
}

/* What a driver may not say kills its cell; each row is one thing. */
static void test_driver_garbage(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t size;
		int32_t code;
		bool running;
		bool with_fd;
		int rogue;
	} cases[] = {
		{ CELL_DONE, sizeof(struct cell_done), 0, true, false, 0 },
		{ CELL_DONE, sizeof(struct cell_done), 256, true, false, 1 },
		{ CELL_DONE, sizeof(struct cell_done), -1, true, false, 1 },
		{ CELL_DONE, sizeof(struct cell_done), 0, false, false, 1 },
		{ CELL_DONE, sizeof(struct cell_done), 0, true, true, 1 },
		{ CELL_DONE, sizeof(struct cell_done) - 4, 0, true, false, 1 },
		{ CELL_READY, sizeof(struct cell_ready), 0, true, false, 1 },
		{ CELL_EXIT, sizeof(struct cell_exit), 0, true, false, 1 },
		{ CELL_BROKEN, sizeof(struct cell_broken), 0, true, false, 1 },
		{ CELL_RUN, sizeof(struct cell_run), 0, true, false, 1 },
		{ 0, sizeof(struct wire_header), 0, true, false, 1 },
		{ 999, sizeof(struct wire_header), 0, true, false, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cell_done message = { .header = { .type = cases[i].type, .size = cases[i].size },
					     .code = cases[i].code };
		struct world world;

		print_message("garbage %zu\n", i);
		world_open(&world);
		say_hello(&world);
		ask(&world, CELL_DRIVER);
		create(&world, true);
		say_ready(&world, world.driver);
		if (cases[i].running)
			assert_int_equal(run(&world), 0);
		assert_int_equal(wire_send(world.driver, &message, &world.warden, cases[i].with_fd), 0);
		loop_step(world.loop);
		assert_int_equal(world.rogue, cases[i].rogue);
		assert_int_equal(was_killed(&world), cases[i].rogue);
		assert_int_equal(world.finished, !cases[i].rogue);
		assert_int_equal(world.lost, 0);
		world_close(&world);
	}
}

/* An init that speaks out of turn is a cell that failed, and only that cell. */
static void test_init_garbage(void **state)
{
	WIRE_MESSAGE(cell_done, done, CELL_DONE);
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, 0);
	create(&world, false);
	assert_int_equal(wire_send(world.control, &done, NULL, 0), 0);
	loop_step(world.loop);
	assert_int_equal(world.failed, 1);
	assert_true(was_killed(&world));
	/* Nothing comes after `failed`. */
	say_gone(&world, SIGKILL);
	assert_int_equal(world.gone, 0);
	assert_int_equal(world.lost, 0);
	world_close(&world);
}

static void test_broken_step(void **state)
{
	WIRE_MESSAGE(cell_broken, broken, CELL_BROKEN);
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, 0);
	create(&world, false);
	broken.step = STEP_PROC;
	broken.errnum = EPERM;
	assert_int_equal(wire_send(world.control, &broken, NULL, 0), 0);
	loop_step(world.loop);
	assert_int_equal(world.broken, 1);
	assert_int_equal(world.step, STEP_PROC);
	assert_int_equal(world.errnum, EPERM);
	world_close(&world);
}

static void test_warden_failed(void **state)
{
	WIRE_MESSAGE(warden_failed, failed, WARDEN_FAILED);
	struct warden_create request;
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, 0);
	assert_int_equal(receive(&world, &request, sizeof(request)), WARDEN_CREATE);
	failed.cookie = request.cookie;
	failed.step = STEP_CGROUP;
	failed.errnum = EACCES;
	assert_int_equal(wire_send(world.warden, &failed, NULL, 0), 0);
	loop_step(world.loop);
	assert_int_equal(world.failed, 1);
	assert_int_equal(world.err.code, ERR_UNAVAILABLE);
	assert_string_equal(world.err.message,
			    "sandbox unavailable: cannot make the cell's cgroup: Permission denied");
	world_close(&world);
}

/* A warden that says what it may not is given up, with all its cells. */
static void test_warden_garbage(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t size;
	} cases[] = {
		{ WARDEN_HELLO, sizeof(struct warden_hello) },
		{ WARDEN_GONE, sizeof(struct warden_gone) },	     /* of no cell */
		{ WARDEN_FAILED, sizeof(struct warden_failed) },     /* of no cell */
		{ WARDEN_CREATED, sizeof(struct warden_created) },   /* without fds */
		{ WARDEN_CREATE, sizeof(struct warden_create) },     /* the wrong way */
		{ WARDEN_GONE, sizeof(struct warden_gone) - 8 },
		{ WARDEN_MESSAGE_COUNT, sizeof(struct wire_header) },
	};
	static _Alignas(8) char bytes[WIRE_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_header header = { .type = cases[i].type, .size = cases[i].size };
		struct cell_spec spec = { 0 };
		struct world world;
		struct error err;

		print_message("warden garbage %zu\n", i);
		world_open(&world);
		say_hello(&world);
		ask(&world, 0);
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, &header, sizeof(header));
		assert_int_equal(wire_send(world.warden, bytes, NULL, 0), 0);
		while (!world.lost)
			loop_step(world.loop);
		assert_int_equal(world.failed, 1);
		assert_null(cell_new(world.backend, &spec, &events, &world, &err));
		assert_int_equal(err.code, ERR_UNAVAILABLE);
		world_close(&world);
	}
}

static void test_warden_dies(void **state)
{
	struct world world;

	(void)state;
	world_open(&world);
	say_hello(&world);
	ask(&world, CELL_DRIVER);
	create(&world, true);
	world.warden = fd_close(world.warden);
	while (!world.lost)
		loop_step(world.loop);
	assert_int_equal(world.failed, 1);
	assert_true(was_killed(&world));
	assert_string_equal(world.err.message, "sandbox unavailable: the warden has ended");
	world_close(&world);
}

/* --- files -------------------------------------------------------------------------------------- */

static void on_listed(int errnum, const struct cell_file *files, size_t n_files, uint64_t skipped, void *data)
{
	struct world *world = data;

	(void)skipped;
	world->listed++;
	world->files_errnum = errnum;
	world->n_files = n_files;
	if (n_files)
		snprintf(world->first, sizeof(world->first), "%s", files[0].path);
}

static void on_opened(int errnum, int fd, uint64_t size, void *data)
{
	struct world *world = data;

	(void)size;
	world->opened++;
	world->files_errnum = errnum;
	(void)fd_close(fd);
}

static void on_put(int errnum, void *data)
{
	struct world *world = data;

	world->put++;
	world->files_errnum = errnum;
}

/* Connects a hotcell-files that the test plays; returns its end. */
static int serve_files(struct world *world)
{
	WIRE_MESSAGE(warden_files_ready, ready, WARDEN_FILES_READY);
	int pair[2];

	assert_int_equal(receive(world, NULL, 0), WARDEN_FILES);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ready.cell = 77;
	assert_int_equal(wire_send(world->warden, &ready, &pair[0], 1), 0);
	(void)fd_close(pair[0]);
	loop_step(world->loop);
	return pair[1];
}

static void receive_request(int files, uint16_t type)
{
	_Alignas(8) char buffer[WIRE_MAX_BYTES];
	_cleanup_fds_ struct wire_fds fds;
	struct wire_header header;

	assert_true(wire_recv(files, buffer, sizeof(buffer), &fds) > 0);
	memcpy(&header, buffer, sizeof(header));
	assert_int_equal(header.type, type);
}

static void open_world_with_cell(struct world *world)
{
	world_open(world);
	say_hello(world);
	ask(world, 0);
	create(world, false);
}

static void test_files(void **state)
{
	WIRE_MESSAGE(files_entry, entry, FILES_ENTRY);
	WIRE_MESSAGE(files_end, end, FILES_END);
	WIRE_MESSAGE(files_opened, opened, FILES_OPENED);
	WIRE_MESSAGE(files_done, done, FILES_DONE);
	struct world world;
	int files;

	(void)state;
	open_world_with_cell(&world);
	cell_put(world.cell, "in.txt", false, world.kill, on_put, &world);
	cell_list(world.cell, 10, on_listed, &world);
	cell_open(world.cell, "a/b", on_opened, &world);
	files = serve_files(&world);
	receive_request(files, FILES_PUT);
	assert_int_equal(wire_send(files, &done, NULL, 0), 0);
	while (!world.put)
		loop_step(world.loop);
	receive_request(files, FILES_LIST);
	snprintf(entry.path, sizeof(entry.path), "a/b");
	assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
	assert_int_equal(wire_send(files, &end, NULL, 0), 0);
	while (!world.listed)
		loop_step(world.loop);
	assert_int_equal(world.n_files, 1);
	assert_string_equal(world.first, "a/b");
	receive_request(files, FILES_OPEN);
	assert_int_equal(wire_send(files, &opened, &world.warden, 1), 0);
	while (!world.opened)
		loop_step(world.loop);
	assert_int_equal(world.files_errnum, 0);
	(void)fd_close(files);
	world_close(&world);
}

/* Names are hostile: each of these ends the conversation, and every request is still answered. */
static void test_hostile_entries(void **state)
{
	static const char *const paths[] = { "", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "." };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths) + 3; i++) {
		WIRE_MESSAGE(files_entry, entry, FILES_ENTRY);
		struct world world;
		int files;

		print_message("entry %zu\n", i);
		open_world_with_cell(&world);
		cell_list(world.cell, 1, on_listed, &world);
		cell_open(world.cell, "x", on_opened, &world);
		files = serve_files(&world);
		receive_request(files, FILES_LIST);
		snprintf(entry.path, sizeof(entry.path), "%s", i < ARRAY_SIZE(paths) ? paths[i] : "good");
		if (i == ARRAY_SIZE(paths)) /* no end */
			memset(entry.path, 'a', sizeof(entry.path));
		if (i == ARRAY_SIZE(paths) + 1)
			entry.kind = 99;
		if (i == ARRAY_SIZE(paths) + 2) /* more than asked for */
			assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
		assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
		while (!world.listed || !world.opened)
			loop_step(world.loop);
		assert_int_equal(world.files_errnum, EPROTO);
		/* Later ones too. */
		cell_put(world.cell, "y", true, world.kill, on_put, &world);
		while (!world.put)
			loop_step(world.loop);
		assert_int_equal(world.files_errnum, EPROTO);
		(void)fd_close(files);
		world_close(&world);
	}
}

static void test_files_cannot_start(void **state)
{
	WIRE_MESSAGE(warden_files_ready, ready, WARDEN_FILES_READY);
	struct world world;

	(void)state;
	open_world_with_cell(&world);
	cell_list(world.cell, 1, on_listed, &world);
	ready.cell = 77;
	ready.errnum = EACCES;
	assert_int_equal(wire_send(world.warden, &ready, NULL, 0), 0);
	while (!world.listed)
		loop_step(world.loop);
	assert_int_equal(world.files_errnum, EACCES);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_with_driver),
		cmocka_unit_test(test_life_without_driver),
		cmocka_unit_test(test_free_early),
		cmocka_unit_test(test_driver_garbage),
		cmocka_unit_test(test_init_garbage),
		cmocka_unit_test(test_broken_step),
		cmocka_unit_test(test_warden_failed),
		cmocka_unit_test(test_warden_garbage),
		cmocka_unit_test(test_warden_dies),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_files_cannot_start),
	};

	return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
