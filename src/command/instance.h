/*
 * A running hotcell: one warden, one front, a number, a block of uids and a cgroup of their own.
 *
 * instance_start() returns when both programs were started and told everything; they load at the
 * same time and may still fail, which shows on their pidfds and on the orders socket. The caller
 * ends it with instance_stop(), after which nothing of it is left.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct config;
struct installation;
struct runtime;
struct runtimes;
struct instance;

struct instance_request {
	const char *mode; /* of hotcell-front: "run", "mcp" */
	const struct config *config;
	const struct installation *installation;
	const struct runtimes *runtimes;
	const struct runtime *only; /* the one language that will be used; NULL: all */
	bool has_client;            /* the front speaks on our stdin and stdout itself */
	bool one_run;               /* there will be one: no cell is prepared for a next */
};

/* NULL with err set; nothing is left then. */
struct instance *instance_start(const struct instance_request *request, struct error *err);

/* Closes the sockets, by which both programs end, and waits; with at_once (and after
 * INSTANCE_STOP_MS anyway) they are killed. Accepts NULL. */
enum { INSTANCE_STOP_MS = 2000 };
void instance_stop(struct instance *instance, bool at_once);

/* Borrowed: the command's end of the orders socket, and what is readable once the program ended. */
int instance_orders(const struct instance *instance);
int instance_front_pidfd(const struct instance *instance);
int instance_warden_pidfd(const struct instance *instance);
