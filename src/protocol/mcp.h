/*
 * One MCP connection, in both eras: messages in, messages out, calls in flight. Knows no transport.
 *
 * The era is chosen for each message by its body. Modern (2026-07-28): a request whose params._meta
 * names a protocol version; nothing is remembered between two of them. Legacy (2025-11-25 and older):
 * the handshake of `initialize`, remembered for the connection.
 *
 * Calls run side by side and are answered as they finish; beyond calls_max they wait here in order, and
 * beyond MCP_WAITING_MAX or MCP_WAITING_BYTES mcp_is_full() asks the transport to read no more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct loop;
struct mcp;
struct registry;

enum {
	MCP_CALLS_MAX = 64,
	MCP_WAITING_MAX = 1024,
	MCP_WAITING_BYTES = 32 << 20,
};

struct mcp_config {
	struct loop *loop;
	const struct registry *registry;
	size_t calls_max; /* 0: MCP_CALLS_MAX */
	/* One message, without a newline in it or after it. Neither of these two may free the mcp. */
	void (*send)(const char *text, size_t len, void *data);
	/* A call has ended: mcp_is_full() may have changed, mcp_calls() has. Optional. */
	void (*call_ended)(void *data);
	void *data;
};

struct mcp *mcp_new(const struct mcp_config *config);
void mcp_free(
	struct mcp *mcp); /* accepts NULL; calls in flight are cancelled, nobody hears of them */

/* One message as it came. */
void mcp_receive(struct mcp *mcp, const char *text, size_t len);

/* Refuses something that never became a message: too large. */
void mcp_refuse(struct mcp *mcp, const char *fmt, ...) _printf_(2, 3);

bool mcp_is_full(const struct mcp *mcp);
size_t mcp_calls(
	const struct mcp *mcp); /* in flight or waiting, without those that were cancelled */

/* The client does not read: no progress, no new runs, and what runs may not print, until it does. */
void mcp_hold(struct mcp *mcp, bool on);

/* Cancels everything; no answers. */
void mcp_cancel_all(struct mcp *mcp);
