/*
 * MCP on two descriptors: one JSON message a line, in and out. What `hotcell mcp` is.
 *
 * It begins to read when it is started, so it is started after the front's lock-down, and it needs no
 * cell to answer initialize, ping and tools/list. End of input ends everything: what runs gets
 * MCP_STDIO_GRACE_MS to finish, is cancelled then, what can be written at once is written, and `ended` is
 * called. A client that closes our output has gone, and the same happens with no grace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct loop;
struct mcp_stdio;
struct registry;

enum {
	MCP_STDIO_MESSAGE_MAX = 32 << 20, /* mcp.message_max */
	/* Answers that the client has not read: then we read no more from it... */
	MCP_STDIO_QUEUE_MAX = 64 << 20,
	/* ...and long before that its programs may not print more and no new ones start. */
	MCP_STDIO_QUEUE_HOLD = 1 << 20,
	MCP_STDIO_GRACE_MS = 300,
	MCP_STDIO_FLUSH_MS = 200,
};

struct mcp_stdio_config {
	/* Borrowed. Pipes, sockets, terminals or files; non-blocking until the end, then as they were. */
	int in, out;
	const struct registry *registry;
	size_t message_max; /* 0: MCP_STDIO_MESSAGE_MAX */
	/* Calls at once, the others wait; 0: MCP_CALLS_MAX. Not more than there can be cells, with those
	 * kept ready and those being taken down. */
	size_t calls_max;
	/* Once, from the loop: everything is over; free it, here or later. */
	void (*ended)(void *data);
	void *data;
};

bool mcp_stdio_start(struct loop *loop, const struct mcp_stdio_config *config,
		     struct mcp_stdio **ret, struct error *err);

/* As if the input had ended, but with no grace for what runs: SIGTERM, a lost warden. `ended` follows. */
void mcp_stdio_stop(struct mcp_stdio *stdio);

void mcp_stdio_free(struct mcp_stdio *stdio); /* accepts NULL */
