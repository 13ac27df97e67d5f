#include "tools/execute.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "core/run.h"
#include "json/json.h"
#include "protocol/call.h"
#include "protocol/registry.h"
#include "tools/execute_request.h"
#include "tools/execute_result.h"
#include "tools/execute_text.h"

enum {
	MEMORY_USUAL_BYTES = 512 << 20,
	/* Less could not hold a line of facts and a list of files. */
	RESULT_LIMIT_MIN = 1024,
};

struct language {
	char *name;
	char **aliases; /* ended by NULL */
};

struct execute {
	struct tool tool;
	struct core *core;
	char *description, *schema, *content_only;
	size_t result_limit;
	struct language *languages;
	size_t n_languages;
};

/* Aliases become names, so that the schema's list is the list of languages. */
static bool prepare(json_t *arguments, void *data, struct error *err)
{
	const struct execute *execute = data;
	const char *asked;

	if (!execute_request_prepare(arguments, err))
		return false;
	asked = json_string_value(json_object_get(arguments, "language"));
	for (size_t i = 0; asked && i < execute->n_languages; i++) {
		const struct language *language = &execute->languages[i];
		bool is_this = !strcasecmp(asked, language->name);

		for (char **alias = language->aliases; *alias && !is_this; alias++)
			is_this = !strcasecmp(asked, *alias);
		if (is_this) {
			json_put(arguments, "language", json_string(language->name));
			return true;
		}
	}
	return true;
}

static void run_output(_unused_ struct run *run, _unused_ int stream, const void *data, size_t len,
		       void *call)
{
	call_progress(call, data, len);
}

static void run_done(_unused_ struct run *run, const struct run_result *result,
		     const struct error *err, void *data)
{
	struct call *call = data;
	const struct execute *execute = call_tool_data(call);
	struct execute_answer answer;

	if (!result) {
		call_fail(call, err);
		return;
	}
	execute_answer_make(&answer, result, execute->result_limit);
	if (answer.has_media && client_is_listed(execute->content_only, call_client(call))) {
		json_decref(answer.structured);
		answer.structured = NULL;
	}
	call_done(call, answer.content, answer.structured, answer.is_error);
}

static void execute_run(struct call *call)
{
	const struct execute *execute = call_tool_data(call);
	const struct run_callbacks callbacks = {
		.output = run_output,
		.done = run_done,
		.data_ptr = call,
	};
	struct execute_request request;
	struct error err = { 0 };
	struct run *run = NULL;

	if (execute_request_make(&request, call_arguments(call), &err))
		run = run_submit(execute->core, &request.run, &callbacks, &err);
	execute_request_done(&request);
	if (!run) {
		call_fail(call, &err);
		return;
	}
	call_set_data(call, run);
	call_forget_arguments(call);
}

static void execute_cancel(struct call *call)
{
	run_cancel(call_data(call));
}

static void execute_hold(struct call *call, bool on)
{
	run_hold_output(call_data(call), on);
}

static void copy_languages(struct execute *execute, const struct execute_config *config)
{
	execute->n_languages = config->n_languages;
	execute->languages = xcalloc(config->n_languages + 1, sizeof(*execute->languages));
	for (size_t i = 0; i < config->n_languages; i++) {
		const char *const *aliases = config->languages[i].aliases;
		struct language *language = &execute->languages[i];
		size_t n = 0;

		while (aliases && aliases[n])
			n++;
		language->name = xstrdup(config->languages[i].name);
		language->aliases = xcalloc(n + 1, sizeof(*language->aliases));
		for (size_t k = 0; k < n; k++)
			language->aliases[k] = xstrdup(aliases[k]);
	}
}

static struct execute_config with_defaults(struct execute_config config)
{
	if (!config.timeout_ms)
		config.timeout_ms = RUN_TIMEOUT_DEFAULT_MS;
	if (!config.timeout_max_ms)
		config.timeout_max_ms = RUN_TIMEOUT_MAX_MS;
	if (!config.memory_bytes)
		config.memory_bytes = MEMORY_USUAL_BYTES;
	if (!config.result_limit)
		config.result_limit = EXECUTE_RESULT_LIMIT;
	if (!config.content_only)
		config.content_only = EXECUTE_CONTENT_ONLY;
	return config;
}

struct execute *execute_new(const struct execute_config *config)
{
	struct execute_config full = with_defaults(*config);
	struct execute *execute = xcalloc(1, sizeof(*execute));

	execute->core = full.core;
	execute->result_limit = MAX(full.result_limit, (size_t)RESULT_LIMIT_MIN);
	execute->content_only = xstrdup(full.content_only);
	execute->description = execute_description(&full);
	execute->schema = execute_schema(&full);
	copy_languages(execute, &full);
	execute->tool = (struct tool){
		.name = "sandbox_execute",
		.title = "Run a program in a sandbox",
		.description = execute->description,
		.schema = execute->schema,
		.prepare = prepare,
		.run = execute_run,
		.cancel = execute_cancel,
		.hold = execute_hold,
		.data = execute,
	};
	return execute;
}

void execute_free(struct execute *execute)
{
	if (!execute)
		return;
	for (size_t i = 0; i < execute->n_languages; i++) {
		for (char **alias = execute->languages[i].aliases; *alias; alias++)
			free(*alias);
		free(execute->languages[i].aliases);
		free(execute->languages[i].name);
	}
	free(execute->languages);
	free(execute->description);
	free(execute->schema);
	free(execute->content_only);
	free(execute);
}

const struct tool *execute_tool(const struct execute *execute)
{
	return &execute->tool;
}
