#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "wire/cell_spec.h"

static struct cell_spec good_spec(void)
{
	struct cell_spec spec = {
		.profile = CELL_PROFILE_PYTHON,
		.limits = {
			.memory_bytes = 256 << 20,
			.cpu_milli = 500,
			.processes = 64,
			.workspace_bytes = 64 << 20,
			.workspace_inodes = 10000,
			.tmp_bytes = 16 << 20,
			.open_files = 1024,
		},
		.code_path = "/tmp/main.sh",
	};

	assert_int_equal(cell_spec_add_arg(&spec, "/usr/bin/bash"), 0);
	assert_int_equal(cell_spec_add_arg(&spec, ""), 0);
	assert_int_equal(cell_spec_add_env(&spec, "HOME", "/workspace"), 0);
	return spec;
}

static void expect_refused(const struct cell_spec *spec, const char *part)
{
	const char *why = NULL;

	assert_int_equal(cell_spec_check(spec, &why), -EINVAL);
	assert_non_null(why);
	print_message("refused: %s\n", why);
	assert_non_null(strstr(why, part));
	assert_int_equal(cell_spec_check(spec, NULL), -EINVAL);
}

static void test_good(void **state)
{
	struct cell_spec spec = good_spec();
	const char *why = "x";

	(void)state;
	assert_int_equal(cell_spec_check(&spec, &why), 0);
	assert_null(why);
	spec.flags = CELL_DRIVER | CELL_LOOPBACK;
	spec.code_path[0] = '\0';
	spec.trees = UINT32_MAX;
	assert_int_equal(cell_spec_check(&spec, NULL), 0);
}

#define LIMIT(field, min, max)                                        \
	{                                                             \
#field, offsetof(struct cell_limits, field), min, max \
	}

/* Each limit: its least and its most are allowed, one beyond is not, and neither are 0 and all ones. */
static void test_limits(void **state)
{
	static const struct {
		const char *name;
		size_t offset;
		uint64_t min, max;
	} rows[] = {
		LIMIT(memory_bytes, 8u << 20, (uint64_t)1 << 40),
		LIMIT(cpu_milli, 10, 1024 * 1000),
		LIMIT(processes, 4, 32768),
		LIMIT(workspace_bytes, 64u << 10, (uint64_t)1 << 40),
		LIMIT(workspace_inodes, 16, 16u << 20),
		LIMIT(tmp_bytes, 64u << 10, (uint64_t)1 << 40),
		LIMIT(open_files, 16, 1u << 20),
	};

	(void)state;
	/* A limit that is added must be added here. */
	assert_int_equal(sizeof(struct cell_limits), ARRAY_SIZE(rows) * sizeof(uint64_t));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cell_spec spec = good_spec();
		uint64_t *field = (uint64_t *)((char *)&spec.limits + rows[i].offset);

		*field = rows[i].min;
		assert_int_equal(cell_spec_check(&spec, NULL), 0);
		*field = rows[i].max;
		assert_int_equal(cell_spec_check(&spec, NULL), 0);
		*field = rows[i].min - 1;
		expect_refused(&spec, rows[i].name);
		*field = rows[i].max + 1;
		expect_refused(&spec, rows[i].name);
		*field = 0;
		expect_refused(&spec, rows[i].name);
		*field = UINT64_MAX;
		expect_refused(&spec, rows[i].name);
	}
}

static void test_flags_and_profile(void **state)
{
	struct cell_spec spec = good_spec();

	(void)state;
	spec.flags = CELL_FLAGS_ALL + 1;
	expect_refused(&spec, "flag");
	spec.flags = 1u << 31;
	expect_refused(&spec, "flag");
	spec = good_spec();
	spec.profile = CELL_PROFILE_COUNT - 1;
	assert_int_equal(cell_spec_check(&spec, NULL), 0);
	spec.profile = CELL_PROFILE_COUNT;
	expect_refused(&spec, "profile");
	spec.profile = UINT32_MAX;
	expect_refused(&spec, "profile");
}

