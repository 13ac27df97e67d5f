#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../core/languages.h"
#include "backend/fake.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "core/core.h"
#include "core/run.h"
#include "loop/loop.h"
#include "transport/order.h"
#include "transport/result_json.h"
#include "wire/bundle.h"
#include "wire/order_messages.h"

/* The test is the command. */
struct world {
	struct loop *loop;
	struct fake_backend *fake;
	struct runtimes *runtimes;
	struct core *core;
	struct order *order;
	int socket;
	int ended;
};

union in {
	struct wire_header header;
	struct order_output output;
	struct order_file file;
	struct order_result result;
	struct order_error error;
};

static void on_ended(void *data)
{
	((struct world *)data)->ended++;
}

static void world_open(struct world *world)
{
	struct core_config config;
	int pair[2];

	*world = (struct world){ 0 };
	core_config_defaults(&config);
	world->loop = loop_new();
	world->fake = fake_new(world->loop);
	world->runtimes = languages_load();
	world->core = core_new(world->loop, &world->fake->base, world->runtimes, &config);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fd_set_nonblock(pair[1], true), 0);
	world->socket = pair[1];
	world->order = order_new(world->loop, world->core, pair[0], on_ended, world);
}

static void world_close(struct world *world)
{
	order_free(world->order);
	core_free(world->core);
	assert_int_equal(world->fake->created, world->fake->freed);
	backend_free(&world->fake->base);
	runtimes_free(world->runtimes);
	loop_free(world->loop);
	(void)fd_close(world->socket);
}

static void send_run(struct world *world, const char *language, uint32_t flags)
{
	const struct bundle bundle = { .code = "code", .code_len = 4 };
	WIRE_MESSAGE(order_run, run, ORDER_RUN);
	int fds[2] = { bundle_to_fd(&bundle), open("/dev/null", O_RDONLY | O_CLOEXEC) };

	run.flags = flags;
	snprintf(run.language, sizeof(run.language), "%s", language);
	assert_int_equal(wire_send(world->socket, &run, fds, 2), 0);
	(void)fd_close(fds[0]);
	(void)fd_close(fds[1]);
	loop_step(world->loop);
}

/* The next message, waited for. */
static uint16_t next(struct world *world, union in *in, struct wire_fds *fds)
{
	for (;;) {
		ssize_t n = wire_recv(world->socket, in, sizeof(*in), fds);

		if (n == -EAGAIN) {
			loop_step(world->loop);
			continue;
		}
		assert_true(n > 0);
		return in->header.type;
	}
}

static json_t *read_json(int fd)
{
	struct buf text;
	json_t *value;

	buf_init(&text, 64 << 20);
	assert_int_equal(fd_read_all(fd, &text), 0);
	value = json_loadb(buf_string(&text), text.len, JSON_ALLOW_NUL, NULL);
	assert_non_null(value);
	buf_done(&text);
	return value;
}

static void test_run(void **state)
{
	struct fake_cell *cell;
	struct world world;
	struct wire_fds fds;
	json_t *json;
	union in in;

	(void)state;
	world_open(&world);
	send_run(&world, "driven", 0);
	cell = world.fake->cell;
	fake_ready(cell);
	fake_write(cell, RUN_FD_STDOUT, "hello\n", 6);
	assert_int_equal(next(&world, &in, &fds), ORDER_OUTPUT);
	assert_int_equal(in.output.stream, 1);
	assert_int_equal(in.header.size, offsetof(struct order_output, bytes) + 6);
	fake_write(cell, RUN_FD_STDERR, "\xff", 1);
	fake_done(cell, 4);
	assert_int_equal(next(&world, &in, &fds), ORDER_OUTPUT);
	assert_int_equal(in.output.stream, 2);
	assert_int_equal(next(&world, &in, &fds), ORDER_RESULT);
	assert_int_equal(in.result.verdict, VERDICT_EXIT);
	assert_int_equal(in.result.exit_code, 4);
	assert_int_equal(fds.n, 1);
	json = read_json(fds.fd[0]);
	wire_close_fds(&fds);
	assert_string_equal(json_string_value(json_object_get(json, "stdout")), "hello\n");
	assert_string_equal(json_string_value(json_object_get(json, "stderr")), "\xef\xbf\xbd");
	assert_int_equal(json_integer_value(json_object_get(json, "exitCode")), 4);
	assert_string_equal(json_string_value(json_object_get(json, "verdict")), "exit");
	assert_null(json_object_get(json, "signal"));
	assert_null(json_object_get(json, "reason"));
	assert_false(
		json_boolean_value(json_object_get(json_object_get(json, "truncated"), "stdout")));
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "isolation"), "level")),
		"fair");
	assert_string_equal(json_string_value(json_object_get(json, "pool")), "miss");
	json_decref(json);
	/* The next order, on the same socket. */
	send_run(&world, "no-such", 0);
	assert_int_equal(next(&world, &in, &fds), ORDER_ERROR);
	assert_int_equal(in.error.code, ERR_NOT_FOUND);
	world.socket = fd_close(world.socket);
	while (!world.ended)
		loop_step(world.loop);
	world_close(&world);
}

