#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/path.h"

/* n times text, in a buffer of its own. */
static const char *repeat(const char *text, size_t n, const char *end)
{
	static char out[4096];
	size_t len = strlen(text);

	for (size_t i = 0; i < n; i++)
		memcpy(out + i * len, text, len);
	snprintf(out + n * len, sizeof(out) - n * len, "%s", end);
	return out;
}

static void test_plain(void **state)
{
	static const struct {
		const char *path;
		bool expect;
	} cases[] = {
		{ "a", true },       { "a/b", true },     { "a b\n\xff", true }, { "...", true },
		{ ".hidden", true }, { "..a", true },     { "a..", true },       { "a/.b", true },
		{ "-rf", true },     { "a\\b", true },    { "", false },         { ".", false },
		{ "..", false },     { "/", false },      { "/a", false },       { "a/", false },
		{ "a//b", false },   { "./a", false },    { "a/.", false },      { "../a", false },
		{ "a/..", false },   { "a/../b", false }, { "a/./b", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("path_is_plain(\"%s\")\n", cases[i].path);
		assert_int_equal(path_is_plain(cases[i].path), cases[i].expect);
	}
	/* Lengths at their edges. */
	assert_true(path_is_plain(repeat("x", PATH_MAX_NAME, "")));
	assert_false(path_is_plain(repeat("x", PATH_MAX_NAME + 1, "")));
	assert_true(path_is_plain(repeat("a/", PATH_MAX_DEPTH - 1, "b")));
	assert_false(path_is_plain(repeat("a/", PATH_MAX_DEPTH, "b")));
	assert_true(path_is_plain(
		repeat("0123456789012345678901234567890123456789012345678901234567890123/", 15,
		       "0123456789012345678901234567890123456789012345678")));
	assert_false(path_is_plain(
		repeat("0123456789012345678901234567890123456789012345678901234567890123/", 15,
		       "01234567890123456789012345678901234567890123456789")));
}

/* A folder with one of everything:
 *   file, dir/inner, link -> file, up -> .., abs -> /etc/passwd, fifo */
struct folder {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	static struct folder f;

	strcpy(f.path, "/tmp/hotcell-test-XXXXXX");
	if (!mkdtemp(f.path))
		return -1;
	f.fd = open(f.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd_close(openat(f.fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	*state = &f;
	return mkdirat(f.fd, "dir", 0755) | symlinkat("file", f.fd, "link") |
	       symlinkat("..", f.fd, "up") | symlinkat("/etc/passwd", f.fd, "abs") |
	       mkfifoat(f.fd, "fifo", 0644);
}

static int tear_down(void **state)
{
	struct folder *f = *state;
	char command[128];

	fd_close(f->fd);
	snprintf(command, sizeof(command), "rm -rf %s", f->path);
	return system(command);
}

/* Nothing named leads outside, over a link, or blocks. */
static void test_open_beneath(void **state)
{
	static const struct {
		const char *path;
		uint64_t flags;
		int expect; /* 0: it opens */
	} cases[] = {
		{ "file", O_RDONLY, 0 },
		{ "./file", O_RDONLY, 0 },
		{ "dir/../file", O_RDONLY, 0 },
		{ "dir", O_RDONLY | O_DIRECTORY, 0 },
		{ "dir", O_PATH | O_DIRECTORY, 0 },
		{ "fifo", O_RDONLY, 0 }, /* at once, not when a writer comes */
		{ "fifo", O_WRONLY, -ENXIO },
		{ "dir/new", O_WRONLY | O_CREAT | O_EXCL, 0 },
		{ "dir", O_RDWR | O_TMPFILE, 0 },
		{ "missing", O_RDONLY, -ENOENT },
		{ "file/x", O_RDONLY, -ENOTDIR },
		{ "link", O_RDONLY, -ELOOP },
		{ "up", O_RDONLY, -ELOOP },
		{ "up/etc", O_RDONLY, -ELOOP },
		{ "abs", O_RDONLY, -ELOOP },
		{ "..", O_RDONLY, -EXDEV },
		{ "../", O_PATH, -EXDEV },
		{ "dir/../../x", O_RDONLY, -EXDEV },
		{ "/etc/passwd", O_RDONLY, -EXDEV },
		{ "link", O_WRONLY | O_CREAT, -ELOOP },
		{ "", O_RDONLY, -ENOENT },
	};
	const struct folder *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* The mode is given always: where nothing is made it must not be told to the kernel. */
		_cleanup_close_ int fd = path_open_beneath(f->fd, cases[i].path, cases[i].flags,
							   0644);

		print_message("path_open_beneath(\"%s\", 0%llo) = %d\n", cases[i].path,
			      (unsigned long long)cases[i].flags, fd);
		if (cases[i].expect < 0) {
			assert_int_equal(fd, cases[i].expect);
		} else {
			assert_true(fd >= 0);
			assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		}
	}
}

/* /proc/self/fd is full of magic links, and another file system besides. */
static void test_open_beneath_proc(void **state)
{
	_cleanup_close_ int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(path_open_beneath(proc, "root/etc", O_RDONLY, 0), -ELOOP);
	assert_int_equal(path_open_beneath(proc, "cwd", O_RDONLY, 0), -ELOOP);
	assert_int_equal(path_open_beneath(root, "proc/version", O_RDONLY, 0), -EXDEV);
}

static void test_open_regular(void **state)
{
	static const struct {
		const char *path;
		int expect;
	} cases[] = {
		{ "file", 0 },      { "dir", -EISDIR },     { "fifo", -ENXIO },
		{ "link", -ELOOP }, { "missing", -ENOENT }, { "../x", -EXDEV },
	};
	const struct folder *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_close_ int fd = path_open_regular(f->fd, cases[i].path, O_RDONLY);

		print_message("path_open_regular(\"%s\") = %d\n", cases[i].path, fd);
		assert_int_equal(MIN(fd, 0), cases[i].expect);
	}
}

static void test_make_parents(void **state)
{
	static const struct {
		const char *path;
		int expect;
		const char *made; /* is a folder afterwards */
	} cases[] = {
		{ "x", 0, NULL },
		{ "one/x", 0, "one" },
		{ "one/two/three/x", 0, "one/two/three" },
		{ "one/two/three/x", 0, "one/two/three" },
		{ "file/x", -ENOTDIR, NULL },
		{ "link/x", -ELOOP, NULL },
		{ "up/x", -ELOOP, NULL },
		{ "../x", -EXDEV, NULL },
		{ "one/../../x", -EXDEV, NULL },
		{ "/tmp/x", -EINVAL, NULL },
		{ "one//x", -EINVAL, NULL },
	};
	const struct folder *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stat st;

		print_message("path_make_parents(\"%s\")\n", cases[i].path);
		assert_int_equal(path_make_parents(f->fd, cases[i].path), cases[i].expect);
		if (cases[i].made) {
			assert_int_equal(fstatat(f->fd, cases[i].made, &st, 0), 0);
			assert_true(S_ISDIR(st.st_mode));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test_setup_teardown(test_open_beneath, set_up, tear_down),
		cmocka_unit_test(test_open_beneath_proc),
		cmocka_unit_test_setup_teardown(test_open_regular, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_make_parents, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
