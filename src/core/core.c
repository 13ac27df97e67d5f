#include "core/core.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "core/core_private.h"

struct core *core_new(struct loop *loop, struct backend *backend, const struct runtimes *runtimes,
		      const struct core_config *config)
{
	struct core *core = xcalloc(1, sizeof(*core));

	core->loop = loop;
	core->backend = backend;
	core->runtimes = runtimes;
	core->config = *config;
	return core;
}

void core_free(struct core *core)
{
	if (!core)
		return;
	while (core->runs)
		run_release(core->runs);
	free(core);
}
