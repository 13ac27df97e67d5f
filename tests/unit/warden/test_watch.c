/* The watcher's arithmetic, on a text and on this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "warden/watch.h"

static const char status[] =
	"Name:\tx\nVmPeak:\t  100 kB\nRssAnon:\t    2048 kB\nRssFile:\t    4 kB\n"
	"RssShmem:\t       8 kB\nThreads:\t1\n";

static void test_status_bytes(void **state)
{
	(void)state;
	assert_int_equal(watch_status_bytes(status, "RssAnon"), 2048 * 1024);
	assert_int_equal(watch_status_bytes(status, "RssShmem"), 8 * 1024);
	assert_int_equal(watch_status_bytes(status, "Rss"), 0);
	assert_int_equal(watch_status_bytes("", "RssAnon"), 0);
	/* A process chooses its own name; that line is not taken for another. */
	assert_int_equal(watch_status_bytes("Name:\tRssAnon: 9 kB\n", "RssAnon"), 0);
}

static void test_children_are_counted(void **state)
{
	enum { SIZE = 32 << 20 };
	uint64_t before = watch_tree_bytes(getpid()), with_child;
	int ready[2], end[2];
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		volatile char *memory = malloc(SIZE);

		for (size_t i = 0; i < SIZE; i += 4096)
			memory[i] = 1;
		close(end[1]);
		if (write(ready[1], "r", 1) == 1)
			(void)!read(end[0], &byte, 1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	with_child = watch_tree_bytes(getpid());
	close(end[0]);
	close(end[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(with_child >= before + SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_bytes),
		cmocka_unit_test(test_children_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
