#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "native_world.h"

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
		union { /* as large as the largest that is pretended */
			struct cell_done done;
			struct cell_exit exit;
		} message = { .exit = { .status = 0 } };
		struct world world;

		message.done.header.type = cases[i].type;
		message.done.header.size = cases[i].size;
		message.done.code = cases[i].code;
		print_message("garbage %zu\n", i);
		world_open(&world);
		say_hello(&world);
		ask(&world, CELL_DRIVER);
		create(&world, true);
		say_ready(&world, world.control);
		say_ready(&world, world.driver);
		if (cases[i].running)
			assert_int_equal(run(&world), 0);
		assert_int_equal(wire_send(world.driver, &message, &world.warden, cases[i].with_fd),
				 0);
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
	assert_string_equal(
		world.err.message,
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
		{ WARDEN_GONE, sizeof(struct warden_gone) },       /* of no cell */
		{ WARDEN_FAILED, sizeof(struct warden_failed) },   /* of no cell */
		{ WARDEN_CREATED, sizeof(struct warden_created) }, /* without fds */
		{ WARDEN_CREATE, sizeof(struct warden_create) },   /* the wrong way */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_with_driver), cmocka_unit_test(test_life_without_driver),
		cmocka_unit_test(test_free_early),       cmocka_unit_test(test_driver_garbage),
		cmocka_unit_test(test_init_garbage),     cmocka_unit_test(test_broken_step),
		cmocka_unit_test(test_warden_failed),    cmocka_unit_test(test_warden_garbage),
		cmocka_unit_test(test_warden_dies),
	};

	return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
