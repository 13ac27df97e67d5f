#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "runtime/runtime_ini.h"
#include "wire/cell_spec.h"

#define TOOLCHAIN "[toolchain]\nfind = /nonexistent/x /bin/sh\n"
#define RUN       "[run]\ncommand = {program} {file}\nfile = main.sh\n"
#define CELL      "[cell]\nprofile = bash\n"

static struct runtime_file *parse(const char *text, struct error *err)
{
	return runtime_file_parse("/somewhere/test", text, strlen(text), err);
}

static struct runtime_file *must_parse(const char *text)
{
	struct error err = { 0 };
	struct runtime_file *file = parse(text, &err);

	if (!file) {
		fail_msg("%s", err.message);
		abort();
	}
	return file;
}

static const char *env_value(const struct runtime *rt, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < rt->n_env; i++) {
		if (strcmp(rt->env[i].name, name) == 0) {
			assert_null(value); /* once only */
			value = rt->env[i].value;
		}
	}
	return value;
}

/* With the least that can be said, the rest has its defaults. */
static void test_least(void **state)
{
	struct runtime_file *file = must_parse(TOOLCHAIN RUN CELL);
	const struct runtime *rt;

	(void)state;
	rt = &file->runtime;
	assert_string_equal(rt->name, "test");
	assert_string_equal(rt->title, "test");
	assert_string_equal(rt->folder, "/somewhere/test");
	assert_string_equal(rt->place, "/opt/hotcell/test");
	assert_null(rt->aliases[0]);
	assert_null(rt->extensions[0]);
	assert_null(rt->files[0]);
	assert_null(rt->version);
	assert_null(rt->install);
	assert_null(rt->example);
	assert_false(rt->loopback);
	assert_string_equal(rt->program, "/bin/sh");
	assert_int_equal(rt->kind, RUNTIME_COMMAND);
	assert_string_equal(rt->argv[0], "/bin/sh");
	assert_string_equal(rt->argv[1], "{file}");
	assert_null(rt->argv[2]);
	assert_string_equal(rt->code_file, "main.sh");
	assert_string_equal(env_value(rt, "HOME"), "/workspace");
	assert_string_equal(env_value(rt, "TMPDIR"), "/tmp");
	assert_string_equal(env_value(rt, "LANG"), "C.UTF-8");
	assert_non_null(env_value(rt, "PATH"));
	assert_non_null(env_value(rt, "USER"));
	runtime_file_free(file);
}

static void test_most(void **state)
{
	static const char text[] =
		"[runtime]\nname = test\ntitle = Test Language\naliases = t tst c++\nextensions = t tst\n"
		"[toolchain]\nfind = /bin/sh\nversion = {program} --version\ninstall = apt-get install test\n"
		"[run]\ndriver = {program} -x 'a b' {place}/driver.t\nfiles = driver.t lib/more.t\nfile = main.t\n"
		"[env]\nHOME = /tmp\nWHERE = {place}/lib\nEMPTY =\nSEMI = a; b # c\n"
		"[cell]\nprofile = node\nloopback = yes\n"
		"[example]\ncode = print 42 # = ;\n";
	struct runtime_file *file = must_parse(text);
	const struct runtime *rt;

	(void)state;
	rt = &file->runtime;
	assert_string_equal(rt->title, "Test Language");
	assert_string_equal(rt->aliases[2], "c++");
	assert_string_equal(rt->extensions[1], "tst");
	assert_string_equal(rt->install, "apt-get install test");
	assert_int_equal(rt->kind, RUNTIME_DRIVER);
	assert_string_equal(rt->argv[2], "a b");
	assert_string_equal(rt->argv[3], "/opt/hotcell/test/driver.t");
	assert_string_equal(rt->files[1], "lib/more.t");
	assert_string_equal(env_value(rt, "HOME"), "/tmp");
	assert_string_equal(env_value(rt, "WHERE"), "/opt/hotcell/test/lib");
	assert_string_equal(env_value(rt, "EMPTY"), "");
	assert_string_equal(env_value(rt, "SEMI"), "a; b # c");
	assert_int_equal(rt->profile, CELL_PROFILE_NODE);
	assert_true(rt->loopback);
	assert_string_equal(rt->example, "print 42 # = ;");
	assert_string_equal(file->version_argv[1], "--version");
	runtime_file_free(file);
}

/* A language that is not here is still known. */
static void test_not_installed(void **state)
{
	struct error err = { 0 };
	struct runtime_file *file =
		parse("[toolchain]\nfind = /nonexistent/a /nonexistent/b /tmp\n" RUN CELL, &err);

	(void)state;
	assert_non_null(file);
	assert_null(file->runtime.program);
	assert_string_equal(file->runtime.argv[0], "/nonexistent/a");
	runtime_file_probe(file);
	assert_null(file->runtime.version);
	runtime_file_free(file);
}

