/* What every subcommand that uses languages needs first: configuration, installation, runtimes. */
#pragma once

#include "base/error.h"
#include "command/installation.h"
#include "command/options.h"
#include "config/config.h"
#include "runtime/runtime.h"

struct context {
	struct config config;
	struct installation installation;
	struct runtimes *runtimes;
};

/* settings: from --set, each "section.key=value". On failure there is nothing to free. */
bool context_load(struct context *ret, const struct option_list *settings, struct error *err);
void context_done(struct context *context);