static void test_files(void **state)
{
	struct fake_cell *cell;
	struct world world;
	struct wire_fds fds;
	union in in;
	char text[8];

	(void)state;
	world_open(&world);
	send_run(&world, "driven", ORDER_WANT_FILES);
	cell = world.fake->cell;
	fake_ready(cell);
	world.fake->empty = false;
	world.fake->n_files = 1;
	world.fake->files[0] = (struct fake_file){ "d/a", "abc", FILES_REGULAR, 3, 1 };
	fake_done(cell, 0);
	assert_int_equal(next(&world, &in, &fds), ORDER_FILE);
	assert_string_equal(in.file.path, "d/a");
	assert_int_equal(fds.n, 1);
	assert_int_equal(pread(fds.fd[0], text, sizeof(text), 0), 3);
	assert_memory_equal(text, "abc", 3);
	wire_close_fds(&fds);
	assert_int_equal(next(&world, &in, &fds), ORDER_RESULT);
	wire_close_fds(&fds);
	world_close(&world);
}

static void test_cancel(void **state)
{
	WIRE_MESSAGE(order_cancel, cancel, ORDER_CANCEL);
	struct world world;
	struct wire_fds fds;
	union in in;

	(void)state;
	world_open(&world);
	/* Crossing: nothing runs. */
	assert_int_equal(wire_send(world.socket, &cancel, NULL, 0), 0);
	send_run(&world, "driven", 0);
	while (!world.fake->cell)
		loop_step(world.loop);
	fake_ready(world.fake->cell);
	assert_int_equal(wire_send(world.socket, &cancel, NULL, 0), 0);
	assert_int_equal(next(&world, &in, &fds), ORDER_RESULT);
	assert_int_equal(in.result.verdict, VERDICT_CANCELLED);
	wire_close_fds(&fds);
	world_close(&world);
}

/* The command dies: the run is ended and the transport says so. */
static void test_command_gone(void **state)
{
	struct world world;

	(void)state;
	world_open(&world);
	send_run(&world, "driven", 0);
	fake_ready(world.fake->cell);
	world.socket = fd_close(world.socket);
	while (!world.ended)
		loop_step(world.loop);
	assert_int_equal(world.ended, 1);
	while (world.fake->freed < 1)
		loop_step(world.loop);
	world_close(&world);
}

static void stop(void *loop)
{
	loop_stop(loop);
}

/* Without credit the program waits; the output that is on its way stays bounded. */
static void test_credit(void **state)
{
	WIRE_MESSAGE(order_credit, credit, ORDER_CREDIT);
	static char bytes[32 << 10];
	struct fake_cell *cell;
	size_t written = 0, read_so_far = 0;
	struct world world;
	struct wire_fds fds;
	union in in;

	(void)state;
	world_open(&world);
	send_run(&world, "driven", 0);
	cell = world.fake->cell;
	fake_ready(cell);
	assert_int_equal(fd_set_nonblock(cell->fds[RUN_FD_STDOUT], true), 0);
	for (int idle = 0; idle < 20;) {
		struct loop_timer *timer = loop_timer_new(world.loop, stop, world.loop);
		ssize_t n = write(cell->fds[RUN_FD_STDOUT], bytes, sizeof(bytes));

		written += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		loop_timer_start(timer, 1, 0);
		loop_run(world.loop);
		(void)loop_timer_free(timer);
	}
	/* 256 KiB of credit, one more read and what a pipe holds. */
	assert_true(written >= 256 << 10);
	assert_true(written <= (256 + 64 + 64) << 10);
	while (read_so_far < written) {
		if (next(&world, &in, &fds) != ORDER_OUTPUT)
			break;
		credit.bytes = in.header.size - (uint32_t)offsetof(struct order_output, bytes);
		read_so_far += credit.bytes;
		assert_int_equal(wire_send(world.socket, &credit, NULL, 0), 0);
	}
	assert_int_equal(read_so_far, written);
	fake_done(cell, 0);
	assert_int_equal(next(&world, &in, &fds), ORDER_RESULT);
	wire_close_fds(&fds);
	world_close(&world);
}

