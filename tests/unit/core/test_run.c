#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/fake.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "core/core.h"
#include "core/run.h"
#include "languages.h"
#include "loop/loop.h"
#include "wire/bundle.h"

#define EXITED(code) ((code) << 8)

struct world {
	struct loop *loop;
	struct fake_backend *fake;
	struct runtimes *runtimes;
	struct core *core;
	/* what came */
	int done;
	bool failed;
	struct error err;
	struct run_result result; /* pointers only good for the copies below */
	char out[4096], errors[4096], reason[256], note[256], text[64];
	size_t n_files;
	struct {
		char path[64], change[16], sha256[65];
		bool has_fd;
	} files[8];
	size_t n_outputs;
	char seen[4096]; /* by the output callback */
	size_t n_seen;
	struct run *run;
};

static void on_output(struct run *run, int stream, const void *data, size_t len, void *ptr)
{
	struct world *world = ptr;

	(void)run;
	(void)stream;
	len = MIN(len, sizeof(world->seen) - 1 - world->n_seen);
	memcpy(world->seen + world->n_seen, data, len);
	world->n_seen += len;
}

static void keep_stream(char *to, size_t size, const struct run_stream *stream)
{
	snprintf(to, size, "%.*s%.*s", (int)stream->head_len, stream->head, (int)stream->tail_len, stream->tail);
}

static void on_done(struct run *run, const struct run_result *result, const struct error *err, void *ptr)
{
	struct world *world = ptr;

	world->done++;
	run_cancel(run); /* harmless now */
	run_hold_output(run, true);
	if (err) {
		world->failed = true;
		world->err = *err;
		return;
	}
	world->result = *result;
	keep_stream(world->out, sizeof(world->out), &result->out);
	keep_stream(world->errors, sizeof(world->errors), &result->err);
	snprintf(world->reason, sizeof(world->reason), "%s", result->reason ? result->reason : "");
	snprintf(world->note, sizeof(world->note), "%s", result->note ? result->note : "");
	snprintf(world->text, sizeof(world->text), "%s", result->result ? result->result : "");
	world->n_outputs = result->n_outputs;
	world->n_files = result->n_files;
	for (size_t i = 0; i < MIN(result->n_files, ARRAY_SIZE(world->files)); i++) {
		snprintf(world->files[i].path, sizeof(world->files[i].path), "%s", result->files[i].path);
		snprintf(world->files[i].change, sizeof(world->files[i].change), "%s", result->files[i].change);
		snprintf(world->files[i].sha256, sizeof(world->files[i].sha256), "%s", result->files[i].sha256);
		world->files[i].has_fd = result->files[i].fd >= 0;
	}
}

static struct world *world_open(void)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct core_config config;

	core_config_defaults(&config);
	world->loop = loop_new();
	world->fake = fake_new(world->loop);
	world->runtimes = languages_load();
	world->core = core_new(world->loop, &world->fake->base, world->runtimes, &config);
	return world;
}

static void world_close(struct world *world)
{
	core_free(world->core);
	assert_int_equal(world->fake->created, world->fake->freed);
	backend_free(&world->fake->base);
	runtimes_free(world->runtimes);
	loop_free(world->loop);
	free(world);
}

static struct run_request request(const char *language)
{
	return (struct run_request){ .language = language,
				     .code = "code",
				     .code_len = 4,
				     .bundle_fd = -1,
				     .stdin_fd = -1 };
}

static struct fake_cell *submit(struct world *world, const struct run_request *req)
{
	const struct run_callbacks callbacks = { on_output, on_done, world };
	struct error err = { 0 };

	world->run = run_submit(world->core, req, &callbacks, &err);
	if (!world->run)
		fail_msg("%s", err.message);
	assert_int_equal(world->done, 0);
	return world->fake->cell;
}

static struct fake_cell *start(struct world *world, const struct run_request *req)
{
	struct fake_cell *cell = submit(world, req);

	fake_ready(cell);
	assert_int_equal(cell->runs, 1);
	return cell;
}

static void wait_done(struct world *world)
{
	while (!world->done)
		loop_step(world->loop);
	assert_int_equal(world->done, 1);
	/* The run is freed in the next turn, and with it the cell. */
	while (world->fake->freed < world->fake->created)
		loop_step(world->loop);
	assert_int_equal(world->done, 1);
}

