#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "config/config.h"
#include "config/setting.h"

#define MB ((uint64_t)1 << 20)

static void test_defaults(void **state)
{
	struct config c;
	struct error err;

	(void)state;
	config_init(&c);
	assert_string_equal(c.run_policy, "standard");
	assert_int_equal(c.run_timeout_ms, 30000);
	assert_int_equal(c.run_timeout_max_ms, 600000);
	assert_int_equal(c.run_memory_max_bytes, 8192 * MB);
	assert_int_equal(c.cells_uid_base, 1900000000);
	assert_int_equal(c.cells_max, 64);
	assert_int_equal(c.cells_spare, 2);
	assert_string_equal(c.cells_cgroup, "auto");
	assert_string_equal(c.paths_runtimes, "");
	assert_string_equal(c.log_level, "warn");
	assert_int_equal(c.policies[0].memory_bytes, 256 * MB);
	assert_int_equal(c.policies[0].cpu_milli, 500);
	assert_int_equal(c.policies[1].processes, 128);
	assert_int_equal(c.policies[2].workspace_bytes, 4096 * MB);
	assert_true(config_check(&c, &err));
	config_done(&c);
	config_done(&c);
}

/* Every row of the table: complete, its default within its range, its place its own. */
static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_settings; i++) {
		const struct setting *s = &settings[i];
		struct config c;
		struct error err;

		print_message("%s.%s\n", s->section, s->key);
		assert_true(strlen(s->help) > 5 && s->help[strlen(s->help) - 1] == '.');
		assert_true(s->offset + sizeof(uint64_t) <= sizeof(struct config));
		assert_ptr_equal(setting_find(s->section, s->key, NULL), s);
		assert_int_equal(s->type == &setting_word, s->words != NULL);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(s->offset, settings[j].offset);
		config_init(&c);
		if (!setting_parse(s, &c, s->value, &err))
			fail_msg("%s", err.message);
		config_done(&c);
	}
}

static void test_read(void **state)
{
	struct config c;
	struct error err = { 0 };

	(void)state;
	config_init(&c);
	if (!config_read_text(&c, "t.ini",
			      "[run]\npolicy = STRICT\ntimeout = 1.5s\nmemory_max=2GiB\n"
			      "[policy.permissive]\ncpus = 0.25\n[log]\nlevel = debug\n"
			      "[paths]\nruntimes = /a:/b c\n",
			      &err))
		fail_msg("%s", err.message);
	assert_string_equal(c.run_policy, "strict");
	assert_int_equal(c.run_timeout_ms, 1500);
	assert_int_equal(c.run_memory_max_bytes, 2048 * MB);
	assert_int_equal(c.policies[2].cpu_milli, 250);
	assert_string_equal(c.log_level, "debug");
	assert_string_equal(c.paths_runtimes, "/a:/b c");
	/* A second file says more; what it does not name stays. */
	assert_true(config_read_text(&c, "u.ini", "[run]\ntimeout = 2s\n", &err));
	assert_int_equal(c.run_timeout_ms, 2000);
	assert_string_equal(c.run_policy, "strict");
	config_done(&c);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *expect;
	} cases[] = {
		{ "[run]\ntimeuot = 1s\n",
		  "t.ini:2: there is no setting 'timeuot' in [run]; did you mean 'timeout'? There are: policy, "
		  "timeout, timeout_max, memory_max" },
		{ "[run]\nqqqqq = 1s\n",
		  "t.ini:2: there is no setting 'qqqqq' in [run]. There are: policy, "
		  "timeout, timeout_max, memory_max" },
		{ "[runs]\n",
		  "t.ini:1: there is no section [runs]; did you mean 'run'? There are: run, cells, paths, "
		  "mcp, log, policy.strict, policy.standard, policy.permissive" },
		{ "[policy.lax]\nmemory = 1G\n", "t.ini:1: there is no section [policy.lax]" },
		{ "[run]\nTIMEOUT = 1s\n",
		  "t.ini:2: there is no setting 'TIMEOUT' in [run]; did you mean 'timeout'?" },
		{ "[run]\ntimeout = 12x\n",
		  "t.ini:2: run.timeout: '12x' is not a duration such as 500ms, 30s or 5m" },
		{ "[run]\ntimeout =\n", "t.ini:2: run.timeout: '' is not a duration" },
		{ "[run]\ntimeout = 0\n",
		  "t.ini:2: run.timeout: '0' is out of range; allowed is 1ms to 24h" },
		{ "[run]\ntimeout = -1\n", "t.ini:2: run.timeout: '-1' is not a duration" },
		{ "[run]\ntimeout = 25h\n", "t.ini:2: run.timeout: '25h' is out of range" },
		{ "[run]\ntimeout = 30s ; half a minute\n",
		  "t.ini:2: run.timeout: '30s ; half a minute' is not" },
		{ "[run]\nmemory_max = 12x\n",
		  "t.ini:2: run.memory_max: '12x' is not a size such as 512M or 1.5G" },
		{ "[run]\nmemory_max = 1M\n",
		  "t.ini:2: run.memory_max: '1M' is out of range; allowed is 8M to 1T" },
		{ "[run]\nmemory_max = 99999999999999999999G\n",
		  "t.ini:2: run.memory_max: '99999999999999999999G' is out of range" },
		{ "[run]\npolicy = lax\n",
		  "t.ini:2: run.policy: 'lax' is not one of strict, standard, permissive" },
		{ "[run]\npolicy =\n", "t.ini:2: run.policy: '' is not one of" },
		{ "[run]\npolicy = strict, standard\n",
		  "t.ini:2: run.policy: 'strict, standard' is not one of" },
		{ "[run]\npolicy = stric\n", "t.ini:2: run.policy: 'stric' is not one of" },
		{ "[cells]\nmax = 0\n",
		  "t.ini:2: cells.max: '0' is out of range; allowed is 1 to 4096" },
		{ "[cells]\nmax = 1.5\n",
		  "t.ini:2: cells.max: '1.5' is not a whole number such as 64" },
		{ "[cells]\nuid_base = 4294967295\n",
		  "t.ini:2: cells.uid_base: '4294967295' is out of range" },
		{ "[cells]\nuid_base = 0\n", "t.ini:2: cells.uid_base: '0' is out of range" },
		{ "[policy.strict]\ncpus = 0\n",
		  "t.ini:2: policy.strict.cpus: '0' is out of range; allowed is 0.01 to 1024" },
		{ "[policy.strict]\ncpus = half\n",
		  "t.ini:2: policy.strict.cpus: 'half' is not a number of CPUs such as 0.5 or 2" },
		{ "[run]\ntimeout = 1s\n\ntimeout = 2s\n",
		  "t.ini:4: run.timeout was already given in line 2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config c;
		struct error err = { 0 };

		config_init(&c);
		assert_false(config_read_text(&c, "t.ini", cases[i].text, &err));
		print_message("%s\n", err.message);
		assert_int_equal(err.code, ERR_INPUT);
		assert_memory_equal(err.message, cases[i].expect, strlen(cases[i].expect));
		/* Without anybody to tell, it is refused all the same. */
		assert_false(config_read_text(&c, "t.ini", cases[i].text, NULL));
		config_done(&c);
	}
}

