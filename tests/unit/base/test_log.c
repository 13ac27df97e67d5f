#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* Logs by `say` and gives back what came out on stderr. */
static const char *captured(void (*say)(void))
{
	static char text[8192];
	_cleanup_close_ int saved = dup(STDERR_FILENO);
	int pipes[2];
	ssize_t n;

	assert_true(saved >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_true(dup2(pipes[1], STDERR_FILENO) >= 0);
	say();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(pipes[1]);
	n = read(pipes[0], text, sizeof(text) - 1);
	(void)close(pipes[0]);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static void say_one(void)
{
	log_event(LOG_WARN, "cell.died", "cell", "7", "why", NULL, "how", "fast", NULL);
}

static void test_line(void **state)
{
	const char *line;

	(void)state;
	log_set_program("front");
	line = captured(say_one);
	/* 2026-01-31T12:00:00.123Z warn front ... */
	assert_int_equal(strspn(line, "0123456789-T:.Z"), 24);
	assert_string_equal(line + 24, " warn front cell.died cell=\"7\" how=\"fast\"\n");
}

static void say_hostile(void)
{
	log_event(LOG_ERROR, "run", "name", "a\"b\\c\n2\x1b[31m\xc3\xa9\x7f", NULL);
}

/* No value can end its line, its quotes or colour the terminal. */
static void test_hostile_value(void **state)
{
	const char *line = captured(say_hostile);

	(void)state;
	assert_non_null(strstr(line, " name=\"a\\\"b\\\\c\\x0a2\\x1b[31m\\xc3\\xa9\\x7f\"\n"));
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void say_long(void)
{
	static char value[20000];

	memset(value, 'x', sizeof(value) - 1);
	log_event(LOG_ERROR, "run", "value", value, "more", "y", NULL);
}

/* A line has an end, however long its value. */
static void test_long_value(void **state)
{
	const char *line = captured(say_long);

	(void)state;
	assert_int_equal(strlen(line), 4096);
	assert_ptr_equal(strchr(line, '\n'), line + 4095);
}

static void say_all(void)
{
	log_event(LOG_DEBUG, "d", NULL);
	log_event(LOG_INFO, "i", NULL);
	log_event(LOG_WARN, "w", NULL);
	log_event(LOG_ERROR, "e", NULL);
}

static void test_levels(void **state)
{
	static const struct {
		const char *name;
		int lines;
	} cases[] = { { "error", 1 }, { "warn", 2 }, { "info", 3 }, { "debug", 4 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int lines = 0;

		assert_true(log_set_level(cases[i].name));
		assert_int_equal(log_level(), i);
		for (const char *p = captured(say_all); *p; p++)
			lines += *p == '\n';
		assert_int_equal(lines, cases[i].lines);
	}
	assert_false(log_set_level("WARN"));
	assert_false(log_set_level(""));
	assert_false(log_set_level("trace"));
	assert_int_equal(log_level(), LOG_DEBUG);
	assert_true(log_set_level("warn"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_hostile_value),
		cmocka_unit_test(test_long_value),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
