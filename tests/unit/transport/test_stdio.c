#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "protocol/call.h"
#include "protocol/registry.h"
#include "transport/stdio.h"

enum { MESSAGE_MAX = 100 * 1000, SLOW_MAX = 16 };

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
#define INIT \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n"
#define CALL(id, tool, more)              \
	"{\"jsonrpc\":\"2.0\",\"id\":" id \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\"" more "}}\n"

static struct call *slow_calls[SLOW_MAX];
static size_t n_slow, n_cancelled;
static int n_held;

static json_t *text_content(const char *text)
{
	return json_pack("[{s:s, s:s}]", "type", "text", "text", text);
}

static void slow_run(struct call *call)
{
	slow_calls[n_slow++] = call;
}

static void slow_cancel(struct call *call)
{
	n_cancelled++;
	call_done(call, text_content("cancelled"), NULL, true);
}

static void slow_hold(struct call *call, bool on)
{
	(void)call;
	n_held += on ? 1 : -1;
}

/* Answers with 32 KB. */
static void large_run(struct call *call)
{
	char *text = calloc(1, (32 << 10) + 1);

	memset(text, 'x', 32 << 10);
	call_done(call, text_content(text), NULL, false);
	free(text);
}

static const struct tool tools[] = {
	{ .name = "slow",
	  .title = "",
	  .description = "",
	  .schema = "{}",
	  .run = slow_run,
	  .cancel = slow_cancel,
	  .hold = slow_hold },
	{ .name = "large", .title = "", .description = "", .schema = "{}", .run = large_run },
};

struct world {
	struct loop *loop;
	struct loop_timer *ticker;
	struct registry *registry;
	struct mcp_stdio *stdio;
	int to, from; /* the client's ends; -1 when closed */
	int in, out;
	bool ended;
	struct buf got; /* the first of what came */
	size_t lines;   /* of all that came */
};

static void on_ended(void *data)
{
	((struct world *)data)->ended = true;
}

static void nothing(void *data)
{
	(void)data;
}

static void world_start(struct world *w, int in, int out)
{
	struct mcp_stdio_config config = {
		.in = in,
		.out = out,
		.message_max = MESSAGE_MAX,
		.ended = on_ended,
		.data = w,
	};
	struct error err;

	n_slow = n_cancelled = 0;
	n_held = 0;
	w->loop = loop_new();
	w->ticker = loop_timer_new(w->loop, nothing, NULL);
	loop_timer_start(w->ticker, 1, 1);
	w->registry = registry_new();
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		registry_add_tool(w->registry, &tools[i]);
	w->in = in;
	w->out = out;
	buf_init(&w->got, 1 << 20);
	config.registry = w->registry;
	assert_true(mcp_stdio_start(w->loop, &config, &w->stdio, &err));
}

/* Over two pipes. */
static struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	w->to = in[1];
	w->from = out[0];
	(void)fd_set_nonblock(w->to, true);
	(void)fd_set_nonblock(w->from, true);
	world_start(w, in[0], out[1]);
	return w;
}

static void world_free(struct world *w)
{
	mcp_stdio_free(w->stdio);
	(void)loop_timer_free(w->ticker);
	registry_free(w->registry);
	loop_free(w->loop);
	assert_int_equal(fcntl(w->in, F_GETFL) & O_NONBLOCK, 0);
	w->to = fd_close(w->to);
	w->from = fd_close(w->from);
	(void)fd_close(w->in);
	(void)fd_close(w->out);
	buf_done(&w->got);
	free(w);
}

static void read_answers(struct world *w)
{
	uint8_t chunk[4096];
	ssize_t n;

	while (w->from >= 0 && (n = read(w->from, chunk, sizeof(chunk))) > 0) {
		(void)buf_append(&w->got, chunk, (size_t)n);
		for (ssize_t i = 0; i < n; i++)
			w->lines += chunk[i] == '\n';
	}
}

/* Turns the loop for this long, reading what is answered. */
static void turn(struct world *w, uint64_t ms)
{
	uint64_t until = clock_monotonic_ms() + ms;

	do {
		loop_step(w->loop);
		read_answers(w);
	} while (clock_monotonic_ms() < until && !w->ended);
}

/* Writes all of it, turning the loop when the pipe is full. */
static void say(struct world *w, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(w->to, text, len);

		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
		turn(w, 0);
	}
	turn(w, 20);
}

