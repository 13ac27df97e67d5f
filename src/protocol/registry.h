/*
 * What the server offers: tools now; resources and prompts get a list of their own beside them. A list
 * that is empty is a capability that is not advertised, and its methods do not exist.
 *
 * Filled at start and unchanged afterwards; shared by every connection.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct call;
struct registry;

/* What a client may assume of a tool; clients take the opposite of what is kind for granted, so every
 * hint is always told. */
enum tool_hints {
	TOOL_READ_ONLY = 1u << 0,
	TOOL_DESTRUCTIVE = 1u << 1,
	TOOL_IDEMPOTENT = 1u << 2,
	TOOL_OPEN_WORLD = 1u << 3,
};

struct tool {
	const char *name;  /* 1 to 64 letters, digits, _ and - */
	const char *title; /* for people */
	const char *description;
	const char *schema;        /* of the arguments, JSON text; what cannot be parsed is a bug */
	const char *output_schema; /* or NULL */
	unsigned hints;

	/* Optional, before the schema check: older names, things this version does not do. False with a
	 * sentence: nothing is run. */
	bool (*prepare)(json_t *arguments, void *data, struct error *err);
	/* The arguments are checked. Ends in exactly one call_done() or call_fail(), now or later. */
	void (*run)(struct call *call);
	/* Optional: end early. The call still ends in call_done() or call_fail(); nobody reads it. */
	void (*cancel)(struct call *call);
	/* Optional: the client does not keep up; stop producing progress until told otherwise. */
	void (*hold)(struct call *call, bool on);
	void *data;
};

struct registry *registry_new(void);
void registry_free(struct registry *registry); /* accepts NULL */

/* Adds a tool, which must outlive the registry. Listed in this order. */
void registry_add_tool(struct registry *registry, const struct tool *tool);

const struct tool *registry_find_tool(const struct registry *registry, const char *name);
const json_t *registry_tool_schema(const struct registry *registry, const struct tool *tool);

/* The array of tools/list, and the object of the capabilities; new references. */
json_t *registry_list_tools(const struct registry *registry);
json_t *registry_capabilities(const struct registry *registry);
