#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "runtime/runtime.h"

#define SHELL(more) \
	"[toolchain]\nfind = /bin/sh\n[run]\ncommand = {program} {file}\nfile = main\n[cell]\nprofile = bash\n" more

/* Two folders of languages, as shipped and as a user adds to them. */
struct world {
	char dir[32];
	char first[64], second[64];
	const char *folders[3];
};

static void put(const char *folder, const char *name, const char *file, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
	static struct world w;

	strcpy(w.dir, "/tmp/hotcell-test-XXXXXX");
	if (!mkdtemp(w.dir))
		return -1;
	snprintf(w.first, sizeof(w.first), "%s/first", w.dir);
	snprintf(w.second, sizeof(w.second), "%s/second", w.dir);
	w.folders[0] = w.first;
	w.folders[1] = w.second;
	if (mkdir(w.first, 0755) < 0 || mkdir(w.second, 0755) < 0)
		return -1;
	put(w.first, "python", "runtime.ini",
	    SHELL("[runtime]\ntitle = Python\naliases = python3 py\nextensions = py\n"
		  "[example]\nfile = example.py\n"));
	put(w.first, "python", "example.py", "if 6 * 7:\n    print(42)\n");
	put(w.first, "bash", "runtime.ini",
	    SHELL("[runtime]\naliases = sh\nextensions = sh bash\n"));
	put(w.first, "ruby", "runtime.ini",
	    "[runtime]\ntitle = Ruby\nextensions = rb\n[toolchain]\nfind = /nonexistent/ruby\n"
	    "install = apt-get install ruby\n"
	    "[run]\ncommand = {program} {file}\nfile = main.rb\n[cell]\nprofile = bash\n");
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", w->dir);
	return system(command);
}

static struct runtimes *load(const struct world *w)
{
	struct runtimes *r = NULL;
	struct error err = { 0 };

	if (!runtimes_load(&r, w->folders, &err))
		fail_msg("%s", err.message);
	return r;
}

static void test_load(void **state)
{
	struct runtimes *r = load(*state);

	assert_int_equal(runtimes_count(r), 3);
	assert_string_equal(runtimes_at(r, 0)->name, "bash");
	assert_string_equal(runtimes_at(r, 1)->name, "python");
	assert_string_equal(runtimes_at(r, 2)->name, "ruby");
	assert_null(runtimes_at(r, 3));
	assert_null(runtimes_at(r, SIZE_MAX));
	assert_null(runtimes_problem(r, 0));
	assert_string_equal(runtimes_at(r, 1)->example, "if 6 * 7:\n    print(42)\n");
	runtimes_free(r);
}

/* A broken file is told and left out, the others load; a good one of a later folder takes its place. */
static void test_later_folders(void **state)
{
	const struct world *w = *state;
	struct runtimes *r;

	put(w->second, "python", "runtime.ini", SHELL("[runtime]\ntitle = My Python\n"));
	put(w->second, "bash", "runtime.ini", "[runtime]\ntitel = Bash\n");
	put(w->second, "zsh", "runtime.ini", SHELL(""));
	put(w->second, "Bad Name", "runtime.ini", SHELL(""));
	put(w->second, "notes", "README", "no language");
	put(w->second, "missing", "runtime.ini", SHELL("[example]\nfile = nothing.here\n"));
	r = load(w);
	assert_int_equal(runtimes_count(r), 4);
	assert_string_equal(runtimes_at(r, 1)->title, "My Python");
	assert_string_equal(runtimes_at(r, 0)->title, "bash");
	assert_string_equal(runtimes_at(r, 3)->name, "zsh");
	for (size_t i = 0; i < 3; i++)
		print_message("%s\n", runtimes_problem(r, i));
	assert_non_null(strstr(runtimes_problem(r, 0), "/second/Bad Name: the folder's name"));
	assert_non_null(strstr(runtimes_problem(r, 1),
			       "/second/bash/runtime.ini:2: [runtime] has no 'titel'; did "
			       "you mean 'title'?"));
	assert_non_null(strstr(runtimes_problem(r, 2),
			       "file: 'nothing.here', beside this file: No such file"));
	assert_null(runtimes_problem(r, 3));
	runtimes_free(r);
}

