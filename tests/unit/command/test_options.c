/* The options of `hotcell run`: one table, and what people type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "command/run_options.h"
#include "config/config.h"

enum { WORDS_MAX = 8 };

static bool parse(const char *const words[WORDS_MAX], struct run_options *ret, struct error *err)
{
	static char *argv[WORDS_MAX + 1]; /* args points into it */
	int argc = 0;

	memset(argv, 0, sizeof(argv));
	while (argc < WORDS_MAX && words[argc]) {
		argv[argc] = (char *)(uintptr_t)words[argc];
		argc++;
	}
	return run_options_parse(ret, argc, argv, err);
}

static const struct {
	const char *words[WORDS_MAX];
	const char *expect; /* part of the sentence */
} refused[] = {
	{ { "run" }, "nothing to run" },
	{ { "run", "--json" }, "nothing to run" },
	{ { "run", "--memory", "12x", "f" }, "--memory 12x is not a size" },
	{ { "run", "--memory", "", "f" }, "is not a size" },
	{ { "run", "--memory", "0", "f" }, "--memory 0 is too little: it must be at least 8" },
	{ { "run", "--memory", "-1", "f" }, "--memory -1 is not a size" },
	{ { "run", "--memory", "8388607", "f" }, "too little" },
	{ { "run", "--memory", "2T", "f" }, "too much: at most 1.0 TB" },
	{ { "run", "--memory", "99999999999999999999999", "f" }, "too much" },
	{ { "run", "--timeout", "0", "f" }, "--timeout 0 is too little: it must be at least 1 ms" },
	{ { "run", "--timeout", "1e3", "f" }, "is not a time" },
	{ { "run", "--timeout", "2d", "f" }, "is not a time" },
	{ { "run", "--timeout", "25h", "f" }, "too much" },
	{ { "run", "--cpus", "0", "f" }, "too little: it must be at least 0.01" },
	{ { "run", "--cpus", "many", "f" }, "is not a number" },
	{ { "run", "--processes", "3", "f" }, "too little: it must be at least 4" },
	{ { "run", "--processes", "1.5", "f" }, "is not a whole number" },
	{ { "run", "--disk", "1K", "f" }, "too little: it must be at least 64 KB" },
	{ { "run", "--policy", "lax", "f" }, "--policy lax does not exist" },
	{ { "run", "-e", "A", "f" }, "-e A is not NAME=VALUE" },
	{ { "run", "-e", "=b", "f" }, "is not NAME=VALUE" },
	{ { "run", "-e", "1A=b", "f" }, "is not NAME=VALUE" },
	{ { "run", "-e", "A B=b", "f" }, "is not NAME=VALUE" },
	{ { "run", "--bogus", "f" }, "there is no option --bogus: see `hotcell help run`" },
	{ { "run", "-Z", "f" }, "there is no option -Z" },
	{ { "run", "-vZ", "f" }, "there is no option -Z" },
	{ { "run", "--json=yes", "f" }, "--json takes no value" },
	{ { "run", "--memory" }, "--memory needs a value: BYTES" },
	{ { "run", "-l" }, "-l needs a value: LANG" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct run_options options;
		struct error err = { 0 };

		print_message("# %s\n", refused[i].expect);
		assert_false(parse(refused[i].words, &options, &err));
		assert_int_equal(err.code, ERR_INPUT);
		if (!strstr(err.message, refused[i].expect))
			fail_msg("got: %s", err.message);
	}
}

static void test_all_options(void **state)
{
	const char *words[] = { "run",      "-l",   "py",        "--timeout=2s",
				"--memory", "256M", "script.py", "-v" };
	struct run_options o;
	struct error err;

	(void)state;
	assert_true(parse(words, &o, &err));
	assert_string_equal(o.language, "py");
	assert_int_equal(o.timeout_ms, 2000);
	assert_int_equal(o.limits.memory_bytes, 256u << 20);
	assert_string_equal(o.file, "script.py");
	assert_null(o.code);
	assert_false(o.verbose); /* the script's own */
	assert_int_equal(o.n_args, 1);
	assert_string_equal(o.args[0], "-v");
}

static void test_code(void **state)
{
	const char *words[] = { "run", "-ve", "A=b=c", "--cpus", "0.5", "-c", "print(1)", "x" };
	struct run_options o;
	struct error err;

	(void)state;
	assert_true(parse(words, &o, &err));
	assert_string_equal(o.code, "print(1)");
	assert_null(o.file);
	assert_true(o.verbose);
	assert_int_equal(o.env.n, 1);
	assert_string_equal(o.env.text[0], "A=b=c");
	assert_int_equal(o.limits.cpu_milli, 500);
	assert_int_equal(o.n_args, 1);
	assert_string_equal(o.args[0], "x");
}

static void test_stdin_and_dashes(void **state)
{
	const char *dash[WORDS_MAX] = { "run", "-l", "bash", "-", "--json" };
	const char *dashes[WORDS_MAX] = { "run", "--", "--odd-name.py" };
	const char *short_long[WORDS_MAX] = { "run", "--mem", "9M", "--verb", "f" };
	struct run_options o;
	struct error err;

	(void)state;
	assert_true(parse(dash, &o, &err));
	assert_string_equal(o.file, "-");
	assert_false(o.json);
	assert_int_equal(o.n_args, 1);
	assert_true(parse(dashes, &o, &err));
	assert_string_equal(o.file, "--odd-name.py");
	assert_true(parse(short_long, &o, &err));
	assert_int_equal(o.limits.memory_bytes, 9u << 20);
	assert_true(o.verbose);
}

static void test_list_is_bounded(void **state)
{
	static char *argv[2 * OPTION_LIST_MAX + 4];
	static char word[] = "-e", variable[] = "A=b", name[] = "run";
	struct run_options o;
	struct error err;
	int argc = 0;

	(void)state;
	argv[argc++] = name;
	for (int i = 0; i <= OPTION_LIST_MAX; i++) {
		argv[argc++] = word;
		argv[argc++] = variable;
	}
	assert_false(run_options_parse(&o, argc, argv, &err));
	assert_non_null(strstr(err.message, "more than 256 times"));
}

static void test_configured_maximum(void **state)
{
	const struct config config = { .run_timeout_max_ms = 1000,
				       .run_memory_max_bytes = 64 << 20 };
	struct run_options o = { 0 };
	struct error err;

	(void)state;
	assert_true(run_options_check(&o, &config, &err));
	o.timeout_ms = 1001;
	assert_false(run_options_check(&o, &config, &err));
	assert_non_null(strstr(err.message, "run.timeout_max"));
	o.timeout_ms = 1000;
	o.limits.memory_bytes = (64 << 20) + 1;
	assert_false(run_options_check(&o, &config, &err));
	assert_non_null(strstr(err.message, "run.memory_max"));
	o.limits.memory_bytes = 64 << 20;
	assert_true(run_options_check(&o, &config, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_all_options),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_stdin_and_dashes),
		cmocka_unit_test(test_list_is_bounded),
		cmocka_unit_test(test_configured_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