/* runtime/ does not see wire/, so the numbers are its own: they must be the same. */
static void test_profiles(void **state)
{
	static const char *const names[CELL_PROFILE_COUNT] = {
		[CELL_PROFILE_PYTHON] = "python",   [CELL_PROFILE_BASH] = "bash",
		[CELL_PROFILE_NODE] = "node",       [CELL_PROFILE_GO] = "go",
		[CELL_PROFILE_COMPILE] = "compile", [CELL_PROFILE_BINARY] = "binary",
		[CELL_PROFILE_INSTALL] = "install",
	};

	(void)state;
	for (uint32_t i = 0; i < CELL_PROFILE_COUNT; i++) {
		_cleanup_free_ char *text = xasprintf(TOOLCHAIN RUN "[cell]\nprofile = %s\n",
						      names[i]);
		struct runtime_file *file = must_parse(text);

		assert_int_equal(file->runtime.profile, i);
		runtime_file_free(file);
	}
}

#define AT "/somewhere/test/runtime.ini:"

static const struct {
	const char *text, *expect;
} refused[] = {
	{ "", "/somewhere/test/runtime.ini: 'find' is missing in [toolchain]" },
	{ "[x]\n",
	  AT "1: there is no section [x]. There are: runtime, toolchain, run, cell, example, env" },
	{ "[tolchain]\n", AT "1: there is no section [tolchain]; did you mean 'toolchain'?" },
	{ TOOLCHAIN "fnd = /x\n",
	  AT "3: [toolchain] has no 'fnd'; did you mean 'find'? There are: find, "
	     "version, install" },
	{ TOOLCHAIN "find = /x\n", AT "3: 'find' was already given in line 2" },
	{ TOOLCHAIN CELL, "/somewhere/test/runtime.ini: [run] needs 'driver' or 'command'" },
	{ TOOLCHAIN RUN, "/somewhere/test/runtime.ini: 'profile' is missing in [cell]" },
	{ TOOLCHAIN "[run]\ncommand = {program} {file}\n" CELL,
	  "/somewhere/test/runtime.ini: [run] needs 'file'" },
	{ "[runtime]\nname = other\n" TOOLCHAIN RUN CELL,
	  AT "2: name: the language is called 'other'" },
	{ "[runtime]\ntitle =\n" TOOLCHAIN RUN CELL, AT "2: title: a title has" },
	{ "[runtime]\naliases = a B\n" TOOLCHAIN RUN CELL, AT "2: aliases: 'B' is not a name" },
	{ "[runtime]\naliases = 'a\n" TOOLCHAIN RUN CELL,
	  AT "2: aliases: a quotation mark is not closed" },
	{ "[runtime]\nextensions = .py\n" TOOLCHAIN RUN CELL,
	  AT "2: extensions: '.py' is not an extension" },
	{ "[runtime]\nextensions = a/b\n" TOOLCHAIN RUN CELL, AT "2: extensions: 'a/b' is not" },
	{ "[toolchain]\nfind =\n" RUN CELL, AT "2: find: name at least one place" },
	{ "[toolchain]\nfind = /bin/sh bash\n" RUN CELL,
	  AT "2: find: 'bash' is not an absolute path" },
	{ TOOLCHAIN "version = bash\n" RUN CELL, AT "3: version: the first word is the program" },
	{ TOOLCHAIN "version = {program} {file}\n" RUN CELL,
	  AT "3: version: {file} cannot be used here" },
	{ TOOLCHAIN "[run]\ndriver = python3 x\n" CELL,
	  AT "4: driver: the first word is the program" },
	{ TOOLCHAIN "[run]\ndriver =\n" CELL, AT "4: driver: the first word is the program" },
	{ TOOLCHAIN "[run]\ndriver = ''\n" CELL, AT "4: driver: the first word is the program" },
	{ TOOLCHAIN "[run]\ndriver = {program} {file}\n" CELL,
	  AT "4: driver: {file} cannot be used here" },
	{ TOOLCHAIN "[run]\ndriver = {program} {plaec}/x\n" CELL,
	  AT "4: driver: {plaec} cannot be used here" },
	{ TOOLCHAIN "[run]\ndriver = {program}\ncommand = {program} {file}\n" CELL,
	  AT "5: command: give either 'driver' or 'command'" },
	{ TOOLCHAIN "[run]\ncommand = {program}\n" CELL,
	  AT "4: command: {file}, the code's path, is not in it" },
	{ TOOLCHAIN "[run]\ncommand = {file}\nfile = x\n" CELL,
	  AT "4: command: the first word is the program" },
	{ TOOLCHAIN RUN "files = ../x\n" CELL, AT "6: files: '../x' is not the name of a file" },
	{ TOOLCHAIN RUN "files = /etc/passwd\n" CELL, AT "6: files: '/etc/passwd' is not" },
	{ TOOLCHAIN "[run]\ncommand = {program} {file}\nfile = a/b\n" CELL,
	  AT "5: file: 'a/b' is not a file's" },
	{ TOOLCHAIN "[run]\ncommand = {program} {file}\nfile = ..\n" CELL,
	  AT "5: file: '..' is not a file's" },
	{ TOOLCHAIN RUN "[cell]\nprofile = pythn\n", AT
	  "7: profile: there is no profile 'pythn'; did you mean 'python'? There are: python, bash" },
	{ TOOLCHAIN RUN CELL "loopback = maybe\n",
	  AT "8: loopback: 'maybe' is neither yes nor no" },
	{ TOOLCHAIN RUN CELL "[env]\n1A = x\n", AT "9: '1A' is not a variable's name" },
	{ TOOLCHAIN RUN CELL "[env]\nA-B = x\n", AT "9: 'A-B' is not a variable's name" },
	{ TOOLCHAIN RUN CELL "[env]\nA = x\nA = y\n", AT "10: A was already given in line 9" },
	{ TOOLCHAIN RUN CELL "[env]\nA = {nothing}\n", AT "9: A: {nothing} cannot be used here" },
	{ TOOLCHAIN RUN CELL "[example]\ncode = a\nfile = b\n",
	  AT "10: file: give either 'code' or 'file'" },
	{ TOOLCHAIN RUN CELL "[example]\nfile = ../b\n",
	  AT "9: file: '../b' is not the name of a file" },
	{ "garbage", AT "1: expected 'key = value'" },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct error err = { 0 };

		assert_null(parse(refused[i].text, &err));
		print_message("%s\n", err.message);
		assert_int_equal(err.code, ERR_INPUT);
		assert_memory_equal(err.message, refused[i].expect, strlen(refused[i].expect));
		assert_null(parse(refused[i].text, NULL));
	}
}