static void test_set(void **state)
{
	struct config c;
	struct error err = { 0 };

	(void)state;
	config_init(&c);
	assert_true(config_set(&c, "run.timeout", "7s", &err));
	assert_int_equal(c.run_timeout_ms, 7000);
	assert_true(config_set(&c, "policy.strict.memory", "64M", &err));
	assert_int_equal(c.policies[0].memory_bytes, 64 * MB);
	assert_false(config_set(&c, "timeout", "7s", &err));
	assert_non_null(strstr(err.message, "write section.key"));
	assert_false(config_set(&c, "run.timeuot", "7s", &err));
	assert_false(config_set(&c, ".", "7s", &err));
	assert_false(config_set(&c, "", "7s", &err));
	assert_false(config_set(&c, "run.timeout", "7 s", &err));
	assert_string_equal(err.message,
			    "run.timeout: '7 s' is not a duration such as 500ms, 30s or 5m");
	/* A value that would not come back from config_to_text() as it is. */
	assert_false(config_set(&c, "paths.runtimes", "/a\n[run]\ntimeout = 1h", &err));
	assert_false(config_set(&c, "paths.runtimes", " /a", &err));
	assert_int_equal(c.run_timeout_ms, 7000);
	config_done(&c);
}

/* The front reads back exactly what the command has resolved. */
static void test_round_trip(void **state)
{
	static const struct {
		const char *name, *value;
	} changes[] = {
		{ "run.timeout", "1" },
		{ "run.timeout", "61001ms" },
		{ "run.timeout", "24h" },
		{ "run.memory_max", "8388609" },
		{ "run.memory_max", "1T" },
		{ "policy.strict.cpus", "0.01" },
		{ "policy.strict.cpus", "0.125" },
		{ "policy.strict.cpus", "3.2" },
		{ "cells.spare", "0" },
		{ "paths.runtimes", "/a = b;c:#d [e]" },
		{ "cells.cgroup", "none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_free_ char *text = NULL, *again = NULL;
		struct config a, b;
		struct error err = { 0 };

		print_message("%s = %s\n", changes[i].name, changes[i].value);
		config_init(&a);
		config_init(&b);
		assert_true(config_set(&a, changes[i].name, changes[i].value, &err));
		text = config_to_text(&a);
		if (!config_read_text(&b, "text", text, &err))
			fail_msg("%s", err.message);
		again = config_to_text(&b);
		assert_string_equal(text, again);
		for (size_t j = 0; j < n_settings; j++) {
			const char *pa = (char *)&a + settings[j].offset,
				   *pb = (char *)&b + settings[j].offset;

			if (settings[j].type->format)
				assert_memory_equal(pa, pb, sizeof(uint64_t));
			else
				assert_string_equal(*(char *const *)pa, *(char *const *)pb);
		}
		config_done(&a);
		config_done(&b);
	}
}

static void test_check(void **state)
{
	static const struct {
		const char *text, *expect; /* NULL: fine */
	} cases[] = {
		{ "[run]\ntimeout=5s\ntimeout_max=5s\n", NULL },
		{ "[run]\ntimeout_max = 5s\n",
		  "run.timeout (30000 ms) is more than run.timeout_max (5000 ms)" },
		{ "[cells]\nmax = 2\n", NULL },
		{ "[cells]\nmax = 1\n", "cells.spare (2) is more than cells.max (1)" },
		{ "[cells]\nuid_base = 4294967167\n", NULL },
		{ "[cells]\nuid_base = 4294967168\n",
		  "cells.uid_base (4294967168) leaves no room for 64 cells" },
		{ "[run]\nmemory_max = 1G\n", NULL },
		{ "[run]\nmemory_max = 1023M\n",
		  "policy.permissive.memory (1.0 GB) is more than run.memory_max (1023 MB)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config c;
		struct error err = { 0 };
		bool ok;

		config_init(&c);
		assert_true(config_read_text(&c, "t", cases[i].text, &err));
		ok = config_check(&c, &err);
		print_message("%s: %s\n", ok ? "fine" : "refused", err.message);
		assert_int_equal(ok, cases[i].expect == NULL);
		if (cases[i].expect)
			assert_memory_equal(err.message, cases[i].expect, strlen(cases[i].expect));
		config_done(&c);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Whoever runs the tests has settings of their own; cmocka has some too, which must stay. */
static void clear_environment(void)
{
	static const char *const names[] = {
		"HOTCELL_CONFIG",
		"HOTCELL_RUN_TIMEOUT",
		"HOTCELL_POLICY_STRICT_MEMORY",
		"HOTCELL_CELLS_UID_BASE",
		"HOTCELL_PATHS_RUNTIMES",
		"HOTCELL_NOBODY_KNOWS",
		"HOTCELL_LOG_LEVEL",
		"LOG_LEVEL",
		"XDG_CONFIG_HOME",
		"HOME",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unsetenv(names[i]), 0);
}

/* Files, then the older name, then the name. */
static void test_load_environment(void **state)
{
	static const struct {
		const char *name, *value, *expect; /* NULL: fine */
	} cases[] = {
		{ "HOTCELL_RUN_TIMEOUT", "7s", NULL },
		{ "HOTCELL_RUN_TIMEOUT", "", NULL },
		{ "HOTCELL_POLICY_STRICT_MEMORY", "64M", NULL },
		{ "HOTCELL_CELLS_UID_BASE", "2000000000", NULL },
		{ "LOG_LEVEL", "INFO", NULL },
		{ "LOG_LEVEL", "chatty", NULL }, /* another program's word */
		{ "HOTCELL_LOG_LEVEL", "chatty",
		  "environment variable HOTCELL_LOG_LEVEL: log.level: 'chatty' is not one of error, warn, info, debug" },
		{ "HOTCELL_RUN_TIMEOUT", "soon",
		  "environment variable HOTCELL_RUN_TIMEOUT: run.timeout: 'soon' is not a duration" },
		{ "HOTCELL_RUN_TIMEOUT", "11m", "run.timeout (660000 ms) is more than" },
		{ "HOTCELL_PATHS_RUNTIMES", "/a\n/b",
		  "environment variable HOTCELL_PATHS_RUNTIMES: paths.runtimes: the value contains a control" },
		{ "HOTCELL_NOBODY_KNOWS", "x", NULL },
		{ "HOTCELL_CONFIG", "/nonexistent/hotcell.ini",
		  "cannot read /nonexistent/hotcell.ini: No such" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config c;
		struct error err = { 0 };
		bool ok;

		clear_environment();
		/* So that no file of this machine has a say. */
		assert_int_equal(setenv("HOTCELL_CONFIG", "/dev/null", 1), 0);
		assert_int_equal(setenv(cases[i].name, cases[i].value, 1), 0);
		config_init(&c);
		ok = config_load(&c, &err);
		print_message("%s=%s: %s\n", cases[i].name, cases[i].value,
			      ok ? "fine" : err.message);
		assert_int_equal(ok, cases[i].expect == NULL);
		if (cases[i].expect)
			assert_memory_equal(err.message, cases[i].expect, strlen(cases[i].expect));
		config_done(&c);
	}
}

/* A folder for the user's file, DIR/SUB/hotcell.ini. */
struct home {
	char dir[32], path[96];
};

static void home_make(struct home *h, const char *sub, const char *text)
{
	char command[160];

	strcpy(h->dir, "/tmp/hotcell-test-XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(command, sizeof(command), "mkdir -p %s/%s", h->dir, sub);
	assert_int_equal(system(command), 0);
	snprintf(h->path, sizeof(h->path), "%s/%s/hotcell.ini", h->dir, sub);
	write_file(h->path, text);
}

static void home_remove(struct home *h)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", h->dir);
	assert_int_equal(system(command), 0);
}

/* The user's file, HOTCELL_RUN_TIMEOUT after it, HOTCELL_LOG_LEVEL after LOG_LEVEL. */
static void test_load_order(void **state)
{
	struct config c;
	struct error err = { 0 };
	struct home h;

	(void)state;
	home_make(&h, "hotcell", "[run]\ntimeout = 3s\ntimeout_max = 9s\n[log]\nlevel = error\n");
	clear_environment();
	setenv("XDG_CONFIG_HOME", h.dir, 1);
	setenv("HOTCELL_RUN_TIMEOUT", "4s", 1);
	setenv("LOG_LEVEL", "info", 1);
	setenv("HOTCELL_LOG_LEVEL", "debug", 1);
	config_init(&c);
	if (!config_load(&c, &err))
		fail_msg("%s", err.message);
	assert_int_equal(c.run_timeout_ms, 4000);
	assert_int_equal(c.run_timeout_max_ms, 9000);
	assert_string_equal(c.log_level, "debug");
	config_done(&c);

	/* HOTCELL_CONFIG stands for both files. */
	setenv("HOTCELL_CONFIG", "/dev/null", 1);
	config_init(&c);
	assert_true(config_load(&c, &err));
	assert_int_equal(c.run_timeout_max_ms, 600000);
	config_done(&c);

	/* An error in it is told with the file's name. */
	write_file(h.path, "[run]\nx = 1\n");
	setenv("HOTCELL_CONFIG", h.path, 1);
	config_init(&c);
	assert_false(config_load(&c, &err));
	assert_memory_equal(err.message, h.path, strlen(h.path));
	assert_memory_equal(err.message + strlen(h.path), ":2: ", 4);
	config_done(&c);
	home_remove(&h);
}

/* Without XDG_CONFIG_HOME it is ~/.config; a relative XDG_CONFIG_HOME counts as none. */
static void test_load_home(void **state)
{
	static const char *const xdg[] = { NULL, "", "relative/x" };
	struct config c;
	struct error err = { 0 };
	struct home h;

	(void)state;
	home_make(&h, ".config/hotcell", "[run]\ntimeout = 5s\n");
	for (size_t i = 0; i < ARRAY_SIZE(xdg); i++) {
		clear_environment();
		setenv("HOME", h.dir, 1);
		if (xdg[i])
			setenv("XDG_CONFIG_HOME", xdg[i], 1);
		config_init(&c);
		assert_true(config_load(&c, &err));
		assert_int_equal(c.run_timeout_ms, 5000);
		config_done(&c);
	}
	clear_environment();
	config_init(&c);
	assert_true(config_load(&c, &err));
	assert_int_equal(c.run_timeout_ms, 30000);
	config_done(&c);
	home_remove(&h);
}

/* The help names every setting, and its lines fit a terminal. */
static void test_help(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	config_print_help(f);
	assert_int_equal(fclose(f), 0);
	for (size_t i = 0; i < n_settings; i++) {
		assert_non_null(strstr(text, settings[i].key));
		assert_non_null(strstr(text, settings[i].help));
	}
	assert_non_null(strstr(text, "HOTCELL_POLICY_PERMISSIVE_PROCESSES"));
	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		assert_true(strchr(p, '\n') - p <= 100);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_table),
		cmocka_unit_test(test_read),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_set),        cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_check),      cmocka_unit_test(test_load_environment),
		cmocka_unit_test(test_load_order), cmocka_unit_test(test_load_home),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