/* DONE with an empty workspace is answered at once, from inside the event; the kill comes after. */
static void test_done_fast(void **state)
{
	static const uint8_t record[] = { 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, '4', '2' };
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell = start(world, &req);

	(void)state;
	assert_true(cell->spec.flags & CELL_DRIVER);
	world->fake->usage = (struct cell_usage){ .cpu_us = 5, .memory_peak_bytes = 7, .processes_peak = 2 };
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
	assert_string_equal(world->reason, "The program did not end within its time limit of 50 ms.");
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
	assert_string_equal(world->err.message,
			    "sandbox unavailable: cannot mount /proc in the cell: Operation not permitted");
	/* After RUN, when the worker's own steps fail. */
	world->done = 0;
	fake_broken(start(world, &req), STEP_WORKER_EXEC, ENOENT);
	wait_done(world);
	assert_string_equal(world->err.message,
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
	assert_string_equal(world->err.message, "sandbox unavailable: the driver of driven is faulty");
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
	assert_string_equal(world->reason, "The program wrote to hotcell's own socket and was ended.");
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

static void test_stdin(void **state)
{
	const size_t size = 1 << 20;
	_cleanup_free_ char *text = xmalloc(size);
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;
	char buffer[65536];
	size_t got = 0;
	ssize_t n;

	(void)state;
	/* None given: end of file at once. */
	cell = start(world, &req);
	assert_int_equal(read(cell->fds[RUN_FD_STDIN], buffer, 1), 0);
	fake_done(cell, 0);
	wait_done(world);
	/* More than a pipe holds comes as it is read. */
	world->done = 0;
	memset(text, 's', size);
	req.stdin_data = text;
	req.stdin_len = size;
	cell = start(world, &req);
	assert_int_equal(fd_set_nonblock(cell->fds[RUN_FD_STDIN], true), 0);
	while ((n = read(cell->fds[RUN_FD_STDIN], buffer, sizeof(buffer))) != 0) {
		if (n < 0)
			loop_step(world->loop);
		else
			got += (size_t)n;
	}
	assert_int_equal(got, size);
	fake_done(cell, 0);
	wait_done(world);
	/* A program that does not read it is not in the way. */
	world->done = 0;
	cell = start(world, &req);
	fake_close_fds(cell);
	loop_step(world->loop);
	fake_done(cell, 0);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_EXIT);
	world_close(world);
}

static void test_inputs(void **state)
{
	static const struct run_input inputs[] = {
		{ "keep.txt", "keep", 4, false },
		{ "edit.txt", "edit", 4, false },
		{ "sub/drop.txt", "drop", 4, true },
	};
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	req.files = inputs;
	req.n_files = ARRAY_SIZE(inputs);
	cell = submit(world, &req);
	fake_ready(cell);
	assert_int_equal(cell->runs, 0);
	while (cell->runs == 0)
		loop_step(world->loop);
	assert_int_equal(world->fake->n_files, 3);
	world->fake->files[1].mtime_ns = 99;
	world->fake->files[2] = (struct fake_file){ "new.txt", "n", FILES_REGULAR, 1, 1 };
	fake_done(cell, 0);
	wait_done(world);
	assert_int_equal(world->n_files, 3);
	assert_string_equal(world->files[0].path, "edit.txt");
	assert_string_equal(world->files[0].change, "changed");
	assert_string_equal(world->files[1].path, "new.txt");
	assert_string_equal(world->files[1].change, "created");
	assert_string_equal(world->files[2].path, "sub/drop.txt");
	assert_string_equal(world->files[2].change, "deleted");
	world_close(world);
}

static void test_files_fail(void **state)
{
	static const struct run_input input = { "a", "b", 1, false };
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *cell;

	(void)state;
	/* After the run: the answer comes, with a note. */
	cell = start(world, &req);
	world->fake->empty = false;
	world->fake->files_errnum = EIO;
	fake_done(cell, 0);
	wait_done(world);
	assert_int_equal(world->result.verdict, VERDICT_EXIT);
	assert_string_equal(world->note, "The files of the run could not be listed: Input/output error.");
	/* Before it: nothing is run. */
	world->done = 0;
	req.files = &input;
	req.n_files = 1;
	cell = submit(world, &req);
	fake_ready(cell);
	wait_done(world);
	assert_string_equal(world->err.message, "cannot put a into the workspace: Input/output error");
	world_close(world);
}

/* What is refused is refused at once, with its name, value and range; nothing is made. */
static void test_refused(void **state)
{
	static const struct run_input bad_path = { "../x", "", 0, false };
	static const struct run_input twice[] = { { "x", "", 0, false }, { "x", "", 0, false } };
	static const char *const bad_env[] = { "1A=x" };
	static const char *const no_value[] = { "NAME" };
	static const struct {
		struct run_request req;
		enum error_code code;
		const char *message; /* NULL: any */
	} cases[] = {
		{ { .language = "cobol", .code = "x", .code_len = 1 }, ERR_NOT_FOUND, NULL },
		{ { .language = "", .code = "x", .code_len = 1 }, ERR_INPUT, "language is missing" },
		{ { .language = "driven", .code = "", .code_len = 0 }, ERR_INPUT, "code is empty; give a program to run" },
		{ { .language = "driven", .code = "ab\0c", .code_len = 4 }, ERR_INPUT,
		  "code has a NUL byte at offset 2; it must be text" },
		{ { .language = "driven", .code = "x", .code_len = BUNDLE_CODE_MAX + 1 }, ERR_INPUT,
		  "code has 8388609 bytes; allowed is at most 8388608 (put data into files)" },
		{ { .language = "driven", .code = "x", .code_len = 1, .policy = "none" }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .timeout_ms = 600001 }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .limits = { .memory_bytes = 5 } }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .output_max = RUN_OUTPUT_MAX + 1u }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .files = &bad_path, .n_files = 1 }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .files = twice, .n_files = 2 }, ERR_INPUT,
		  "files has \"x\" twice" },
		{ { .language = "driven", .code = "x", .code_len = 1, .env = bad_env, .n_env = 1 }, ERR_INPUT, NULL },
		{ { .language = "driven", .code = "x", .code_len = 1, .env = no_value, .n_env = 1 }, ERR_INPUT, NULL },
	};
	struct world *world = world_open();
	const struct run_callbacks callbacks = { on_output, on_done, world };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct run_request req = cases[i].req;
		struct error err = { 0 };

		req.bundle_fd = req.stdin_fd = -1;
		assert_null(run_submit(world->core, &req, &callbacks, &err));
		print_message("%s\n", err.message);
		assert_int_equal(err.code, cases[i].code);
		if (cases[i].message)
			assert_string_equal(err.message, cases[i].message);
	}
	world->fake->refuse = true;
	{
		struct run_request req = request("driven");
		struct error err;

		assert_null(run_submit(world->core, &req, &callbacks, &err));
		assert_int_equal(err.code, ERR_UNAVAILABLE);
	}
	assert_int_equal(world->fake->created, 0);
	assert_int_equal(world->done, 0);
	world_close(world);
}

