#include "front/mcp_mode.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "config/config.h"
#include "core/core.h"
#include "loop/loop.h"
#include "protocol/registry.h"
#include "runtime/runtime.h"
#include "tools/execute.h"
#include "transport/stdio.h"

enum { CALLS_MAX = 64 };

struct mcp_mode {
	struct execute *execute;
	struct registry *registry;
	struct mcp_stdio *stdio;
	struct loop_watch *command;
};

/* The command says nothing in this mode; that it can be read means that it has gone. */
static void command_gone(unsigned events, void *data)
{
	struct mcp_mode *mode = data;

	(void)events;
	loop_watch_set(mode->command, 0);
	mcp_mode_stop(mode);
}

static struct execute *make_execute(const struct mcp_mode_config *config)
{
	size_t count = runtimes_count(config->runtimes), n = 0;
	_cleanup_free_ struct execute_language *languages = xcalloc(count, sizeof(*languages));
	const struct core_config *limits = config->limits;

	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = runtimes_at(config->runtimes, i);

		if (runtime->program)
			languages[n++] = (struct execute_language){ runtime->name,
								    runtime->aliases };
	}
	return execute_new(&(struct execute_config){
		.core = config->core,
		.languages = languages,
		.n_languages = n,
		.timeout_ms = limits->timeout_ms,
		.timeout_max_ms = limits->timeout_max_ms,
		.memory_bytes = limits->policies[limits->policy].limits.memory_bytes,
		.result_limit = config->config->mcp_result_limit_bytes,
		.content_only = config->config->mcp_content_only,
	});
}

bool mcp_mode_start(struct mcp_mode **ret, const struct mcp_mode_config *config, struct error *err)
{
	struct mcp_mode *mode = xcalloc(1, sizeof(*mode));
	struct mcp_stdio_config stdio = {
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.message_max = config->config->mcp_message_max_bytes,
		/* Calls over this wait; a cell each, and no more cells than are allowed. */
		.calls_max = (size_t)MIN(config->config->cells_max, (uint64_t)CALLS_MAX),
		.ended = config->ended,
		.data = config->data,
	};

	mode->execute = make_execute(config);
	mode->registry = registry_new();
	registry_add_tool(mode->registry, execute_tool(mode->execute));
	stdio.registry = mode->registry;
	mode->command = loop_watch_new(config->loop, config->command, command_gone, mode);
	if (!mode->command || !mcp_stdio_start(config->loop, &stdio, &mode->stdio, err)) {
		mcp_mode_free(mode);
		return false;
	}
	loop_watch_set(mode->command, LOOP_READ);
	*ret = mode;
	return true;
}

void mcp_mode_stop(struct mcp_mode *mode)
{
	mcp_stdio_stop(mode->stdio);
}

void mcp_mode_close(struct mcp_mode *mode)
{
	if (!mode)
		return;
	mode->command = loop_watch_free(mode->command);
	mcp_stdio_free(mode->stdio);
	mode->stdio = NULL;
}

void mcp_mode_free(struct mcp_mode *mode)
{
	if (!mode)
		return;
	mcp_mode_close(mode);
	registry_free(mode->registry);
	execute_free(mode->execute);
	free(mode);
}