static void test_nothing(void **state)
{
	const struct world *w = *state;
	const char *const none[] = { NULL };
	const char *const empty[] = { w->second, "/nonexistent", NULL };
	const char *const no_folder[] = { "/dev/null", NULL };
	struct runtimes *r = NULL;
	struct error err = { 0 };

	assert_false(runtimes_load(&r, none, &err));
	assert_false(runtimes_load(&r, empty, &err));
	assert_non_null(strstr(err.message, "there are no languages in"));
	assert_false(runtimes_load(&r, no_folder, &err));
	assert_string_equal(
		err.message,
		"no language could be loaded: cannot read the folder /dev/null: Not a directory");
	put(w->second, "x", "runtime.ini", "[");
	assert_false(runtimes_load(&r, empty, &err));
	assert_non_null(strstr(err.message, "runtime.ini:1: "));
	assert_null(r);
	runtimes_free(NULL);
}

static void test_find(void **state)
{
	static const struct {
		const char *name, *expect, *sentence;
	} cases[] = {
		{ "python", "python", "" },
		{ "py", "python", "" },
		{ "PYTHON3", "python", "" },
		{ "sh", "bash", "" },
		{ "pythno", NULL,
		  "there is no language 'pythno'; did you mean 'python'? There are: bash, python, ruby (not installed)" },
		{ "cobol", NULL,
		  "there is no language 'cobol'. There are: bash, python, ruby (not installed)" },
		{ "", NULL, "there is no language ''. There are: bash" },
		{ "\x1b[31m\n\xff", NULL, "there is no language '?[31m\?\?'. There are: bash" },
		{ "0123456789012345678901234567890123456789012345678901234567890123456789", NULL,
		  "there is no language '0123456789012345678901234567890123456789'. There are: bash" },
		{ "ruby", NULL,
		  "Ruby is not installed here (there is no /nonexistent/ruby); to install it: apt-get install ruby" },
	};
	struct runtimes *r = load(*state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct runtime *rt = NULL;
		struct error err = { 0 };
		bool found = runtimes_find(r, cases[i].name, &rt, &err);

		print_message("%s\n", found ? rt->name : err.message);
		assert_int_equal(found, cases[i].expect != NULL);
		if (found) {
			assert_string_equal(rt->name, cases[i].expect);
		} else {
			assert_int_equal(err.code, ERR_NOT_FOUND);
			assert_memory_equal(err.message, cases[i].sentence,
					    strlen(cases[i].sentence));
		}
	}
	runtimes_free(r);
}

/* A name goes before an alias: nobody can take python's place with one. */
static void test_alias_of_a_name(void **state)
{
	const struct world *w = *state;
	const struct runtime *rt = NULL;
	struct runtimes *r;

	put(w->second, "a", "runtime.ini", SHELL("[runtime]\naliases = python\n"));
	r = load(w);
	assert_true(runtimes_find(r, "python", &rt, NULL));
	assert_string_equal(rt->name, "python");
	runtimes_free(r);
}

static void test_guess(void **state)
{
	static const struct {
		const char *file, *code, *expect;
	} cases[] = {
		{ "x.py", "", "python" },
		{ "/a/b.c/X.PY", "", "python" },
		{ "x.tar.sh", "", "bash" },
		{ "x.rb", "", "ruby" },
		{ "x.py", "#!/bin/bash\n", "python" }, /* the name goes before the line */
		{ "x.txt", "#!/bin/bash\n", "bash" },
		{ "x", "", NULL },
		{ "x.", "", NULL },
		{ ".py", "", NULL },
		{ "dir.py/x", "", NULL },
		{ "", "", NULL },
		{ NULL, "#!/bin/bash", "bash" },
		{ NULL, "#! /bin/sh -e\n", "bash" },
		{ NULL, "#!/usr/bin/env python3\nprint(1)\n", "python" },
		{ NULL, "#!/usr/bin/env -S python3 -u\n", "python" },
		{ NULL, "#!/usr/bin/env -i A=b python3\n", "python" },
		{ NULL, "#!/usr/bin/env\tpython3\r\n", "python" },
		{ NULL, "#!/usr/bin/python3.11\n", "python" },
		{ NULL, "#!/usr/bin/python2.7\n", "python" },
		{ NULL, "#!python\n", "python" },
		{ NULL, "#!/usr/bin/env\n", NULL },
		{ NULL, "#!/usr/bin/env -S\n", NULL },
		{ NULL, "#!\n/bin/bash\n", NULL },
		{ NULL, "#!", NULL },
		{ NULL, "#", NULL },
		{ NULL, "", NULL },
		{ NULL, " #!/bin/bash\n", NULL },
		{ NULL, "#!/usr/bin/perl\n", NULL },
		{ NULL, "#!/opt/bash/3.11\n", NULL },
		{ NULL, "#!/bin/bash/\n", NULL },
	};
	struct runtimes *r = load(*state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* An exact copy, so that ASan sees a read past its end. */
		size_t len = strlen(cases[i].code);
		_cleanup_free_ char *code = xmalloc(len);
		const struct runtime *rt;

		memcpy(code, cases[i].code, len);
		rt = runtimes_guess(r, cases[i].file, code, len);
		print_message("%s, <%s>: %s\n", cases[i].file ? cases[i].file : "(no name)",
			      cases[i].code, rt ? rt->name : "nothing");
		if (cases[i].expect)
			assert_true(rt && strcmp(rt->name, cases[i].expect) == 0);
		else
			assert_null(rt);
	}
	assert_null(runtimes_guess(r, "x", NULL, 0));
	assert_null(runtimes_guess(r, NULL, "#!/bin/\0bash\n", 13));
	runtimes_free(r);
}