static int make_bundle(const char *code, size_t code_len, const char *const *env, size_t n_env)
{
	const struct bundle bundle = { .code = code, .code_len = code_len, .env = env, .n_env = n_env };
	int fd = bundle_to_fd(&bundle);

	assert_true(fd >= 0);
	return fd;
}

/* A bundle that was made elsewhere is checked like one made here; its fd is taken either way. */
static void test_bundle(void **state)
{
	static const char *const bad_env[] = { "A-B=x" };
	struct world *world = world_open();
	const struct run_callbacks callbacks = { on_output, on_done, world };
	struct run_request req = { .language = "driven", .stdin_fd = -1 };
	struct error err;

	(void)state;
	req.bundle_fd = make_bundle("code", 4, NULL, 0);
	fake_done(start(world, &req), 0);
	wait_done(world);
	assert_int_equal(fcntl(req.bundle_fd, F_GETFD), -1);
	req.bundle_fd = make_bundle("", 0, NULL, 0);
	assert_null(run_submit(world->core, &req, &callbacks, &err));
	assert_string_equal(err.message, "code is empty; give a program to run");
	req.bundle_fd = make_bundle("a\0", 2, NULL, 0);
	assert_null(run_submit(world->core, &req, &callbacks, &err));
	assert_string_equal(err.message, "code has a NUL byte at offset 1; it must be text");
	req.bundle_fd = make_bundle("a", 1, bad_env, 1);
	assert_null(run_submit(world->core, &req, &callbacks, &err));
	assert_non_null(strstr(err.message, "A-B"));
	req.bundle_fd = fd_from_bytes("x", "not a bundle, but long enough", 29);
	assert_null(run_submit(world->core, &req, &callbacks, &err));
	assert_int_equal(fcntl(req.bundle_fd, F_GETFD), -1);
	req.bundle_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_null(run_submit(world->core, &req, &callbacks, &err));
	assert_string_equal(err.message, "the program's bundle is not a sealed memfd");
	world_close(world);
}

/* Several at once; the core is freed while they run, and nobody is called any more. */
static void test_several(void **state)
{
	struct world *world = world_open();
	struct run_request req = request("driven");
	struct fake_cell *first, *second;

	(void)state;
	first = start(world, &req);
	second = start(world, &req);
	fake_write(second, RUN_FD_STDOUT, "second", 6);
	fake_done(second, 0);
	assert_string_equal(world->out, "second");
	assert_int_equal(world->done, 1);
	fake_done(first, 1);
	assert_int_equal(world->done, 2);
	world->done = 0;
	(void)start(world, &req);
	(void)submit(world, &req);
	core_free(world->core);
	world->core = NULL;
	assert_int_equal(world->done, 0);
	world_close(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_done_fast),    cmocka_unit_test(test_done_with_files),
		cmocka_unit_test(test_exit),	     cmocka_unit_test(test_signal_and_memory),
		cmocka_unit_test(test_timeout),	     cmocka_unit_test(test_stubborn),
		cmocka_unit_test(test_cancel),	     cmocka_unit_test(test_broken),
		cmocka_unit_test(test_falls_early),  cmocka_unit_test(test_rogue),
		cmocka_unit_test(test_init_crashed), cmocka_unit_test(test_output_limit),
		cmocka_unit_test(test_hold),	     cmocka_unit_test(test_stdin),
		cmocka_unit_test(test_inputs),	     cmocka_unit_test(test_files_fail),
		cmocka_unit_test(test_refused),	     cmocka_unit_test(test_bundle),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