static size_t count(struct world *w, const char *word)
{
	size_t n = 0;

	for (const char *at = buf_string(&w->got); (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

static void test_lines(void **state)
{
	struct world *w = world_new();

	(void)state;
	say(w, "\n \r\n" PING "\r\n", strlen(PING) + 6);
	assert_string_equal(buf_string(&w->got), PONG);
	/* In pieces, and two at once. */
	say(w, PING, 10);
	say(w, PING PING + 10, 2 * strlen(PING) - 10);
	assert_string_equal(buf_string(&w->got), PONG PONG PONG);
	world_free(w);
}

/* Ten thousand at once: all answered, in order. */
static void test_pipelined(void **state)
{
	struct world *w = world_new();
	_cleanup_buf_ struct buf text = { 0 };
	const char *at;

	(void)state;
	buf_init(&text, SIZE_MAX);
	for (int i = 0; i < 10000; i++)
		(void)buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i);
	say(w, (const char *)text.data, text.len);
	at = buf_string(&w->got);
	for (int i = 0; i < 10000; i++) {
		char line[64];

		snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", i);
		assert_int_equal(strncmp(at, line, strlen(line)), 0);
		at += strlen(line);
	}
	world_free(w);
}

/* A message that is too long is refused once, by name, and the next one is understood. */
static void test_too_long(void **state)
{
	static const size_t sizes[] = { MESSAGE_MAX + 1, 2 * MESSAGE_MAX, 40 * MESSAGE_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct world *w = world_new();
		char *text = malloc(sizes[i] + 1);

		memset(text, '[', sizes[i]);
		text[sizes[i]] = '\n';
		say(w, text, sizes[i] + 1);
		say(w, PING, strlen(PING));
		assert_int_equal(count(w, "\"code\":-32600"), 1);
		assert_int_equal(count(w, "at most 100000 bytes (mcp.message_max)"), 1);
		assert_int_equal(count(w, PONG), 1);
		free(text);
		world_free(w);
	}
}

static void test_longest(void **state)
{
	struct world *w = world_new();
	char *text = malloc(MESSAGE_MAX + 1);

	(void)state;
	memset(text, ' ', MESSAGE_MAX);
	memcpy(text, PING, strlen(PING) - 1);
	text[MESSAGE_MAX - 1] = ' ';
	text[MESSAGE_MAX] = '\n';
	say(w, text, MESSAGE_MAX + 1);
	assert_string_equal(buf_string(&w->got), PONG);
	free(text);
	world_free(w);
}

/* The end of input: what is there is answered, and then it is over, at once. */
static void test_end(void **state)
{
	struct world *w = world_new();
	uint64_t begun;

	(void)state;
	assert_true(write(w->to, PING PING, 2 * strlen(PING) - 1) >
		    0); /* the last line does not end */
	w->to = fd_close(w->to);
	begun = clock_monotonic_ms();
	turn(w, 2000);
	assert_true(w->ended);
	assert_true(clock_monotonic_ms() - begun < 100);
	read_answers(w);
	assert_string_equal(buf_string(&w->got), PONG PONG);
	world_free(w);
}

/* A call under way at the end of input may finish soon; one that does not is cancelled. */
static void test_end_with_calls(void **state)
{
	struct world *w = world_new();
	uint64_t begun;

	(void)state;
	say(w, INIT CALL("1", "slow", "") CALL("2", "slow", ""),
	    strlen(INIT CALL("1", "slow", "") CALL("2", "slow", "")));
	assert_int_equal(n_slow, 2);
	w->to = fd_close(w->to);
	begun = clock_monotonic_ms();
	turn(w, 50);
	assert_false(w->ended);
	call_done(slow_calls[0], text_content("in time"), NULL, false);
	turn(w, 2000);
	assert_true(w->ended);
	assert_true(clock_monotonic_ms() - begun < 900);
	assert_int_equal(n_cancelled, 1);
	assert_int_equal(count(w, "in time"), 1);
	assert_int_equal(count(w, "\"id\":2"), 0);
	world_free(w);
}

static void test_stop(void **state)
{
	struct world *w = world_new();

	(void)state;
	say(w, INIT CALL("1", "slow", ""), strlen(INIT CALL("1", "slow", "")));
	mcp_stdio_stop(w->stdio);
	assert_false(w->ended);
	turn(w, 100);
	assert_true(w->ended);
	assert_int_equal(n_cancelled, 1);
	world_free(w);
}

/* The client closed our output: nobody is there. */
static void test_broken_pipe(void **state)
{
	struct world *w = world_new();

	(void)state;
	say(w, INIT CALL("1", "slow", ""), strlen(INIT CALL("1", "slow", "")));
	w->from = fd_close(w->from);
	assert_true(write(w->to, PING, strlen(PING)) > 0);
	turn(w, 500);
	assert_true(w->ended);
	assert_int_equal(n_cancelled, 1);
	world_free(w);
}

/* A client that asks and never reads: we stop reading from it before we grow without bound. */
static void test_never_reads(void **state)
{
	struct world *w = world_new();
	int from = w->from;
	size_t sent = 0, failed = 0;
	uint64_t begun = clock_monotonic_ms();

	(void)state;
	say(w, INIT CALL("1", "slow", ""), strlen(INIT CALL("1", "slow", "")));
	assert_int_equal(w->lines, 1);
	w->from = -1;
	while (failed < 20) {
		char line[128];
		int len = snprintf(line, sizeof(line), CALL("%zu", "large", ""), sent + 2);
		bool good = write(w->to, line, (size_t)len) == len;

		sent += good;
		failed = good ? 0 : failed + 1;
		loop_step(w->loop);
	}
	/* 1 MB of answers stops new calls, then 1024 wait here, then the pipe is full. */
	assert_true(sent < 3000);
	assert_int_equal(n_held, 1);
	/* It reads after all: everything is answered, and programs may print again. */
	w->from = from;
	while (w->lines < sent + 1 && clock_monotonic_ms() - begun < 60000)
		turn(w, 1);
	assert_int_equal(w->lines, sent + 1);
	assert_int_equal(n_held, 0);
	say(w, PING, strlen(PING));
	assert_int_equal(w->lines, sent + 2);
	world_free(w);
}

/* End of input while the client does not read: over within a second all the same. */
static void test_end_unread(void **state)
{
	struct world *w = world_new();
	char line[128];
	uint64_t begun;

	(void)state;
	say(w, INIT, strlen(INIT));
	for (int i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), CALL("%d", "large", ""), i);
		assert_true(write(w->to, line, strlen(line)) > 0);
	}
	w->to = fd_close(w->to);
	begun = clock_monotonic_ms();
	while (!w->ended && clock_monotonic_ms() - begun < 3000)
		loop_step(w->loop);
	assert_true(w->ended);
	assert_true(clock_monotonic_ms() - begun < 900);
	world_free(w);
}

