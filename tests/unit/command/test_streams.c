/* stdin into a pipe and output out of it, without ever blocking. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/macros.h"
#include "command/pump.h"
#include "command/sink.h"

static struct pump pump;
static struct sink sink;

/* One turn of the loop; false when nothing would ever happen again. */
static bool turn(int timeout_ms)
{
	struct pollfd polls[PUMP_POLLS];

	pump_prepare(&pump, 1, polls);
	if (poll(polls, PUMP_POLLS, timeout_ms) <= 0)
		return false;
	pump_move(&pump, 1, polls);
	return true;
}

static void test_pump_carries_everything(void **state)
{
	enum { SIZE = 300 * 1000 };
	_cleanup_close_ int from = memfd_create("stdin", MFD_CLOEXEC);
	char *sent = malloc(SIZE), *got = malloc(SIZE);
	size_t n_got = 0;
	int ends[2];

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (char)(i * 7);
	assert_int_equal(fd_write_all(from, sent, SIZE), 0);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pump_start(&pump, from, ends[1]);
	for (;;) {
		ssize_t n;

		/* until the pipe is full and it waits, or it is at its end */
		while (pump.to >= 0 && turn(0))
			;
		n = read(ends[0], got + n_got, SIZE - n_got);
		if (n <= 0)
			break;
		n_got += (size_t)n;
		if (n_got == SIZE) {
			while (pump.to >= 0 && turn(0))
				;
			break;
		}
	}
	assert_int_equal(n_got, SIZE);
	assert_memory_equal(sent, got, SIZE);
	assert_int_equal(pump.to, -1);
	fd_close(ends[0]);
	free(sent);
	free(got);
}

static void test_pump_notices_the_reader_leaving(void **state)
{
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pump_start(&pump, in[0], out[1]);
	assert_false(turn(0));
	fd_close(out[0]);
	assert_true(turn(0));
	assert_int_equal(pump.to, -1);
	fd_close(in[0]);
	fd_close(in[1]);
}

static void test_pump_without_a_source(void **state)
{
	int out[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pump_start(&pump, -1, out[1]);
	assert_int_equal(read(out[0], &byte, 1), 0);
	fd_close(out[0]);
	/* a folder as stdin reads as an error, which is an end too */
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pump_start(&pump, folder, out[1]);
	assert_true(turn(0));
	assert_int_equal(read(out[0], &byte, 1), 0);
	fd_close(out[0]);
	fd_close(folder);
}

static void test_sink_never_blocks(void **state)
{
	char block[ORDER_OUTPUT_MAX], got[ORDER_OUTPUT_MAX];
	size_t taken = 0, n_got = 0;
	int ends[2];

	(void)state;
	memset(block, 'x', sizeof(block));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	sink_init(&sink, ends[1]);
	while (!sink_is_full(&sink)) {
		sink_put(&sink, block, sizeof(block));
		taken += sizeof(block);
		assert_true(taken < 1 << 24);
	}
	assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
	while (n_got < taken) {
		ssize_t n = read(ends[0], got, sizeof(got));

		assert_true(n > 0);
		n_got += (size_t)n;
		sink_flush(&sink);
	}
	assert_false(sink_is_full(&sink));
	assert_int_equal(sink.errnum, 0);
	fd_close(ends[0]);
	sink_put(&sink, "x", 1);
	assert_int_equal(sink.errnum, EPIPE);
	assert_false(sink_is_full(&sink));
	fd_close(ends[1]);
}

static void test_sink_tells_a_full_disk(void **state)
{
	_cleanup_close_ int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	sink_init(&sink, fd);
	sink_put(&sink, "x", 1);
	assert_int_equal(sink.errnum, ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pump_carries_everything),
		cmocka_unit_test(test_pump_notices_the_reader_leaving),
		cmocka_unit_test(test_pump_without_a_source),
		cmocka_unit_test(test_sink_never_blocks),
		cmocka_unit_test(test_sink_tells_a_full_disk),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
