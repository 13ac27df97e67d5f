#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run_world.h"

/* DONE with an empty workspace is answered at once, from inside the event; the kill comes after. */
static void test_done_fast(void **state)
{
	static const uint8_t record[] = { 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, '4', '2' };
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell = start(world, &req);

	(void)state;
	assert_true(cell->spec.flags & CELL_DRIVER);
	world->fake->usage =
		(struct cell_usage){ .cpu_us = 5, .memory_peak_bytes = 7, .processes_peak = 2 };
	fake_write(cell, RUN_FD_STDOUT, "hello\n", 6);
	fake_write(cell, RUN_FD_STDERR, "oops\n", 5);
	fake_write(cell, RUN_FD_OUTPUTS, record, sizeof(record));
	fake_done(cell, 3);
	assert_int_equal(world->done, 1);
	assert_int_equal(cell->kills, 0);
	assert_int_equal(world->result.verdict, VERDICT_EXIT);
	assert_int_equal(world->result.exit_code, 3);
	assert_string_equal(world->out, "hello\n");
	assert_string_equal(world->errors, "oops\n");
	assert_string_equal(world->text, "42");
	assert_int_equal(world->result.usage.cpu_us, 5);
	assert_int_equal(world->result.usage.memory_peak_bytes, 7);
	assert_string_equal(world->result.language, "driven");
	assert_string_equal(world->result.policy, "standard");
	assert_string_equal(world->result.backend, "fake");
	assert_int_equal(world->n_seen, 11);
	wait_done(world);
	world_close(world);
}

/* With files: kill, wait until all is dead, then list, hash, answer. */
static void test_done_with_files(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	req.want_file_fds = true;
	cell = start(world, &req);
	world->fake->empty = false;
	world->fake->n_files = 3;
	world->fake->files[0] = (struct fake_file){ "z", "abc", FILES_REGULAR, 3, 1 };
	world->fake->files[1] = (struct fake_file){ "dir", "", FILES_DIRECTORY, 0, 1 };
	world->fake->files[2] = (struct fake_file){ "a", "", FILES_REGULAR, 0, 1 };
	fake_done(cell, 0);
	assert_int_equal(world->done, 0);
	assert_int_equal(cell->kills, 1);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_EXIT);
	assert_int_equal(world->n_files, 2);
	assert_string_equal(world->files[0].path, "a");
	assert_string_equal(world->files[1].path, "z");
	assert_string_equal(world->files[1].change, "created");
	assert_string_equal(world->files[0].sha256,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_string_equal(world->files[1].sha256,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_true(world->files[1].has_fd);
	world_close(world);
}

/* The kernel's status: the rest is killed, and a held pipe does not delay the answer. */
static void test_exit(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("plain");
	struct fake_cell *cell = start(world, &req);

	(void)state;
	assert_false(cell->spec.flags & CELL_DRIVER);
	assert_string_equal(cell->spec.code_path, "/tmp/main.txt");
	fake_write(cell, RUN_FD_STDOUT, "x", 1);
	fake_exit(cell, EXITED(5));
	assert_int_equal(cell->kills, 1);
	assert_int_equal(world->done, 0);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_EXIT);
	assert_int_equal(world->result.exit_code, 5);
	assert_string_equal(world->out, "x");
	world_close(world);
}

static void test_signal_and_memory(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("plain");

	(void)state;
	fake_exit(start(world, &req), SIGSEGV);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_SIGNAL);
	assert_int_equal(world->result.exit_code, 139);
	world->done = 0;
	world->fake->usage.oom_kills = 1;
	fake_exit(start(world, &req), SIGKILL);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_MEMORY);
	assert_int_equal(world->result.limit, 512u << 20);
	/* The whole cell, init too. */
	world->done = 0;
	fake_gone(start(world, &req), SIGKILL);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_MEMORY);
	world_close(world);
}

static void test_timeout(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	uint64_t begin = clock_monotonic_ms();
	struct fake_cell *cell;

	(void)state;
	req.timeout_ms = 50;
	cell = start(world, &req);
	fake_write(cell, RUN_FD_STDOUT, "partial", 7);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_TIMEOUT);
	assert_int_equal(world->result.exit_code, 124);
	assert_int_equal(world->result.limit, 50);
	assert_string_equal(world->out, "partial");
	assert_string_equal(world->reason,
			    "The program did not end within its time limit of 50 ms.");
	assert_true(clock_monotonic_ms() - begin >= 50);
	assert_true(world->result.usage.wall_us >= 50000);
	world_close(world);
}

/* A cell that does not die is answered for all the same. */
static void test_stubborn(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	uint64_t begin = clock_monotonic_ms();

	(void)state;
	req.timeout_ms = 1;
	world->fake->stubborn = true;
	(void)start(world, &req);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_TIMEOUT);
	assert_non_null(strstr(world->note, "did not end"));
	assert_true(clock_monotonic_ms() - begin < 4000);
	world_close(world);
}

