/* What each method does. A method that is not in the table does not exist, whatever it is called. */
#include <string.h>

#include "base/macros.h"
#include "base/utf8.h"
#include "json/json.h"
#include "protocol/call_owner.h"
#include "protocol/jsonrpc.h"
#include "protocol/mcp_private.h"
#include "protocol/registry.h"

enum {
	DISCOVER_TTL_MS = 3600 * 1000,
	LIST_TTL_MS = 300 * 1000,
	NAME_SHOWN_MAX = 80,
};

const char *const mcp_modern_versions[] = { "2026-07-28", NULL };
const char *const mcp_legacy_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
					    NULL };

const char mcp_instructions[] =
	"hotcell runs programs in a sandbox of their own and returns what they print. Use sandbox_execute "
	"whenever running code beats guessing: arithmetic, parsing, data analysis, plots, checking that a "
	"program works. Each call starts fresh: send a complete program with everything it needs, and "
	"print what you want to see. Input files go in `files`; files that the program writes to "
	"/workspace are listed in the result but are gone afterwards, so print or display what matters. There is no "
	"network. A program that fails is a normal result: read its error, change the program, call again.";

json_t *mcp_strings(const char *const *list)
{
	json_t *array = json_array();

	for (; *list; list++)
		json_add(array, json_string(*list));
	return array;
}

json_t *mcp_server_info(void)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "name", "hotcell", "title", "hotcell sandbox",
			 "version", HOTCELL_VERSION, "description",
			 "Runs code in a sandbox on this machine.");
}

static json_t *cacheable(const struct mcp_request *request, json_t *result, int ttl_ms)
{
	if (request->era == MCP_MODERN) {
		json_put(result, "ttlMs", json_integer(ttl_ms));
		json_put(result, "cacheScope", json_string("public"));
	}
	return result;
}

static void discover(const struct mcp_request *request)
{
	json_t *result = json_pack("{s:o, s:o, s:s}", "supportedVersions",
				   mcp_strings(mcp_modern_versions), "capabilities",
				   registry_capabilities(request->mcp->config.registry),
				   "instructions", mcp_instructions);

	mcp_answer(request, cacheable(request, result, DISCOVER_TTL_MS));
}

void mcp_initialize(const struct mcp_request *request)
{
	const char *asked = json_string_value(json_object_get(request->params, "protocolVersion"));
	const json_t *info = json_object_get(request->params, "clientInfo");
	const char *client = json_string_value(json_object_get(info, "name"));
	const char *version = mcp_legacy_versions[0];
	struct mcp *mcp = request->mcp;

	if (!asked) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: protocolVersion must be a string");
		return;
	}
	for (const char *const *v = mcp_legacy_versions; *v; v++)
		if (!strcmp(*v, asked))
			version = *v;
	mcp->version = version;
	memset(mcp->client, 0, sizeof(mcp->client));
	if (client)
		memcpy(mcp->client, client,
		       utf8_cut(client, MIN(strlen(client), sizeof(mcp->client) - 1)));
	mcp_answer(request,
		   json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", version, "capabilities",
			     registry_capabilities(mcp->config.registry), "serverInfo",
			     mcp_server_info(), "instructions", mcp_instructions));
}

static void ping(const struct mcp_request *request)
{
	mcp_answer(request, json_object());
}

static void list_tools(const struct mcp_request *request)
{
	const json_t *cursor = json_object_get(request->params, "cursor");
	json_t *tools;

	/* Everything is on the first page, so no cursor of ours exists. */
	if (cursor && !json_is_null(cursor)) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: unknown cursor");
		return;
	}
	tools = registry_list_tools(request->mcp->config.registry);
	mcp_answer(request, cacheable(request, json_pack("{s:o}", "tools", tools), LIST_TTL_MS));
}

/* The name may be anything; an error shows its beginning. */
static void refuse_name(const struct mcp_request *request, const json_t *name)
{
	const char *text = json_string_value(name);
	size_t len = text ? strlen(text) : 0;

	if (!text)
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: name must be a string");
	else
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL, "Unknown tool: %.*s",
				 (int)utf8_cut(text, MIN(len, (size_t)NAME_SHOWN_MAX)), text);
}

static bool is_token(const json_t *token)
{
	return !token || json_is_string(token) || json_is_number(token);
}

static void call_tool(const struct mcp_request *request)
{
	struct mcp *mcp = request->mcp;
	const json_t *name = json_object_get(request->params, "name");
	json_t *given = json_object_get(request->params, "arguments");
	json_t *token = json_object_get(request->meta, "progressToken");
	struct call_config config = {
		.loop = mcp->config.loop,
		.registry = mcp->config.registry,
		.progress_token = token,
		.client = request->client,
	};

	if (json_is_string(name))
		config.tool = registry_find_tool(mcp->config.registry, json_string_value(name));
	if (!config.tool) {
		refuse_name(request, name);
	} else if (given && !json_is_object(given) && !json_is_null(given)) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: arguments must be an object");
	} else if (!is_token(token)) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: progressToken must be a string or a number");
	} else if (flights_has(mcp->flights, request->id)) {
		mcp_answer_error(request, JSONRPC_INVALID_REQUEST, NULL,
				 "Invalid Request: a call with this id is still running");
	} else {
		config.arguments = json_is_object(given) ? json_incref(given) : json_object();
		flights_add(mcp->flights, request->id, request->era, request->bytes, &config);
		json_decref(config.arguments);
	}
}

static const struct method {
	const char *name;
	unsigned eras;
	void (*run)(const struct mcp_request *request);
} methods[] = {
	{ "server/discover", MCP_MODERN, discover },
	{ "ping", MCP_LEGACY, ping },
	{ "tools/list", MCP_LEGACY | MCP_MODERN, list_tools },
	{ "tools/call", MCP_LEGACY | MCP_MODERN, call_tool },
};

void mcp_dispatch(const struct mcp_request *request)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if ((methods[i].eras & request->era) && !strcmp(methods[i].name, request->method)) {
			methods[i].run(request);
			return;
		}
	}
	mcp_answer_error(request, JSONRPC_METHOD_NOT_FOUND, NULL, "Method not found: %.*s",
			 (int)utf8_cut(request->method,
				       MIN(strlen(request->method), (size_t)NAME_SHOWN_MAX)),
			 request->method);
}
