/* Files of a run, with names that want to be somewhere else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/macros.h"
#include "command/bring_out.h"

struct scene {
	char outside[64]; /* a folder beside `folder`: nothing may come in here */
	char base[32];
	int folder;
	int outside_fd;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	char path[64];
	struct error err;

	strcpy(s->base, "/tmp/hotcell-test-XXXXXX");
	assert_non_null(mkdtemp(s->base));
	snprintf(s->outside, sizeof(s->outside), "%s/outside", s->base);
	assert_int_equal(mkdir(s->outside, 0755), 0);
	s->outside_fd = open(s->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/a/b/folder", s->base);
	s->folder = bring_out_open(path, &err);
	assert_true(s->folder >= 0);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	char command[64];

	fd_close(s->folder);
	fd_close(s->outside_fd);
	snprintf(command, sizeof(command), "rm -rf %s", s->base);
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

static int put(struct scene *s, const char *path, uint32_t mode, const char *text)
{
	_cleanup_close_ int fd = fd_from_bytes("file", text, strlen(text));

	return bring_out_file(s->folder, path, mode, fd);
}

static void assert_content(int folder, const char *path, const char *expect)
{
	_cleanup_close_ int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	char text[64];

	assert_true(fd >= 0);
	assert_true(fd_read_text(fd, text, sizeof(text)) >= 0);
	assert_string_equal(text, expect);
}

/* Entries of a folder, not counting . and .. */
static unsigned count(int folder)
{
	unsigned n = 0;
	char command[64];
	FILE *list;

	snprintf(command, sizeof(command), "ls -A /proc/%d/fd/%d/", getpid(), folder);
	list = popen(command, "re");
	assert_non_null(list);
	for (int c; (c = fgetc(list)) != EOF;)
		n += c == '\n';
	pclose(list);
	return n;
}

static void test_plain(void **state)
{
	struct scene *s = *state;
	struct stat st;

	umask(022);
	assert_int_equal(put(s, "hello.txt", 0644, "hello"), 0);
	assert_content(s->folder, "hello.txt", "hello");
	assert_int_equal(put(s, "deep/er/tool", 04755, "#!"), 0);
	assert_content(s->folder, "deep/er/tool", "#!");
	assert_int_equal(fstatat(s->folder, "deep/er/tool", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(s->folder, "hello.txt", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	/* again: replaced, nothing left over */
	assert_int_equal(put(s, "hello.txt", 0644, "again"), 0);
	assert_content(s->folder, "hello.txt", "again");
	assert_int_equal(put(s, "", 0644, "x"), -EINVAL);
	assert_int_equal(count(s->folder), 2);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"..",    "../evil",  "../../evil", "/etc/evil", "a/../../evil", "./evil", "a//evil",
		"evil/", "a/./evil", "/",          ".",         "a/..",
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		print_message("# %s\n", names[i]);
		assert_int_equal(put(s, names[i], 0644, "evil"), -EINVAL);
	}
	assert_int_equal(count(s->folder), 0);
}

static void test_links_in_the_folder(void **state)
{
	struct scene *s = *state;
	struct stat st;

	/* a parent that leads out */
	assert_int_equal(symlinkat(s->outside, s->folder, "way-out"), 0);
	assert_true(put(s, "way-out/evil", 0644, "evil") < 0);
	assert_true(put(s, "way-out/sub/evil", 0644, "evil") < 0);
	/* a file that is a link: the link is replaced, its target untouched */
	assert_int_equal(symlinkat("../../../outside/target", s->folder, "link"), 0);
	assert_int_equal(put(s, "link", 0644, "inside"), 0);
	assert_content(s->folder, "link", "inside");
	assert_int_equal(fstatat(s->folder, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(count(s->outside_fd), 0);
}

static void test_what_is_in_the_way(void **state)
{
	struct scene *s = *state;

	assert_int_equal(mkdirat(s->folder, "dir", 0755), 0);
	assert_true(put(s, "dir", 0644, "x") < 0);
	assert_int_equal(put(s, "file", 0644, "x"), 0);
	assert_true(put(s, "file/below", 0644, "x") < 0);
	assert_int_equal(mkfifoat(s->folder, "fifo", 0644), 0);
	assert_int_equal(put(s, "fifo", 0644, "x"), 0); /* replaced, not written to */
	assert_content(s->folder, "fifo", "x");
	assert_int_equal(count(s->folder), 3);
}

static void test_only_regular_files(void **state)
{
	struct scene *s = *state;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(bring_out_file(s->folder, "pipe", 0644, ends[0]), -ENXIO);
	assert_int_equal(bring_out_file(s->folder, "dir", 0644, s->outside_fd), -ENXIO);
	fd_close(ends[0]);
	fd_close(ends[1]);
	assert_int_equal(count(s->folder), 0);
}

static void test_holes_stay(void **state)
{
	struct scene *s = *state;
	_cleanup_close_ int fd = memfd_create("sparse", MFD_CLOEXEC);
	struct stat st;
	char text[8] = "";

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)1 << 33), 0);
	assert_int_equal(pwrite(fd, "middle", 6, (off_t)1 << 32), 6);
	assert_int_equal(bring_out_file(s->folder, "sparse", 0644, fd), 0);
	assert_int_equal(fstatat(s->folder, "sparse", &st, 0), 0);
	assert_int_equal(st.st_size, (off_t)1 << 33);
	assert_true(st.st_blocks < 1 << 12);
	fd_close(fd);
	fd = openat(s->folder, "sparse", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, text, 6, (off_t)1 << 32), 6);
	assert_string_equal(text, "middle");
}

static void test_folder_that_cannot_be(void **state)
{
	struct scene *s = *state;
	struct error err;
	char path[96];

	assert_int_equal(put(s, "file", 0644, "x"), 0);
	snprintf(path, sizeof(path), "%s/a/b/folder/file", s->base);
	assert_int_equal(bring_out_open(path, &err), -1);
	assert_non_null(strstr(err.message, "--files"));
	assert_int_equal(bring_out_open("", &err), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_plain),
		TEST(test_hostile_names),
		TEST(test_links_in_the_folder),
		TEST(test_what_is_in_the_way),
		TEST(test_only_regular_files),
		TEST(test_holes_stay),
		TEST(test_folder_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