static void test_strings(void **state)
{
	static const struct {
		uint32_t argc, envc, len;
		char strings[8];
		const char *why; /* NULL: good */
	} cases[] = {
		{ 1, 0, 3, "/a\0", NULL },
		{ 2, 1, 8, "/a\0\0B=1\0", NULL },
		{ 0, 0, 3, "/a\0", "few" },
		{ 0, 1, 3, "/a\0", "few" },
		{ 1, 0, 0, "/a\0", "long" },
		{ 1, 0, 2, "/a\0", "end" },
		{ 2, 0, 3, "/a\0", "number" },
		{ 1, 0, 4, "/a\0\0", "number" },
		{ 1, 1, 3, "/a\0", "number" },
		{ 1, 0, 2, "a\0", "absolute" },
		{ 1, 0, 1, "\0", "absolute" },
		{ CELL_ARGS_MAX + 1, 0, 3, "/a\0", "few" },
		{ 1, CELL_ENV_MAX + 1, 3, "/a\0", "few" },
		{ UINT32_MAX, 2, 3, "/a\0", "few" },
		{ 1, UINT32_MAX, 3, "/a\0", "few" },
		{ 1, 0, CELL_STRINGS_MAX + 1, "/a\0", "long" },
		{ 1, 0, UINT32_MAX, "/a\0", "long" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cell_spec spec = good_spec();

		print_message("case %zu\n", i);
		spec.argc = cases[i].argc;
		spec.envc = cases[i].envc;
		spec.strings_len = cases[i].len;
		memset(spec.strings, 'x', sizeof(spec.strings));
		memcpy(spec.strings, cases[i].strings, sizeof(cases[i].strings));
		if (cases[i].why)
			expect_refused(&spec, cases[i].why);
		else
			assert_int_equal(cell_spec_check(&spec, NULL), 0);
	}
}

static void test_code_path(void **state)
{
	static const struct {
		const char *path;
		bool good;
	} cases[] = {
		{ "/tmp/main.sh", true },  { "/tmp/a", true },
		{ "/tmp/a..b", true },     { "", false },
		{ "/tmp/", false },        { "/tmp", false },
		{ "/tmp/.", false },       { "/tmp/..", false },
		{ "/tmp/.hidden", false }, { "/tmp/a/b", false },
		{ "/tmp//a", false },      { "/tmp/../etc/x", false },
		{ "tmp/main.sh", false },  { "/etc/passwd", false },
		{ "/workspace/x", false }, { "/tmpx", false },
	};
	struct cell_spec spec = good_spec();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("code_path \"%s\"\n", cases[i].path);
		snprintf(spec.code_path, sizeof(spec.code_path), "%s", cases[i].path);
		assert_int_equal(cell_spec_check(&spec, NULL), cases[i].good ? 0 : -EINVAL);
	}
	memset(spec.code_path, 'x', sizeof(spec.code_path));
	memcpy(spec.code_path, "/tmp/", 5);
	expect_refused(&spec, "end");
}

/* Adding stops at the limits and leaves a spec that is still whole. */
static void test_add(void **state)
{
	struct cell_spec spec = good_spec();
	static char text[CELL_STRINGS_MAX + 1];
	size_t room;

	(void)state;
	assert_int_equal(cell_spec_add_arg(&spec, "late"), -E2BIG); /* after the environment */
	for (uint32_t i = spec.envc; i < CELL_ENV_MAX; i++)
		assert_int_equal(cell_spec_add_env(&spec, "N", "v"), 0);
	assert_int_equal(cell_spec_add_env(&spec, "N", "v"), -E2BIG);
	assert_int_equal(cell_spec_check(&spec, NULL), 0);

	spec = good_spec();
	memset(text, 'x', sizeof(text));
	room = CELL_STRINGS_MAX - spec.strings_len - strlen("N=") - 1;
	text[room + 1] = '\0';
	assert_int_equal(cell_spec_add_env(&spec, "N", text), -E2BIG);
	assert_int_equal(cell_spec_check(&spec, NULL), 0);
	text[room] = '\0';
	assert_int_equal(cell_spec_add_env(&spec, "N", text), 0);
	assert_int_equal(spec.strings_len, CELL_STRINGS_MAX);
	assert_int_equal(cell_spec_check(&spec, NULL), 0);

	spec = (struct cell_spec){ 0 };
	for (int i = 0; i < CELL_ARGS_MAX; i++)
		assert_int_equal(cell_spec_add_arg(&spec, "a"), 0);
	assert_int_equal(cell_spec_add_arg(&spec, "a"), -E2BIG);
}

static void test_vectors(void **state)
{
	struct cell_spec spec = good_spec();
	char *argv[CELL_ARGS_MAX + 1], *envp[CELL_ENV_MAX + 1];

	(void)state;
	cell_spec_vectors(&spec, argv, envp);
	assert_string_equal(argv[0], "/usr/bin/bash");
	assert_string_equal(argv[1], "");
	assert_null(argv[2]);
	assert_string_equal(envp[0], "HOME=/workspace");
	assert_null(envp[1]);

	/* As many as there can be. */
	spec = (struct cell_spec){ 0 };
	for (int i = 0; i < CELL_ARGS_MAX; i++)
		assert_int_equal(cell_spec_add_arg(&spec, "/a"), 0);
	for (int i = 0; i < CELL_ENV_MAX; i++)
		assert_int_equal(cell_spec_add_env(&spec, "N", ""), 0);
	cell_spec_vectors(&spec, argv, envp);
	assert_string_equal(argv[CELL_ARGS_MAX - 1], "/a");
	assert_null(argv[CELL_ARGS_MAX]);
	assert_string_equal(envp[CELL_ENV_MAX - 1], "N=");
	assert_null(envp[CELL_ENV_MAX]);
}

static void test_strings_split(void **state)
{
	static const struct {
		const char *text;
		size_t len, n;
		bool expect;
	} cases[] = {
		{ "", 0, 0, true },        { "a\0", 2, 1, true },   { "a\0\0", 3, 2, true },
		{ "a\0bc\0", 5, 2, true }, { "a\0", 2, 0, false },  { "a\0", 2, 2, false },
		{ "ab", 2, 1, false },     { "a\0b", 3, 2, false }, { "a\0b\0", 4, 1, false },
		{ "", 0, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[8], *list[4];

		print_message("case %zu\n", i);
		memcpy(text, cases[i].text, cases[i].len);
		assert_int_equal(strings_split(text, cases[i].len, cases[i].n, list),
				 cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_flags_and_profile),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_code_path),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_strings_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