static void test_cancel(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	/* While it runs. */
	cell = start(world, &req);
	fake_write(cell, RUN_FD_STDERR, "so far", 6);
	run_cancel(world->run);
	run_cancel(world->run);
	assert_int_equal(world->done, 0);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_CANCELLED);
	assert_string_equal(world->errors, "so far");
	/* Before it runs: no program was started. */
	world->done = 0;
	cell = submit(world, &req);
	run_cancel(world->run);
	assert_int_equal(world->done, 0);
	fake_ready(cell); /* too late */
	assert_int_equal(cell->runs, 0);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_CANCELLED);
	assert_int_equal(world->result.usage.wall_us, 0);
	world_close(world);
}

static void test_broken(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("plain");

	(void)state;
	fake_broken(submit(world, &req), STEP_PROC, EPERM);
	wait_done(world);
	assert_true(world->failed);
	assert_int_equal(world->err.code, ERR_UNAVAILABLE);
	assert_string_equal(
		world->err.message,
		"sandbox unavailable: cannot mount /proc in the cell: Operation not permitted");
	/* After RUN, when the worker's own steps fail. */
	world->done = 0;
	fake_broken(start(world, &req), STEP_WORKER_EXEC, ENOENT);
	wait_done(world);
	assert_string_equal(
		world->err.message,
		"sandbox unavailable: cannot start the program: No such file or directory");
	world_close(world);
}

static void test_falls_early(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");

	(void)state;
	fake_exit(submit(world, &req), EXITED(1));
	wait_done(world);
	assert_string_equal(world->err.message,
			    "sandbox unavailable: driven ended with status 1 before it was ready");
	world->done = 0;
	world->fake->usage.oom_kills = 1;
	fake_gone(submit(world, &req), SIGKILL);
	wait_done(world);
	assert_int_equal(world->err.code, ERR_LIMIT);
	world->done = 0;
	fake_failed(submit(world, &req), "no warden");
	wait_done(world);
	assert_string_equal(world->err.message, "no warden");
	world->done = 0;
	fake_rogue(submit(world, &req));
	wait_done(world);
	assert_string_equal(world->err.message,
			    "sandbox unavailable: the driver of driven is faulty");
	world_close(world);
}

static void test_rogue(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");

	(void)state;
	fake_rogue(start(world, &req));
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_SIGNAL);
	assert_int_equal(world->result.signal, SIGKILL);
	assert_string_equal(world->reason,
			    "The program wrote to hotcell's own socket and was ended.");
	world_close(world);
}

/* init ended without a word: that is our failure, not the program's. */
static void test_init_crashed(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");

	(void)state;
	fake_gone(start(world, &req), SIGSEGV);
	wait_done(world);
	assert_true(world->failed);
	assert_int_equal(world->err.code, ERR_SYSTEM);
	world_close(world);
}

static void test_output_limit(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	req.output_max = 10;
	cell = start(world, &req);
	fake_write(cell, RUN_FD_STDOUT, "12345", 5);
	fake_write(cell, RUN_FD_STDERR, "67890", 5);
	loop_step(world->loop);
	assert_int_equal(cell->kills, 0); /* exactly at the limit */
	fake_write(cell, RUN_FD_STDERR, "x", 1);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_OUTPUT);
	assert_int_equal(world->result.limit, 10);
	assert_string_equal(world->out, "12345");
	assert_string_equal(world->errors, "67890x");
	world_close(world);
}

static void stop(void *loop)
{
	loop_stop(loop);
}

static void test_hold(void **state)
{
	struct loop_timer *timer;
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	req.timeout_ms = 100;
	cell = submit(world, &req);
	run_hold_output(world->run, true);
	fake_ready(cell);
	fake_write(cell, RUN_FD_STDOUT, "late", 4);
	timer = loop_timer_new(world->loop, stop, world->loop);
	loop_timer_start(timer, 30, 0);
	loop_run(world->loop);
	assert_null(loop_timer_free(timer));
	assert_int_equal(world->n_seen, 0); /* held until the time limit */
	wait_done(world);
	assert_int_equal(world->n_seen, 4);
	assert_string_equal(world->out, "late");
	world_close(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_done_fast),    cmocka_unit_test(test_done_with_files),
		cmocka_unit_test(test_exit),         cmocka_unit_test(test_signal_and_memory),
		cmocka_unit_test(test_timeout),      cmocka_unit_test(test_stubborn),
		cmocka_unit_test(test_cancel),       cmocka_unit_test(test_broken),
		cmocka_unit_test(test_falls_early),  cmocka_unit_test(test_rogue),
		cmocka_unit_test(test_init_crashed), cmocka_unit_test(test_output_limit),
		cmocka_unit_test(test_hold),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
