/* hotcell mcp: the front speaks MCP on our stdin and stdout; we only watch over it. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "command/commands.h"
#include "command/context.h"
#include "command/instance.h"
#include "command/order.h"
#include "wire/order_messages.h"

/* For the front to end after it has let go of the warden. */
enum { FRONT_END_MS = 1000 };

struct mcp_options {
	bool help;
	struct option_list settings;
};

static const struct option_row rows[] = {
	{ 0, "set", "KEY=VALUE", option_take_list, offsetof(struct mcp_options, settings), 0, 0,
	  "change a setting (see `hotcell help settings`)" },
	{ 'h', "help", NULL, option_take_switch, offsetof(struct mcp_options, help), 0, 0,
	  "this text" },
};

/* A client that dies takes us along, even if somebody else still holds our stdin open. */
static bool die_with_client(void)
{
	pid_t parent = getppid();

	return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == parent;
}

/* The only thing that the front tells us in this mode: why it cannot start. True when it just ended. */
static bool take_refusal(int orders, struct error *err)
{
	_cleanup_fds_ struct wire_fds fds;
	struct order_error refusal;
	ssize_t n = wire_recv(orders, &refusal, sizeof(refusal), &fds);

	if (n == 0)
		return true;
	if (n != sizeof(refusal) || refusal.header.type != ORDER_ERROR)
		return error_set(err, ERR_SYSTEM, 0, "hotcell-front said something unexpected");
	refusal.message[sizeof(refusal.message) - 1] = '\0';
	return error_set(err, ERR_SYSTEM, 0, "%.500s", refusal.message);
}

/* Until the front has ended by itself, a signal asks for the end, or the warden is lost. */
static bool watch(const struct instance *instance, int signals, struct error *err)
{
	enum { FRONT, WARDEN, SIGNALS, ORDERS };
	struct pollfd fds[] = {
		[FRONT] = { .fd = instance_front_pidfd(instance), .events = POLLIN },
		[WARDEN] = { .fd = instance_warden_pidfd(instance), .events = POLLIN },
		[SIGNALS] = { .fd = signals, .events = POLLIN },
		[ORDERS] = { .fd = instance_orders(instance), .events = POLLIN },
	};

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
		;
	if (fds[ORDERS].revents & POLLIN)
		return take_refusal(fds[ORDERS].fd, err);
	if (!fds[WARDEN].revents || fds[SIGNALS].revents)
		return true;
	/* It ends when the front lets go of it, so the front may be the one that is ending. */
	if (poll(&fds[FRONT], 1, FRONT_END_MS) == 1)
		return true;
	return error_set(err, ERR_SYSTEM, 0, "hotcell-warden has ended");
}

static int serve(const struct context *context)
{
	const struct instance_request request = {
		.mode = "mcp",
		.config = &context->config,
		.installation = &context->installation,
		.runtimes = context->runtimes,
		.has_client = true,
	};
	_cleanup_close_ int signals = order_signals();
	struct instance *instance;
	struct error err;
	int status;

	if (signals < 0) {
		(void)error_set(&err, ERR_SYSTEM, -signals, "cannot wait for signals");
		return command_fail(&err);
	}
	instance = instance_start(&request, &err);
	if (!instance)
		return command_fail(&err);
	status = watch(instance, signals, &err) ? EXIT_STATUS_OK : command_fail(&err);
	instance_stop(instance, false);
	return status;
}

static int run(int argc, char **argv)
{
	struct mcp_options options = { 0 };
	struct context context;
	struct error err;
	int first, status;

	if (!options_parse(rows, ARRAY_SIZE(rows), argc, argv, &options, &first, &err))
		return command_fail(&err);
	if (options.help) {
		command_print_help(&command_mcp, stdout);
		return EXIT_STATUS_OK;
	}
	if (first < argc) {
		(void)error_set(&err, ERR_INPUT, 0, "hotcell mcp takes no argument '%s'",
				argv[first]);
		return command_fail(&err);
	}
	if (!die_with_client())
		return EXIT_STATUS_FAILED;
	if (!context_load(&context, &options.settings, &err))
		return command_fail(&err);
	status = serve(&context);
	context_done(&context);
	return status;
}

const struct command command_mcp = {
	.name = "mcp",
	.summary = "Serve MCP on stdin and stdout, for an assistant that starts it",
	.usage = "[OPTION...]",
	.details =
		"Add it to Claude Code:    claude mcp add hotcell -- hotcell mcp\n"
		"Any other client:         command \"hotcell\", arguments [\"mcp\"]\n\n"
		"stdout carries the protocol only; the log goes to stderr (LOG_LEVEL=debug for more).\n",
	.options = rows,
	.n_options = ARRAY_SIZE(rows),
	.run = run,
};
