#include "protocol/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "json/json.h"

struct entry {
	const struct tool *tool;
	json_t *schema;
};

struct registry {
	struct entry *tools;
	size_t n_tools;
	json_t *listed; /* what tools/list carries */
};

struct registry *registry_new(void)
{
	struct registry *registry = xcalloc(1, sizeof(*registry));

	/* From here on building JSON cannot fail, like every other use of memory. */
	json_set_alloc_funcs(xmalloc, free);
	registry->listed = json_array();
	return registry;
}

void registry_free(struct registry *registry)
{
	if (!registry)
		return;
	for (size_t i = 0; i < registry->n_tools; i++)
		json_decref(registry->tools[i].schema);
	free(registry->tools);
	json_decref(registry->listed);
	free(registry);
}

static json_t *load_schema(const struct tool *tool, const char *text)
{
	json_error_t error;
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!schema) {
		fprintf(stderr, "tool %s: the schema is not JSON: line %d: %s\n", tool->name,
			error.line, error.text);
		abort();
	}
	return schema;
}

static json_t *list_entry(const struct tool *tool, json_t *schema)
{
	static const struct {
		const char *name;
		unsigned hint;
	} hints[] = {
		{ "readOnlyHint", TOOL_READ_ONLY },
		{ "destructiveHint", TOOL_DESTRUCTIVE },
		{ "idempotentHint", TOOL_IDEMPOTENT },
		{ "openWorldHint", TOOL_OPEN_WORLD },
	};
	json_t *listed = json_pack("{s:s, s:s, s:s, s:O}", "name", tool->name, "title", tool->title,
				   "description", tool->description, "inputSchema", schema);
	json_t *annotations = json_object();

	if (tool->output_schema)
		json_put(listed, "outputSchema", load_schema(tool, tool->output_schema));
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
		json_put(annotations, hints[i].name, json_boolean(tool->hints & hints[i].hint));
	json_put(listed, "annotations", annotations);
	return listed;
}

void registry_add_tool(struct registry *registry, const struct tool *tool)
{
	struct entry *entry;

	registry->tools = xrealloc(registry->tools,
				   (registry->n_tools + 1) * sizeof(*registry->tools));
	entry = &registry->tools[registry->n_tools++];
	*entry = (struct entry){ .tool = tool, .schema = load_schema(tool, tool->schema) };
	json_add(registry->listed, list_entry(tool, entry->schema));
}

const struct tool *registry_find_tool(const struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->n_tools; i++)
		if (!strcmp(registry->tools[i].tool->name, name))
			return registry->tools[i].tool;
	return NULL;
}

const json_t *registry_tool_schema(const struct registry *registry, const struct tool *tool)
{
	for (size_t i = 0; i < registry->n_tools; i++)
		if (registry->tools[i].tool == tool)
			return registry->tools[i].schema;
	return NULL;
}

json_t *registry_list_tools(const struct registry *registry)
{
	return json_incref(registry->listed);
}

json_t *registry_capabilities(const struct registry *registry)
{
	json_t *capabilities = json_object();

	if (registry->n_tools > 0)
		json_put(capabilities, "tools", json_object());
	return capabilities;
}