/* A line without an end is not read to its end. */
static void test_guess_long_line(void **state)
{
	struct runtimes *r = load(*state);
	_cleanup_free_ char *code = xmalloc(100000);

	memset(code, '/', 100000);
	memcpy(code, "#!", 2);
	memcpy(code + 99996, "bash", 4);
	assert_null(runtimes_guess(r, NULL, code, 100000));
	runtimes_free(r);
}

static void test_probe(void **state)
{
	const struct world *w = *state;
	struct runtimes *r;

	put(w->second, "good", "runtime.ini",
	    "[toolchain]\nfind = /bin/sh\nversion = {program} -c 'echo Good 2023 v12.34.5-rc1 6.7'\n"
	    "[run]\ndriver = {program}\n[cell]\nprofile = bash\n");
	put(w->second, "mute", "runtime.ini",
	    "[toolchain]\nfind = /bin/sh\nversion = {program} -c 'echo none 7 >&2; exit 3'\n"
	    "[run]\ndriver = {program}\n[cell]\nprofile = bash\n");
	put(w->second, "noisy", "runtime.ini",
	    "[toolchain]\nfind = /bin/sh\nversion = {program} -c 'while :; do echo 1.2.3; done'\n"
	    "[run]\ndriver = {program}\n[cell]\nprofile = bash\n");
	r = load(w);
	runtimes_probe(r);
	for (size_t i = 0; i < runtimes_count(r); i++) {
		const struct runtime *rt = runtimes_at(r, i);

		print_message("%s %s\n", rt->name, rt->version ? rt->version : "(unknown)");
		if (strcmp(rt->name, "good") == 0)
			assert_string_equal(rt->version, "12.34.5");
		else if (strcmp(rt->name, "noisy") == 0)
			assert_string_equal(rt->version, "1.2.3");
		else
			assert_null(rt->version);
	}
	runtimes_free(r);
}

/* What we ship loads, and has what a person wants to know of it. */
static void test_shipped(void **state)
{
	const char *build = getenv("HOTCELL_BUILD");
	_cleanup_free_ char *folder = xasprintf("%s/runtimes", build ? build : ".");
	const char *const folders[] = { folder, NULL };
	const struct runtime *rt = NULL;
	struct error err = { 0 };
	struct runtimes *r = NULL;

	(void)state;
	if (!runtimes_load(&r, folders, &err))
		fail_msg("%s", err.message);
	if (runtimes_problem(r, 0))
		fail_msg("%s", runtimes_problem(r, 0));
	for (size_t i = 0; i < runtimes_count(r); i++) {
		rt = runtimes_at(r, i);
		print_message("%s\n", rt->name);
		assert_string_not_equal(rt->title, rt->name);
		assert_non_null(rt->extensions[0]);
		assert_non_null(rt->install);
		assert_non_null(rt->example);
		assert_true(rt->kind == RUNTIME_COMMAND || rt->files[0]);
	}
	rt = runtimes_guess(r, "x.py", NULL, 0);
	assert_true(rt && strcmp(rt->name, "python") == 0);
	rt = runtimes_guess(r, NULL, "#!/bin/sh\n", 10);
	assert_true(rt && strcmp(rt->name, "bash") == 0);
	runtimes_free(r);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(test_load),
		WORLD_TEST(test_later_folders),
		WORLD_TEST(test_nothing),
		WORLD_TEST(test_find),
		WORLD_TEST(test_alias_of_a_name),
		WORLD_TEST(test_guess),
		WORLD_TEST(test_guess_long_line),
		WORLD_TEST(test_probe),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
