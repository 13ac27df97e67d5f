#include "wire/cell_spec.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

/* One row a limit: below the minimum nothing can run, above the maximum it is no limit. */
static const struct range {
	size_t offset;
	uint64_t min, max;
	const char *why;
} ranges[] = {
#define LIMIT(field, min, max)                                                           \
	{                                                                                \
		offsetof(struct cell_limits, field), min, max, #field " is out of range" \
	}
	LIMIT(memory_bytes, 8u << 20, (uint64_t)1 << 40),
	LIMIT(cpu_milli, 10, 1024 * 1000),
	LIMIT(processes, 4, 32768),
	LIMIT(workspace_bytes, 64u << 10, (uint64_t)1 << 40),
	LIMIT(workspace_inodes, 16, 16u << 20),
	LIMIT(tmp_bytes, 64u << 10, (uint64_t)1 << 40),
	LIMIT(open_files, 16, 1u << 20),
#undef LIMIT
};

static const char *check_limits(const struct cell_limits *limits)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		uint64_t value;

		memcpy(&value, (const char *)limits + ranges[i].offset, sizeof(value));
		if (value < ranges[i].min || value > ranges[i].max)
			return ranges[i].why;
	}
	return NULL;
}

static const char *check_strings(const struct cell_spec *spec)
{
	size_t seen = 0;

	if (spec->argc == 0 || spec->argc > CELL_ARGS_MAX || spec->envc > CELL_ENV_MAX)
		return "too few or too many arguments or environment variables";
	if (spec->strings_len == 0 || spec->strings_len > CELL_STRINGS_MAX)
		return "arguments and environment are too long";
	if (spec->strings[spec->strings_len - 1] != '\0')
		return "strings do not end";
	for (size_t i = 0; i < spec->strings_len; i++)
		seen += spec->strings[i] == '\0';
	if (seen != spec->argc + spec->envc)
		return "the number of strings is wrong";
	if (spec->strings[0] != '/')
		return "the program is not an absolute path";
	return NULL;
}

static const char *check_code_path(const struct cell_spec *spec)
{
	const char *path = spec->code_path;
	const char *name;

	if (!memchr(path, '\0', sizeof(spec->code_path)))
		return "code_path does not end";
	if (path[0] == '\0')
		return (spec->flags & CELL_DRIVER) ? NULL : "code_path is missing";
	if (strncmp(path, "/tmp/", 5) != 0)
		return "code_path is not in /tmp";
	name = path + 5;
	if (!*name || strchr(name, '/') || name[0] == '.')
		return "code_path is not a plain name in /tmp";
	return NULL;
}

int cell_spec_check(const struct cell_spec *spec, const char **ret_why)
{
	const char *why = NULL;

	if (spec->flags & ~(uint32_t)CELL_FLAGS_ALL)
		why = "unknown flag";
	else if (spec->profile >= CELL_PROFILE_COUNT)
		why = "unknown profile";
	if (!why)
		why = check_limits(&spec->limits);
	if (!why)
		why = check_strings(spec);
	if (!why)
		why = check_code_path(spec);
	if (ret_why)
		*ret_why = why;
	return why ? -EINVAL : 0;
}

static int add(struct cell_spec *spec, const char *a, const char *between, const char *b)
{
	size_t la = strlen(a), lm = strlen(between), lb = strlen(b);
	char *to = spec->strings + spec->strings_len;

	if (la + lm + lb + 1 > sizeof(spec->strings) - spec->strings_len)
		return -E2BIG;
	memcpy(to, a, la);
	memcpy(to + la, between, lm);
	memcpy(to + la + lm, b, lb + 1);
	spec->strings_len += (uint32_t)(la + lm + lb + 1);
	return 0;
}

int cell_spec_add_arg(struct cell_spec *spec, const char *arg)
{
	int r;

	if (spec->argc >= CELL_ARGS_MAX || spec->envc > 0)
		return -E2BIG;
	r = add(spec, arg, "", "");
	if (r == 0)
		spec->argc++;
	return r;
}

int cell_spec_add_env(struct cell_spec *spec, const char *name, const char *value)
{
	int r;

	if (spec->envc >= CELL_ENV_MAX)
		return -E2BIG;
	r = add(spec, name, "=", value);
	if (r == 0)
		spec->envc++;
	return r;
}

bool strings_split(char *text, size_t len, size_t n, char **ret)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		char *end = at < len ? memchr(text + at, '\0', len - at) : NULL;

		if (!end)
			return false;
		ret[i] = text + at;
		at = (size_t)(end - text) + 1;
	}
	ret[n] = NULL;
	return at == len;
}

void cell_spec_vectors(struct cell_spec *spec, char **argv, char **envp)
{
	char *all[CELL_ARGS_MAX + CELL_ENV_MAX + 1];

	(void)strings_split(spec->strings, spec->strings_len, spec->argc + spec->envc, all);
	memcpy(argv, all, sizeof(*argv) * spec->argc);
	argv[spec->argc] = NULL;
	memcpy(envp, all + spec->argc, sizeof(*envp) * spec->envc);
	envp[spec->envc] = NULL;
}