/* A file for input and a file for output, which no loop can watch; and no input at all. */
static void test_files(void **state)
{
	char text[3 * sizeof(PONG)] = "";
	FILE *in = tmpfile(), *out = tmpfile();
	struct world *w = calloc(1, sizeof(*w));

	(void)state;
	fputs(PING PING, in);
	(void)fflush(in);
	rewind(in);
	w->to = w->from = -1;
	world_start(w, dup(fileno(in)), dup(fileno(out)));
	turn(w, 1000);
	assert_true(w->ended);
	assert_int_equal(pread(fileno(out), text, sizeof(text), 0), 2 * strlen(PONG));
	assert_string_equal(text, PONG PONG);
	world_free(w);
	fclose(in);
	fclose(out);

	w = calloc(1, sizeof(*w));
	w->to = w->from = -1;
	world_start(w, open("/dev/null", O_RDONLY | O_CLOEXEC),
		    open("/dev/null", O_WRONLY | O_CLOEXEC));
	turn(w, 1000);
	assert_true(w->ended);
	world_free(w);
}

/* One socket for both directions. */
static void test_socket(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	w->to = pair[0];
	w->from = dup(pair[0]);
	(void)fd_set_nonblock(pair[0], true);
	world_start(w, pair[1], dup(pair[1]));
	say(w, PING, strlen(PING));
	assert_string_equal(buf_string(&w->got), PONG);
	(void)shutdown(pair[0], SHUT_WR);
	turn(w, 1000);
	assert_true(w->ended);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),       cmocka_unit_test(test_pipelined),
		cmocka_unit_test(test_too_long),    cmocka_unit_test(test_longest),
		cmocka_unit_test(test_end),         cmocka_unit_test(test_end_with_calls),
		cmocka_unit_test(test_stop),        cmocka_unit_test(test_broken_pipe),
		cmocka_unit_test(test_never_reads), cmocka_unit_test(test_end_unread),
		cmocka_unit_test(test_files),       cmocka_unit_test(test_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
