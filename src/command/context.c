#include "command/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

static bool apply_settings(struct config *config, const struct option_list *settings,
			   struct error *err)
{
	for (size_t i = 0; i < settings->n; i++) {
		_cleanup_free_ char *name = xstrdup(settings->text[i]);
		char *equals = strchr(name, '=');

		if (!equals)
			return error_set(err, ERR_INPUT, 0,
					 "--set %s has no '=': give SECTION.KEY=VALUE", name);
		*equals = '\0';
		if (!config_set(config, name, equals + 1, err))
			return false;
	}
	return true;
}

static bool load(struct context *context, const struct option_list *settings, struct error *err)
{
	if (!config_load(&context->config, err) || !apply_settings(&context->config, settings, err))
		return false;
	if (context->config.log_level)
		(void)log_set_level(context->config.log_level);
	return installation_find(&context->installation, &context->config, err) &&
	       runtimes_load(&context->runtimes, installation_folders(&context->installation), err);
}

bool context_load(struct context *ret, const struct option_list *settings, struct error *err)
{
	*ret = (struct context){ 0 };
	config_init(&ret->config);
	if (load(ret, settings, err))
		return true;
	context_done(ret);
	return false;
}

void context_done(struct context *context)
{
	runtimes_free(context->runtimes);
	installation_done(&context->installation);
	config_done(&context->config);
}
