#include "tools/execute_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/utf8.h"
#include "json/schema.h"
#include "tools/base64.h"

enum {
	NAME_SHOWN_MAX = 80,
	CPU_MILLI = 1000,
};

/* ---- what this version does not do ---- */

enum harmless { NOTHING, ONLY_TRUE, ONLY_FALSE };

static const struct absent {
	const char *name;
	enum harmless harmless; /* the value that asks for nothing */
	const char *sentence;
} absents[] = {
	{ "session", NOTHING,
	  "this version of hotcell has no sessions: every call starts fresh, so send the whole program in one call and leave session out" },
	{ "environment", NOTHING,
	  "this version of hotcell has no environments: programs can import what is installed on the server, so leave environment out" },
	{ "ml", ONLY_FALSE,
	  "this version of hotcell has no environments: programs can import what is installed on the server, so leave ml out" },
	{ "wait", ONLY_TRUE,
	  "this version of hotcell has no jobs: every call waits for its program, so leave wait out" },
	{ "network", ONLY_FALSE,
	  "the configuration of this server allows no network: send input with files or stdin and leave network out" },
};

static bool is_harmless(const json_t *value, enum harmless harmless)
{
	return (harmless == ONLY_TRUE && json_is_true(value)) ||
	       (harmless == ONLY_FALSE && json_is_false(value));
}

/* Amounts are texts in the schema; a number of bytes becomes one. */
static void write_out_numbers(json_t *limits)
{
	static const char *const names[] = { "memory", "disk", "output" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *value = json_object_get(limits, names[i]);
		char text[32];

		if (!json_is_integer(value))
			continue;
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		(void)json_object_set_new(limits, names[i], json_string(text));
	}
}

bool execute_request_prepare(json_t *arguments, struct error *err)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(arguments, next, key, value)
	{
		if (json_is_null(value))
			(void)json_object_del(arguments, key);
	}
	write_out_numbers(json_object_get(arguments, "limits"));
	for (size_t i = 0; i < ARRAY_SIZE(absents); i++) {
		char shown[SCHEMA_VALUE_SHOWN_MAX + 16];

		value = json_object_get(arguments, absents[i].name);
		if (!value)
			continue;
		schema_show(value, shown, sizeof(shown));
		if (!is_harmless(value, absents[i].harmless))
			return error_set(err, ERR_INPUT, 0, "%s is %s; %s", absents[i].name, shown,
					 absents[i].sentence);
		(void)json_object_del(arguments, absents[i].name);
	}
	return true;
}

/* ---- lists ---- */

static void take_args(struct execute_request *request, const json_t *args)
{
	size_t n = json_array_size(args);

	if (n == 0)
		return;
	request->args = xcalloc(n, sizeof(*request->args));
	for (size_t i = 0; i < n; i++)
		request->args[i] = json_string_value(json_array_get(args, i));
	request->run.args = request->args;
	request->run.n_args = n;
}

static bool is_env_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

	if (!*name || !strchr(letters, *name))
		return false;
	name += strspn(name, letters);
	while (*name && (strchr(letters, *name) || (*name >= '0' && *name <= '9')))
		name++;
	return !*name;
}

static bool take_env(struct execute_request *request, json_t *env, struct error *err)
{
	const char *name;
	json_t *value;

	if (json_object_size(env) == 0)
		return true;
	request->env = xcalloc(json_object_size(env), sizeof(*request->env));
	json_object_foreach(env, name, value)
	{
		size_t shown = utf8_cut(name, MIN(strlen(name), (size_t)NAME_SHOWN_MAX));

		if (!is_env_name(name))
			return error_set(
				err, ERR_INPUT, 0,
				"env has the name \"%.*s\"; allowed are letters, digits and _, not beginning with a digit",
				(int)shown, name);
		request->env[request->run.n_env++] = xasprintf("%s=%s", name,
							       json_string_value(value));
	}
	request->run.env = (const char *const *)request->env;
	return true;
}

static bool take_file(struct execute_request *request, size_t i, const json_t *entry,
		      struct error *err)
{
	const char *path = json_string_value(json_object_get(entry, "path"));
	const json_t *content = json_object_get(entry, "content");
	const char *encoding = json_string_value(json_object_get(entry, "encoding"));
	struct run_input *file = &request->files[i];
	size_t shown = utf8_cut(path, MIN(strlen(path), (size_t)NAME_SHOWN_MAX));
	void *bytes;

