/* What can be given to run, and what cannot. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "command/source.h"
#include "wire/bundle.h"

static char path[] = "/tmp/hotcell-source-XXXXXX";

static int set_up(void **state)
{
	int fd = mkostemp(path, O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	fd_close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const char *data, size_t len)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(fd_write_all(fd, data, len), 0);
}

static void assert_refused(const char *text, const char *name, enum error_code code,
			   const char *part)
{
	struct source source;
	struct error err = { 0 };

	assert_false(source_read(&source, text, name, &err));
	assert_int_equal(err.code, code);
	if (!strstr(err.message, part))
		fail_msg("got: %s", err.message);
	source_done(&source);
}

static void test_taken(void **state)
{
	struct source source;
	struct error err;

	(void)state;
	assert_true(source_read(&source, "print(1)", NULL, &err));
	assert_string_equal(buf_string(&source.code), "print(1)");
	assert_string_equal(source.name, "");
	source_done(&source);
	write_file("echo\n", 5);
	assert_true(source_read(&source, NULL, path, &err));
	assert_int_equal(source.code.len, 5);
	assert_string_equal(source.name, path);
	assert_false(source.is_stdin);
	source_done(&source);
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused("", NULL, ERR_INPUT, "nothing to run: the code is empty");
	assert_refused(NULL, "/nowhere/x.py", ERR_NOT_FOUND, "there is no file /nowhere/x.py");
	assert_refused(NULL, "/etc/passwd/x", ERR_NOT_FOUND, "there is no file");
	assert_refused(NULL, "/tmp", ERR_INPUT, "/tmp is a folder");
	write_file("", 0);
	assert_refused(NULL, path, ERR_INPUT, "is empty");
	write_file("a\0b", 3);
	assert_refused(NULL, path, ERR_INPUT, "NUL bytes");
}

static void test_size_limit(void **state)
{
	size_t size = BUNDLE_CODE_MAX + 1;
	char *data = malloc(size);
	struct source source;
	struct error err;

	(void)state;
	memset(data, '#', size);
	write_file(data, size);
	assert_refused(NULL, path, ERR_INPUT, "larger than 8 MB");
	write_file(data, size - 1);
	assert_true(source_read(&source, NULL, path, &err));
	assert_int_equal(source.code.len, size - 1);
	source_done(&source);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_size_limit),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
