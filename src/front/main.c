/*
 * hotcell-front: talks to clients and decides everything; may do nothing itself.
 *
 * It is started by the hotcell command with its sockets open and its settings as text. It reads those
 * and the runtimes, gives up all it can (lockdown.c), and only then looks at its first order.
 */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/native.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/config.h"
#include "core/core.h"
#include "core/digest.h"
#include "core/policy.h"
#include "front/arguments.h"
#include "front/lockdown.h"
#include "front/mcp_mode.h"
#include "loop/loop.h"
#include "runtime/runtime.h"
#include "transport/order.h"
#include "wire/order_messages.h"

enum {
	SETTINGS_TEXT_MAX = 256 << 10,
	FIRST_FREE_FD = 6,
};

struct front {
	struct config config;
	struct core_config limits;
	struct runtimes *runtimes;
	struct loop *loop;
	struct backend *backend;
	struct core *core;
	bool serves_mcp;
	struct order *order;  /* `hotcell run` */
	struct mcp_mode *mcp; /* `hotcell mcp` */
};

static bool read_settings(struct front *front, struct error *err)
{
	_cleanup_buf_ struct buf text;
	int r;

	buf_init(&text, SETTINGS_TEXT_MAX);
	r = fd_read_all(FRONT_FD_SETTINGS, &text);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "hotcell-front cannot read its settings");
	(void)fd_close(FRONT_FD_SETTINGS);
	return config_read_text(&front->config, "settings", buf_string(&text), err);
}

static bool take_limits(struct front *front, const struct arguments *arguments, struct error *err)
{
	const struct config *config = &front->config;
	struct core_config *limits = &front->limits;

	core_config_defaults(limits);
	if (!policy_find(config->run_policy, &limits->policy, err))
		return false;
	limits->timeout_ms = config->run_timeout_ms;
	limits->timeout_max_ms = config->run_timeout_max_ms;
	limits->memory_max_bytes = config->run_memory_max_bytes;
	if (arguments->has_trees)
		limits->trees = arguments->trees;
	for (size_t i = 0; i < POLICY_COUNT; i++) {
		const struct config_policy *from = &config->policies[i];
		struct cell_limits *to = &limits->policies[i].limits;

		to->memory_bytes = from->memory_bytes;
		to->cpu_milli = from->cpu_milli;
		to->processes = from->processes;
		to->workspace_bytes = from->workspace_bytes;
		to->tmp_bytes = from->tmp_bytes;
	}
	return true;
}

static bool load_runtimes(struct front *front, const struct arguments *arguments, struct error *err)
{
	if (!runtimes_load(&front->runtimes, arguments->folders, err))
		return false;
	for (size_t i = 0; runtimes_problem(front->runtimes, i); i++)
		log_event(LOG_DEBUG, "runtime.problem", "why", runtimes_problem(front->runtimes, i),
			  NULL);
	return true;
}

/* Everything that needs the file system or a privilege, and nothing that comes from a client. */
static bool prepare(struct front *front, int argc, char **argv, struct error *err)
{
	struct lockdown how = { .parent = getppid(), .first_free = FIRST_FREE_FD };
	struct arguments arguments;

	config_init(&front->config);
	/* Ctrl-C goes to the whole foreground group; what it means is the command's to say. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	if (!arguments_parse(&arguments, argc, argv, err) || !read_settings(front, err))
		return false;
	(void)log_set_level(front->config.log_level);
	if (!take_limits(front, &arguments, err) || !load_runtimes(front, &arguments, err))
		return false;
	if (!digest_prepare())
		return error_set(err, ERR_SYSTEM, 0,
				 "hotcell-front cannot load SHA-256 from libcrypto");
	/* From /dev/urandom, which cannot be opened later. */
	json_object_seed(0);
	front->serves_mcp = arguments.serves_mcp;
	how.uid = arguments.uid;
	how.has_uid = arguments.has_uid;
	how.keeps_uid = arguments.keeps_uid;
	return lockdown(&how, err);
}

static void warden_lost(const struct error *err, void *data)
{
	struct front *front = data;

	if (front->order) {
		order_give_up(front->order, err);
		return;
	}
	log_event(LOG_ERROR, "warden.lost", "why", err->message, NULL);
	mcp_mode_stop(front->mcp);
}

static void client_ended(void *data)
{
	struct front *front = data;

	loop_stop(front->loop);
}

static bool start_mode(struct front *front, struct error *err)
{
	if (!front->serves_mcp) {
		front->order = order_new(front->loop, front->core, FRONT_FD_ORDERS, client_ended,
					 front);
		return true;
	}
	return mcp_mode_start(&front->mcp,
			      &(struct mcp_mode_config){ .loop = front->loop,
							 .core = front->core,
							 .runtimes = front->runtimes,
							 .config = &front->config,
							 .limits = &front->limits,
							 .command = FRONT_FD_ORDERS,
							 .ended = client_ended,
							 .data = front },
			      err);
}

static bool serve(struct front *front, struct error *err)
{
	bool good;

	front->loop = loop_new();
	if (!front->loop)
		return error_set(err, ERR_SYSTEM, 0, "hotcell-front cannot make its event loop");
	front->backend = native_new(front->loop, FRONT_FD_WARDEN, warden_lost, front);
	front->core = core_new(front->loop, front->backend, front->runtimes, &front->limits);
	good = start_mode(front, err);
	if (good)
		loop_run(front->loop);
	order_free(front->order);
	mcp_mode_close(front->mcp);
	core_free(front->core);
	mcp_mode_free(front->mcp);
	backend_free(front->backend);
	loop_free(front->loop);
	return good;
}

int main(int argc, char **argv)
{
	struct front front = { 0 };
	struct error err;
	bool good;

	log_set_program("hotcell-front");
	good = prepare(&front, argc, argv, &err) && serve(&front, &err);
	/* Said once: by the command, or here when it cannot be told. */
	if (!good && !order_refuse(FRONT_FD_ORDERS, &err))
		log_event(LOG_ERROR, "front.failed", "why", err.message, NULL);
	runtimes_free(front.runtimes);
	config_done(&front.config);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