	if (!path_is_plain(path))
		return error_set(
			err, ERR_INPUT, 0,
			"files[%zu].path is \"%.*s\"; allowed is a path relative to /workspace without \".\", \"..\" and empty parts, at most %d bytes",
			i, (int)shown, path, PATH_MAX_BYTES);
	*file = (struct run_input){
		.path = path,
		.data = json_string_value(content),
		.len = json_string_length(content),
		.executable = json_is_true(json_object_get(entry, "executable")),
	};
	if (!encoding || strcmp(encoding, "base64") != 0)
		return true;
	if (base64_decode(file->data, file->len, &bytes, &file->len) < 0)
		return error_set(
			err, ERR_INPUT, 0,
			"files[%zu].content (\"%.*s\") is not base64; send encoding \"utf8\" for text",
			i, (int)shown, path);
	file->data = request->decoded[request->n_decoded++] = bytes;
	return true;
}

static bool take_files(struct execute_request *request, const json_t *files, struct error *err)
{
	size_t n = json_array_size(files);

	if (n == 0)
		return true;
	request->files = xcalloc(n, sizeof(*request->files));
	request->decoded = xcalloc(n, sizeof(*request->decoded));
	for (size_t i = 0; i < n; i++)
		if (!take_file(request, i, json_array_get(files, i), err))
			return false;
	request->run.files = request->files;
	request->run.n_files = n;
	return true;
}

/* ---- limits ---- */

/* A number, or a text like "256M" where it counts bytes. */
static bool read_amount(const json_t *value, const char *name, uint64_t *ret, struct error *err)
{
	char shown[SCHEMA_VALUE_SHOWN_MAX + 16];

	if (json_is_number(value)) {
		*ret = (uint64_t)json_number_value(value); /* the schema has bounded it */
		return true;
	}
	if (parse_bytes(json_string_value(value), ret) == 0 && *ret > 0)
		return true;
	schema_show(value, shown, sizeof(shown));
	return error_set(
		err, ERR_INPUT, 0,
		"limits.%s is %s; allowed is a number of bytes or a text like \"256M\" or \"1G\"",
		name, shown);
}

static bool take_limits(struct execute_request *request, const json_t *limits, struct error *err)
{
	struct run_request *run = &request->run;
	const struct {
		const char *name;
		uint64_t *place;
	} amounts[] = {
		{ "memory", &run->limits.memory_bytes },
		{ "processes", &run->limits.processes },
		{ "disk", &run->limits.workspace_bytes },
		{ "output", &run->output_max },
	};

	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		const json_t *value = json_object_get(limits, amounts[i].name);

		if (value && !read_amount(value, amounts[i].name, amounts[i].place, err))
			return false;
	}
	/* At least 1, because 0 would mean "the policy's". */
	if (json_object_get(limits, "cpus"))
		run->limits.cpu_milli = (uint64_t)MAX(
			1, json_number_value(json_object_get(limits, "cpus")) * CPU_MILLI);
	return true;
}

/* ---- the whole ---- */

static const char *string_of(const json_t *arguments, const char *name, size_t *ret_len)
{
	const json_t *value = json_object_get(arguments, name);

	if (ret_len)
		*ret_len = json_string_length(value);
	return json_string_value(value);
}

bool execute_request_make(struct execute_request *request, const json_t *arguments,
			  struct error *err)
{
	struct run_request *run = &request->run;
	const json_t *timeout = json_object_get(arguments, "timeout");

	*request = (struct execute_request){ .run = { .bundle_fd = -1, .stdin_fd = -1 } };
	run->language = string_of(arguments, "language", NULL);
	run->policy = string_of(arguments, "policy", NULL);
	run->code = string_of(arguments, "code", &run->code_len);
	run->stdin_data = string_of(arguments, "stdin", &run->stdin_len);
	run->timeout_ms = timeout ? (uint64_t)json_number_value(timeout) : 0;
	take_args(request, json_object_get(arguments, "args"));
	return take_env(request, json_object_get(arguments, "env"), err) &&
	       take_files(request, json_object_get(arguments, "files"), err) &&
	       take_limits(request, json_object_get(arguments, "limits"), err);
}

void execute_request_done(struct execute_request *request)
{
	free(request->args);
	for (size_t i = 0; i < request->run.n_env; i++)
		free(request->env[i]);
	free(request->env);
	free(request->files);
	for (size_t i = 0; i < request->n_decoded; i++)
		free(request->decoded[i]);
	free(request->decoded);
	*request = (struct execute_request){ 0 };
}
