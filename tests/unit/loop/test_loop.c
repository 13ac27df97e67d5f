#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "loop/port.h"

struct seen {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_watch *watch;
	struct port *port;
	int fd;
	int count;
	int stop_after;
	unsigned events;
	char text[256];
	size_t len;
	int drained;
};

static void count_and_stop(void *data)
{
	struct seen *seen = data;

	if (++seen->count >= seen->stop_after)
		loop_stop(seen->loop);
}

/* A timer never fires early, a repeating one fires again, a stopped one does not. */
static void test_timers(void **state)
{
	struct seen seen = { .loop = loop_new(), .stop_after = 3 };
	struct seen never = { .loop = seen.loop };
	struct loop_timer *timer = loop_timer_new(seen.loop, count_and_stop, &seen);
	struct loop_timer *stopped = loop_timer_new(seen.loop, count_and_stop, &never);
	uint64_t start = clock_monotonic_ms();

	(void)state;
	loop_timer_start(stopped, 1, 0);
	loop_timer_stop(stopped);
	loop_timer_start(timer, 20, 5);
	loop_run(seen.loop);
	assert_int_equal(seen.count, 3);
	assert_int_equal(never.count, 0);
	assert_true(clock_monotonic_ms() - start >= 29);
	assert_null(loop_timer_free(timer));
	assert_null(loop_timer_free(stopped));
	assert_null(loop_timer_free(NULL));
	loop_free(seen.loop);
	loop_free(NULL);
}

static void free_self(void *data)
{
	struct seen *seen = data;

	seen->timer = loop_timer_free(seen->timer);
	seen->count++;
}

/* A timer freed in its own callback is gone, and the loop ends because nothing is left. */
static void test_free_in_callback(void **state)
{
	struct seen seen = { .loop = loop_new() };

	(void)state;
	seen.timer = loop_timer_new(seen.loop, free_self, &seen);
	loop_timer_start(seen.timer, 0, 1);
	loop_run(seen.loop);
	assert_int_equal(seen.count, 1);
	loop_free(seen.loop);
}

static void read_some(unsigned events, void *data)
{
	struct seen *seen = data;
	ssize_t n = read(seen->fd, seen->text + seen->len, sizeof(seen->text) - seen->len);

	seen->events |= events;
	seen->count++;
	if (n > 0)
		seen->len += (size_t)n;
	else
		seen->watch = loop_watch_free(seen->watch);
}

/* Bytes, then the end of file, are both something to read. */
static void test_watch_pipe(void **state)
{
	struct seen seen = { .loop = loop_new() };
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	seen.fd = fds[0];
	seen.watch = loop_watch_new(seen.loop, fds[0], read_some, &seen);
	assert_non_null(seen.watch);
	assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	loop_watch_set(seen.watch, LOOP_READ);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	loop_step(seen.loop);
	assert_int_equal(seen.len, 3);
	(void)fd_close(fds[1]);
	loop_run(seen.loop);
	assert_null(seen.watch);
	assert_int_equal(seen.events, LOOP_READ);
	(void)fd_close(fds[0]);
	loop_free(seen.loop);
}

static void write_some(unsigned events, void *data)
{
	struct seen *seen = data;

	seen->events |= events;
	if (write(seen->fd, "x", 1) < 0)
		seen->count = errno;
	seen->watch = loop_watch_free(seen->watch);
}

/* A pipe nobody reads is a write event, then EPIPE, and no signal. */
static void test_watch_broken_pipe(void **state)
{
	struct seen seen = { .loop = loop_new() };
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	seen.fd = fds[1];
	seen.watch = loop_watch_new(seen.loop, fds[1], write_some, &seen);
	loop_watch_set(seen.watch, LOOP_WRITE);
	(void)fd_close(fds[0]);
	loop_run(seen.loop);
	assert_int_equal(seen.count, EPIPE);
	(void)fd_close(fds[1]);
	loop_free(seen.loop);
}

static void test_watch_regular_file(void **state)
{
	struct loop *loop = loop_new();
	int fd = fd_from_bytes("x", "x", 1);

	(void)state;
	assert_null(loop_watch_new(loop, fd, read_some, NULL));
	(void)fd_close(fd);
	loop_free(loop);
}

/* --- ports -------------------------------------------------------------------------------------- */

struct small {
	size_t size;
	char text[1024];
};

static int send_small(int socket, const void *message, const int *fds, size_t n_fds)
{
	const struct small *small = message;

	(void)fds;
	(void)n_fds;
	return send(socket, small, small->size, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void readable(void *data)
{
	struct seen *seen = data;
	struct small small;

	if (recv(port_socket(seen->port), &small, sizeof(small), 0) <= 0)
		seen->port = port_free(seen->port);
	else
		seen->count++;
}

static void drained(void *data)
{
	((struct seen *)data)->drained++;
}

static struct port *make_port(struct seen *seen, int *ret_other, size_t queue_max)
{
	const struct port_config config = { send_small, readable, drained, seen, queue_max };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*ret_other = pair[1];
	return port_new(seen->loop, pair[0], &config);
}

/* What a full socket does not take waits, in order, up to the limit. */
static void test_port_queue(void **state)
{
	struct seen seen = { .loop = loop_new() };
	struct small small = { .size = sizeof(small) };
	int other, sent = 0, got = 0, r;

	(void)state;
	seen.port = make_port(&seen, &other, 64 * sizeof(small));
	do {
		memcpy(small.text, &sent, sizeof(sent));
		r = port_send(seen.port, &small, small.size, NULL, 0);
		sent += r == 0;
	} while (r == 0);
	assert_int_equal(r, -ENOBUFS);
	assert_false(port_is_drained(seen.port));
	while (got < sent) {
		int number;

		while (recv(other, &small, sizeof(small), MSG_DONTWAIT) > 0) {
			memcpy(&number, small.text, sizeof(number));
			assert_int_equal(number, got++);
		}
		if (got < sent)
			loop_step(seen.loop);
	}
	assert_true(port_is_drained(seen.port));
	assert_int_equal(seen.drained, 1);
	assert_true(sent > 64);
	/* The peer's messages come one an event; its end comes too, and frees the port. */
	assert_int_equal(send(other, &small, sizeof(small), 0), sizeof(small));
	assert_int_equal(send(other, &small, sizeof(small), 0), sizeof(small));
	(void)fd_close(other);
	loop_run(seen.loop);
	assert_int_equal(seen.count, 2);
	assert_null(seen.port);
	loop_free(seen.loop);
}

/* A port that is freed closes the descriptors that waited with its messages. */
static void test_port_keeps_fds(void **state)
{
	struct seen seen = { .loop = loop_new() };
	struct small small = { .size = sizeof(small) };
	int other, fds[2];
	char byte;

	(void)state;
	seen.port = make_port(&seen, &other, 1 << 20);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	while (port_is_drained(seen.port))
		assert_int_equal(port_send(seen.port, &small, small.size, &fds[1], 1), 0);
	(void)fd_close(fds[1]);
	seen.port = port_free(seen.port);
	/* Its copy was the last writer. */
	assert_int_equal(read(fds[0], &byte, 1), 0);
	(void)fd_close(fds[0]);
	(void)fd_close(other);
	loop_free(seen.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_free_in_callback),
		cmocka_unit_test(test_watch_pipe),
		cmocka_unit_test(test_watch_broken_pipe),
		cmocka_unit_test(test_watch_regular_file),
		cmocka_unit_test(test_port_queue),
		cmocka_unit_test(test_port_keeps_fds),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
