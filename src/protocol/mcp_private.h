/* What mcp.c (lifecycle, eras) and methods.c (what a request does) share. */
#pragma once

#include <jansson.h>

#include "protocol/flights.h"
#include "protocol/mcp.h"

enum { MCP_CLIENT_NAME_MAX = 128 };

enum mcp_era { MCP_LEGACY = 1u << 0, MCP_MODERN = 1u << 1 };

struct mcp {
	struct mcp_config config;
	struct flights *flights;
	/* The legacy handshake, once it has happened. */
	const char *version; /* NULL: not yet */
	char client[MCP_CLIENT_NAME_MAX];
};

/* One request on its way to its answer. */
struct mcp_request {
	struct mcp *mcp;
	enum mcp_era era;
	json_t *id;
	const char *method;
	json_t *params; /* an object, or NULL */
	json_t *meta;   /* params._meta, an object, or NULL */
	const char *client;
	size_t bytes; /* of the message */
};

/* Answer now. result is taken. */
void mcp_answer(const struct mcp_request *request, json_t *result);
void mcp_answer_error(const struct mcp_request *request, int code, json_t *data, const char *fmt,
		      ...) _printf_(4, 5);

/* A result as its era wants it. */
json_t *mcp_finish_result(enum mcp_era era, json_t *result);

/* What the server says of itself. */
json_t *mcp_server_info(void);
extern const char mcp_instructions[];
extern const char *const mcp_modern_versions[]; /* newest first, ended by NULL */
extern const char *const mcp_legacy_versions[];

json_t *mcp_strings(const char *const *list);

/* Does what the method says; a method that the era does not have is refused. */
void mcp_dispatch(const struct mcp_request *request);

/* initialize: answers and remembers. */
void mcp_initialize(const struct mcp_request *request);
