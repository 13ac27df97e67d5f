/*
 * A whole conversation, one message a line, with the real sandbox_execute and a core that runs nothing:
 * a run ends at a line that begins with '!', having printed that line. '#' holds the output back, and
 * lets it go. Every answer must be JSON.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "core/run.h"
#include "loop/loop.h"
#include "protocol/mcp.h"
#include "protocol/registry.h"
#include "tools/execute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS_MAX = 8 };

/* ---- a core that runs nothing ---- */

struct run {
	struct run *next;
	struct run_callbacks callbacks;
	bool cancelled;
};

static struct run *running;

struct run *run_submit(struct core *core, const struct run_request *request,
		       const struct run_callbacks *callbacks, struct error *err)
{
	struct run *run;
	size_t sum = request->stdin_len + request->code_len;

	(void)core;
	for (size_t i = 0; i < request->n_files; i++)
		sum += strlen(request->files[i].path) + request->files[i].len;
	for (size_t i = 0; i < request->n_env; i++)
		sum += strchr(request->env[i], '=') ? 1 : (abort(), 0);
	for (size_t i = 0; i < request->n_args; i++)
		sum += strlen(request->args[i]);
	if (!request->language || !request->code)
		abort();
	if (sum % 7 == 0) {
		(void)error_set(err, ERR_UNAVAILABLE, 0, "no sandbox here");
		return NULL;
	}
	run = xcalloc(1, sizeof(*run));
	run->callbacks = *callbacks;
	run->next = running;
	running = run;
	return run;
}

void run_cancel(struct run *run)
{
	run->cancelled = true;
}

void run_hold_output(struct run *run, bool hold)
{
	(void)run;
	(void)hold;
}

static void end_run(const char *text, size_t len)
{
	const struct run_output outputs[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8 },
		{ "text/html", text, len },
	};
	const struct run_file file = { .path = "f\xff", .change = "created", .fd = -1 };
	struct run_result result = {
		.exit_code = (int)(len % 3),
		.verdict = (enum run_verdict)(len % RUN_VERDICT_COUNT),
		.out = { .head = text,
			 .head_len = len / 2,
			 .tail = text,
			 .tail_len = len,
			 .total = len * 3 / 2 },
		.err = { .head = text, .head_len = len, .tail = "", .total = len },
		.outputs = outputs,
		.n_outputs = len % 3,
		.files = &file,
		.n_files = len % 2,
		.files_total = len % 2,
		.language = "python",
		.policy = "standard",
		.backend = "fuzz",
	};
	struct run *run = running;

	running = run->next;
	if (!run->cancelled)
		run->callbacks.output(run, 1, text, len, run->callbacks.data_ptr);
	run->callbacks.done(run, &result, NULL, run->callbacks.data_ptr);
	free(run);
}

/* ---- the conversation ---- */

static void check_line(const char *text, size_t len, void *data)
{
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	const char *version = json_string_value(json_object_get(value, "jsonrpc"));

	(void)data;
	if (!version || strcmp(version, "2.0") != 0 || memchr(text, '\n', len))
		abort();
	json_decref(value);
}

static struct registry *make_registry(void)
{
	static const char *const aliases[] = { "py", NULL };
	static const struct execute_language languages[] = { { "bash", NULL },
							     { "python", aliases } };
	const struct execute_config config = {
		.languages = languages,
		.n_languages = ARRAY_SIZE(languages),
		.result_limit = 1024,
	};
	static struct execute *execute;
	struct registry *registry = registry_new();

	execute = execute_new(&config);
	registry_add_tool(registry, execute_tool(execute));
	return registry;
}

static void say(struct mcp *mcp, const char *text, size_t len)
{
	if (len > 0 && text[0] == '!') {
		if (running)
			end_run(text, len);
	} else if (len > 0 && text[0] == '#') {
		mcp_hold(mcp, len > 1);
	} else {
		mcp_receive(mcp, text, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	static struct registry *registry;
	struct mcp_config config = { .calls_max = CALLS_MAX, .send = check_line };
	const char *text = (const char *)data;
	struct mcp *mcp;

	if (!loop) {
		loop = loop_new();
		registry = make_registry();
	}
	config.loop = loop;
	config.registry = registry;
	mcp = mcp_new(&config);
	while (size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t len = end ? (size_t)(end - text) : size;

		say(mcp, text, len);
		size -= MIN(size, len + 1);
		text += len + 1;
	}
	mcp_free(mcp);
	while (running)
		end_run("!", 1);
	loop_step(loop); /* timers are freed in their loop's next turn */
	return 0;
}
