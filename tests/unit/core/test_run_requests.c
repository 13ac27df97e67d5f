#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run_world.h"

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
	assert_string_equal(world->note,
			    "The files of the run could not be listed: Input/output error.");
	/* Before it: nothing is run. */
	world->done = 0;
	req.files = &input;
	req.n_files = 1;
	cell = submit(world, &req);
	fake_ready(cell);
	wait_done(world);
	assert_string_equal(world->err.message,
			    "cannot put a into the workspace: Input/output error");
	world_close(world);
}

static const struct run_input bad_path = { "../x", "", 0, false };
static const struct run_input twice[] = { { "x", "", 0, false }, { "x", "", 0, false } };
static const char *const bad_env[] = { "1A=x" };
static const char *const no_value[] = { "NAME" };
static const struct {
	struct run_request req;
	enum error_code code;
	const char *message; /* NULL: any */
} refused[] = {
	{ { .language = "cobol", .code = "x", .code_len = 1 }, ERR_NOT_FOUND, NULL },
	{ { .language = "", .code = "x", .code_len = 1 }, ERR_INPUT, "language is missing" },
	{ { .language = "driven", .code = "", .code_len = 0 },
	  ERR_INPUT,
	  "code is empty; give a program to run" },
	{ { .language = "driven", .code = "ab\0c", .code_len = 4 },
	  ERR_INPUT,
	  "code has a NUL byte at offset 2; it must be text" },
	{ { .language = "driven", .code = "x", .code_len = BUNDLE_CODE_MAX + 1 },
	  ERR_INPUT,
	  "code has 8388609 bytes; allowed is at most 8388608 (put data into files)" },
	{ { .language = "driven", .code = "x", .code_len = 1, .policy = "none" }, ERR_INPUT, NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .timeout_ms = 600001 },
	  ERR_INPUT,
	  NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .limits = { .memory_bytes = 5 } },
	  ERR_INPUT,
	  NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .output_max = RUN_OUTPUT_MAX + 1u },
	  ERR_INPUT,
	  NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .files = &bad_path, .n_files = 1 },
	  ERR_INPUT,
	  NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .files = twice, .n_files = 2 },
	  ERR_INPUT,
	  "files has \"x\" twice" },
	{ { .language = "driven", .code = "x", .code_len = 1, .env = bad_env, .n_env = 1 },
	  ERR_INPUT,
	  NULL },
	{ { .language = "driven", .code = "x", .code_len = 1, .env = no_value, .n_env = 1 },
	  ERR_INPUT,
	  NULL },
};

/* What is refused is refused at once, with its name, value and range; nothing is made. */
static void test_refused(void **state)
{
	struct world *world = world_open();
	const struct run_callbacks callbacks = { on_output, on_done, world };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct run_request req = refused[i].req;
		struct error err = { 0 };

		req.bundle_fd = req.stdin_fd = -1;
		assert_null(run_submit(world->core, &req, &callbacks, &err));
		print_message("%s\n", err.message);
		assert_int_equal(err.code, refused[i].code);
		if (refused[i].message)
			assert_string_equal(err.message, refused[i].message);
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
	const struct bundle bundle = {
		.code = code, .code_len = code_len, .env = env, .n_env = n_env
	};
	int fd = bundle_to_fd(&bundle);

	assert_true(fd >= 0);
	return fd;
}

/* A bundle that was made elsewhere is checked like one made here; its fd is taken either way. */
static void test_bundle(void **state)
{
	static const char *const bad_name[] = { "A-B=x" };
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
	req.bundle_fd = make_bundle("a", 1, bad_name, 1);
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
		cmocka_unit_test(test_stdin),      cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_files_fail), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bundle),     cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests_name("run_requests", tests, NULL, NULL);
}
