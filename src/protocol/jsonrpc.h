/*
 * JSON-RPC 2.0, one message at a time: text to a message that is known to be well-formed, and back.
 *
 * What a stranger wrote is bounded before it is parsed: depth and number of values, because a value
 * takes a hundred times the memory of its text. MCP's own rules are in here too: an id is a string or
 * an integer, params are an object.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

enum {
	JSONRPC_DEPTH_MAX = 64,
	JSONRPC_VALUES_MAX = 100 * 1000,
};

enum jsonrpc_error {
	JSONRPC_PARSE_ERROR = -32700,
	JSONRPC_INVALID_REQUEST = -32600,
	JSONRPC_METHOD_NOT_FOUND = -32601,
	JSONRPC_INVALID_PARAMS = -32602,
	JSONRPC_INTERNAL_ERROR = -32603,
};

enum jsonrpc_kind {
	JSONRPC_INVALID, /* answer it with code, why, and the id if there is one */
	JSONRPC_REQUEST,
	JSONRPC_NOTIFICATION,
	JSONRPC_RESPONSE,
};

/* Everything but root is part of root. */
struct jsonrpc_message {
	enum jsonrpc_kind kind;
	json_t *root; /* NULL when it could not be parsed */
	json_t *id;   /* of a request or response; of an invalid message when it has a good one */
	const char *method;
	json_t *params; /* an object, or NULL */
	enum jsonrpc_error code;
	char why[160];
};

void jsonrpc_parse(struct jsonrpc_message *message, const char *text, size_t len);
void jsonrpc_message_done(struct jsonrpc_message *message);
#define _cleanup_jsonrpc_ _cleanup_(jsonrpc_message_done)

/* One line of text without a newline in it, the caller's to free. result, data and params are taken;
 * id (which may be NULL for an error: then there is none in it) is not; data may be NULL. */
char *jsonrpc_result(json_t *id, json_t *result);
char *jsonrpc_error(json_t *id, int code, const char *message, json_t *data);
char *jsonrpc_notification(const char *method, json_t *params);
