#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int temporary_file(const char *content)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void test_close_keeps_errno(void **state)
{
	int fd = temporary_file("");

	(void)state;
	errno = EDOM;
	assert_int_equal(fd_close(fd), -1);
	assert_false(is_open(fd));
	errno = EDOM;
	assert_int_equal(fd_close(-1), -1);
	assert_int_equal(fd_close(fd), -1); /* close() fails; nobody hears of it */
	assert_int_equal(errno, EDOM);
}

static void test_scope_closes(void **state)
{
	int number, taken = -1;

	(void)state;
	{
		_cleanup_close_ int fd = temporary_file("");

		number = fd;
	}
	assert_false(is_open(number));
	{
		_cleanup_close_ int fd = temporary_file("");

		taken = TAKE_FD(fd);
		assert_int_equal(fd, -1);
	}
	assert_true(is_open(taken));
	fd_close(taken);
}

/* More than one chunk is read whole; one byte too many is told from an exact fit. */
static void test_read_and_write_all(void **state)
{
	static const struct {
		size_t len, max;
		int expect;
	} cases[] = {
		{ 0, 0, 0 },           { 1, 0, -ENOBUFS },
		{ 100, 100, 0 },       { 101, 100, -ENOBUFS },
		{ 16384, 16384, 0 },   { 16385, 16384, -ENOBUFS },
		{ 300000, 300000, 0 }, { 300000, 400000, 0 },
	};
	static uint8_t bytes[300000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
		_cleanup_buf_ struct buf b;

		print_message("%zu bytes into %zu\n", cases[i].len, cases[i].max);
		buf_init(&b, cases[i].max);
		assert_int_equal(fd_write_all(fd, bytes, cases[i].len), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(fd_read_all(fd, &b), cases[i].expect);
		assert_int_equal(b.len, cases[i].expect == 0 ? cases[i].len : cases[i].max);
		if (b.len > 0)
			assert_memory_equal(b.data, bytes, b.len);
	}
}

static void test_failures_are_errno(void **state)
{
	_cleanup_buf_ struct buf b;
	char text[8];

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(fd_read_all(-1, &b), -EBADF);
	assert_int_equal(fd_read_text(-1, text, sizeof(text)), -EBADF);
	assert_int_equal(fd_set_nonblock(-1, true), -EBADF);
	assert_int_equal(fd_move_to(-1, 99), -EBADF);
	assert_int_equal(fd_move_to(999, 999), -EBADF);
	assert_int_equal(fd_write_file_at(AT_FDCWD, "/nonexistent/file", "x"), -ENOENT);
}

static void test_read_text(void **state)
{
	static const struct {
		const char *content;
		ssize_t expect;
	} cases[] = {
		{ "", 0 }, { "123456", 6 }, { "1234567", -ENOBUFS }, { "123456789", -ENOBUFS }
	};
	char text[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_close_ int fd = temporary_file(cases[i].content);

		/* Twice, because the place in the file must not move. */
		for (int j = 0; j < 2; j++) {
			assert_int_equal(fd_read_text(fd, text, sizeof(text)), cases[i].expect);
			if (cases[i].expect >= 0)
				assert_string_equal(text, cases[i].content);
		}
	}
}

static void test_write_file_at(void **state)
{
	char dir[] = "/tmp/hotcell-test-XXXXXX";
	_cleanup_close_ int at = -1, file = -1;
	char text[16];

	(void)state;
	assert_non_null(mkdtemp(dir));
	at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	file = openat(at, "f", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(fd_write_file_at(at, "f", "42"), 0);
	assert_int_equal(fd_read_text(file, text, sizeof(text)), 2);
	assert_string_equal(text, "42");
	/* It makes no file, and follows no link. */
	assert_int_equal(fd_write_file_at(at, "g", "42"), -ENOENT);
	assert_int_equal(symlinkat("f", at, "l"), 0);
	assert_int_equal(fd_write_file_at(at, "l", "43"), -ELOOP);
	assert_int_equal(unlinkat(at, "l", 0), 0);
	assert_int_equal(unlinkat(at, "f", 0), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Whoever gets it can neither write nor grow nor shrink it, and reads it from its beginning. */
static void test_from_bytes_is_sealed(void **state)
{
	_cleanup_close_ int fd = fd_from_bytes("test", "abc", 3);
	char text[8];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_memory_equal(text, "abc", 3);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 10), -1);
	assert_true(mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

static void test_nonblock(void **state)
{
	int pipes[2];
	char c;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fd_set_nonblock(pipes[0], true), 0);
	assert_int_equal(read(pipes[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fd_set_nonblock(pipes[0], false), 0);
	assert_int_equal(fcntl(pipes[0], F_GETFL) & O_NONBLOCK, 0);
	fd_close(pipes[0]);
	fd_close(pipes[1]);
}

static void test_move_to(void **state)
{
	int fd = temporary_file("abc");
	char text[8];

	(void)state;
	assert_int_equal(fd_move_to(fd, 60), 0);
	assert_false(is_open(fd));
	assert_int_equal(fcntl(60, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(fd_read_text(60, text, sizeof(text)), 3);
	/* To where it is: only close-on-exec goes. */
	assert_int_equal(fcntl(60, F_SETFD, FD_CLOEXEC), 0);
	assert_int_equal(fd_move_to(60, 60), 0);
	assert_int_equal(fcntl(60, F_GETFD) & FD_CLOEXEC, 0);
	fd_close(60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_keeps_errno),
		cmocka_unit_test(test_scope_closes),
		cmocka_unit_test(test_read_and_write_all),
		cmocka_unit_test(test_failures_are_errno),
		cmocka_unit_test(test_read_text),
		cmocka_unit_test(test_write_file_at),
		cmocka_unit_test(test_from_bytes_is_sealed),
		cmocka_unit_test(test_nonblock),
		cmocka_unit_test(test_move_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