/* What a command may not say ends the connection. */
static void test_garbage(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t size;
		uint32_t flags;
	} cases[] = {
		{ ORDER_RUN, sizeof(struct order_run), 0 }, /* without fds */
		{ ORDER_RUN, sizeof(struct order_run) - 1, 0 },
		{ ORDER_OUTPUT, sizeof(struct order_output), 0 },
		{ ORDER_RESULT, sizeof(struct order_result), 0 },
		{ ORDER_CREDIT, sizeof(struct order_cancel), 0 },
		{ 0, sizeof(struct wire_header), 0 },
		{ ORDER_MESSAGE_COUNT, sizeof(struct wire_header), 0 },
	};
	static _Alignas(8) char bytes[WIRE_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_header header = { .type = cases[i].type, .size = cases[i].size };
		struct world world;

		world_open(&world);
		memcpy(bytes, &header, sizeof(header));
		assert_int_equal(wire_send(world.socket, bytes, NULL, 0), 0);
		while (!world.ended)
			loop_step(world.loop);
		assert_int_equal(world.fake->created, 0);
		world_close(&world);
	}
}

/* The warden is lost: whoever asks is told why. */
static void test_give_up(void **state)
{
	struct error err;
	struct world world;
	struct wire_fds fds;
	union in in;

	(void)state;
	world_open(&world);
	error_set(&err, ERR_UNAVAILABLE, 0, "no warden");
	order_give_up(world.order, &err);
	send_run(&world, "driven", 0);
	assert_int_equal(next(&world, &in, &fds), ORDER_ERROR);
	assert_string_equal(in.error.message, "no warden");
	world.socket = fd_close(world.socket);
	while (!world.ended)
		loop_step(world.loop);
	world_close(&world);
}

/* Head and tail with a line between them that says what is missing; characters are not cut in two. */
static void test_truncated_json(void **state)
{
	const struct run_output outputs[] = { { "image/png", "\x89P", 2 },
					      { "text/html", "<b>", 3 } };
	const struct run_file files[] = {
		{ .path = "a\xff", .size = 3, .change = "created", .sha256 = "00", .fd = -1 }
	};
	const struct run_result result = {
		.verdict = VERDICT_SIGNAL,
		.exit_code = 139,
		.signal = 11,
		.reason = "It fell.",
		.note = "Files were lost.",
		.out = { .head = "ab\xc3",
			 .head_len = 3,
			 .tail = "\xa4yz",
			 .tail_len = 3,
			 .total = 1000,
			 .truncated = true },
		.err = { .head = "x", .head_len = 1, .tail = "y", .tail_len = 1, .total = 2 },
		.outputs = outputs,
		.n_outputs = 2,
		.files = files,
		.n_files = 1,
		.files_total = 5,
		.result = "42",
		.usage = { .cpu_us = 1500,
			   .wall_us = 2000,
			   .memory_peak_bytes = 3,
			   .processes_peak = 4 },
		.language = "l",
		.policy = "p",
		.backend = "b",
		.isolation = ISOLATION_WEAK,
		.pool_hit = true,
	};
	size_t len;
	char *text = result_json(&result, &len);

	(void)state;
	assert_string_equal(
		text,
		"{\"stdout\":\"ab\\n… 996 bytes left out …\\nyz\",\"stderr\":\"xy\",\"exitCode\":139,\"duration\":2,"
		"\"verdict\":\"signal\",\"signal\":11,\"reason\":\"It fell.\",\"note\":\"Files were lost.\","
		"\"truncated\":{\"stdout\":true,\"stderr\":false},\"result\":\"42\","
		"\"outputs\":[{\"mime\":\"image/png\",\"encoding\":\"base64\",\"data\":\"iVA=\"},"
		"{\"mime\":\"text/html\",\"data\":\"<b>\"}],"
		"\"files\":[{\"path\":\"a\xef\xbf\xbd\",\"size\":3,\"change\":\"created\",\"sha256\":\"00\"}],\"filesTotal\":5,"
		"\"usage\":{\"cpu_ms\":1.5,\"wall_ms\":2,\"memory_peak_bytes\":3,\"processes_peak\":4},"
		"\"isolation\":{\"level\":\"weak\",\"backend\":\"b\"},\"policy\":\"p\",\"pool\":\"hit\",\"language\":\"l\"}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),     cmocka_unit_test(test_files),
		cmocka_unit_test(test_cancel),  cmocka_unit_test(test_command_gone),
		cmocka_unit_test(test_credit),  cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_give_up), cmocka_unit_test(test_truncated_json),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
