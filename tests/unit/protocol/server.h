/* A connection with three tools and no transport: what it says is kept line by line. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"
#include "protocol/call.h"
#include "protocol/mcp.h"
#include "protocol/registry.h"

enum { LINES_MAX = 256, SLOW_MAX = 128 };

struct server {
	struct loop *loop;
	struct registry *registry;
	struct mcp *mcp;
	char *lines[LINES_MAX];
	size_t n_lines;
	size_t ended; /* times that call_ended came */
};

/* What the tools saw. `slow` ends when the test says so, even when it was cancelled. */
extern struct call *slow_calls[SLOW_MAX];
extern size_t n_slow, n_echo, n_cancelled;
extern int n_held;

struct server *server_new(size_t calls_max);
void server_free(struct server *server);
void server_say(struct server *server, const char *text);

/* Ends a slow call with this text. */
void slow_end(size_t i, const char *text);

/* The next line not yet looked at, as JSON that the caller frees; NULL when there is none. */
json_t *server_next(struct server *server);

/* Whether value has everything that the pattern (JSON text) has. The strings "<any>", "<absent>" and
 * "<empty>" stand for: there is one; there is none; {} exactly. Says what differs. */
bool matches(const char *pattern, const json_t *value);