static void test_folder_names(void **state)
{
	static const struct {
		const char *folder;
		bool expect;
	} cases[] = {
		{ "/x/ruby", true }, { "ruby", true }, { "/x/c++", true }, { "/x/Ruby", false },
		{ "/x/", false },    { "", false },    { "/x/..", false }, { "/x/a b", false },
	};
	static const char text[] = TOOLCHAIN RUN CELL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct runtime_file *file = runtime_file_parse(cases[i].folder, text, strlen(text),
							       &err);

		print_message("<%s> %s\n", cases[i].folder, err.message);
		assert_int_equal(file != NULL, cases[i].expect);
		runtime_file_free(file);
	}
}

/* Everything that is allowed fits into a cell_spec together, and a little more for the front. */
static void test_sizes(void **state)
{
	struct error err = { 0 };
	_cleanup_buf_ struct buf text;
	struct runtime_file *file;
	size_t bytes = 0;

	(void)state;
	buf_init(&text, 1 << 20);
	(void)buf_append_string(&text, TOOLCHAIN RUN CELL "[env]\n");
	for (int i = 0; i < 48; i++)
		(void)buf_printf(&text, "V%d = %0100d\n", i, i);
	file = must_parse(buf_string(&text));
	for (size_t i = 0; file->runtime.argv[i]; i++)
		bytes += strlen(file->runtime.argv[i]) + 1;
	for (size_t i = 0; i < file->runtime.n_env; i++)
		bytes += strlen(file->runtime.env[i].name) + strlen(file->runtime.env[i].value) + 2;
	assert_true(bytes + 1024 < CELL_STRINGS_MAX);
	assert_true(file->runtime.n_env + 8 < CELL_ENV_MAX);
	runtime_file_free(file);

	(void)buf_append_string(&text, "ONE_MORE = x\n");
	assert_null(parse(buf_string(&text), &err));
	assert_non_null(strstr(err.message, "more than 48 variables"));

	buf_clear(&text);
	(void)buf_printf(&text, TOOLCHAIN RUN CELL "[env]\nA = %04000d\nB = %04000d\n", 0, 0);
	assert_null(parse(buf_string(&text), &err));
	assert_non_null(strstr(err.message, "6144 are allowed"));

	buf_clear(&text);
	(void)buf_append_string(&text, TOOLCHAIN CELL "[run]\ndriver = {program}");
	for (int i = 0; i < 32; i++)
		(void)buf_append_string(&text, " x");
	assert_null(parse(buf_string(&text), &err));
	assert_non_null(strstr(err.message, "more than 32 words"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least),         cmocka_unit_test(test_most),
		cmocka_unit_test(test_not_installed), cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_refused),       cmocka_unit_test(test_folder_names),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
