#include "protocol/mcp.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "json/json.h"
#include "protocol/jsonrpc.h"
#include "protocol/mcp_private.h"

/* Names in _meta that the protocol has taken for itself. */
#define META         "io.modelcontextprotocol/"
#define META_VERSION META "protocolVersion"
#define META_CAPS    META "clientCapabilities"
#define META_CLIENT  META "clientInfo"
#define META_SERVER  META "serverInfo"

enum {
	UNSUPPORTED_PROTOCOL_VERSION = -32022,
	ERROR_TEXT_MAX = 256,
};

/* ---- sending ---- */

static void send_text(struct mcp *mcp, char *text)
{
	mcp->config.send(text, strlen(text), mcp->config.data);
	free(text);
}

json_t *mcp_finish_result(enum mcp_era era, json_t *result)
{
	json_t *meta;

	if (era == MCP_LEGACY)
		return result;
	meta = json_object_get(result, "_meta");
	if (!meta) {
		meta = json_object();
		json_put(result, "_meta", meta);
	}
	json_put(meta, META_SERVER, mcp_server_info());
	if (!json_object_get(result, "resultType"))
		json_put(result, "resultType", json_string("complete"));
	return result;
}

void mcp_answer(const struct mcp_request *request, json_t *result)
{
	send_text(request->mcp,
		  jsonrpc_result(request->id, mcp_finish_result(request->era, result)));
}

void mcp_answer_error(const struct mcp_request *request, int code, json_t *data, const char *fmt,
		      ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	send_text(request->mcp, jsonrpc_error(request->id, code, text, data));
}

void mcp_refuse(struct mcp *mcp, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	send_text(mcp, jsonrpc_error(NULL, JSONRPC_INVALID_REQUEST, text, NULL));
}

static void send_answer(json_t *id, unsigned era, json_t *result, void *data)
{
	send_text(data, jsonrpc_result(id, mcp_finish_result((enum mcp_era)era, result)));
}

static void send_progress(json_t *params, void *data)
{
	send_text(data, jsonrpc_notification("notifications/progress", params));
}

static void call_ended(void *data)
{
	const struct mcp *mcp = data;

	if (mcp->config.call_ended)
		mcp->config.call_ended(mcp->config.data);
}

/* ---- life ---- */

struct mcp *mcp_new(const struct mcp_config *config)
{
	struct mcp *mcp = xcalloc(1, sizeof(*mcp));
	const struct flights_config flights = {
		.running_max = config->calls_max ? config->calls_max : (size_t)MCP_CALLS_MAX,
		.answer = send_answer,
		.progress = send_progress,
		.ended = call_ended,
		.data = mcp,
	};

	mcp->config = *config;
	mcp->flights = flights_new(&flights);
	return mcp;
}

void mcp_free(struct mcp *mcp)
{
	if (!mcp)
		return;
	flights_free(mcp->flights);
	free(mcp);
}

bool mcp_is_full(const struct mcp *mcp)
{
	return flights_waiting(mcp->flights) >= MCP_WAITING_MAX ||
	       flights_waiting_bytes(mcp->flights) >= MCP_WAITING_BYTES;
}

size_t mcp_calls(const struct mcp *mcp)
{
	return flights_count(mcp->flights);
}

void mcp_hold(struct mcp *mcp, bool on)
{
	flights_hold(mcp->flights, on);
}

void mcp_cancel_all(struct mcp *mcp)
{
	flights_cancel_all(mcp->flights);
}

/* ---- receiving ---- */

static const char *name_of_client(const json_t *info)
{
	const char *name = json_string_value(json_object_get(info, "name"));

	return name ? name : "";
}

static bool is_listed(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* What every modern request must tell of itself, in the order that the specification's ladder has. */
static void receive_modern(struct mcp_request *request)
{
	const char *version = json_string_value(json_object_get(request->meta, META_VERSION));
	json_t *data;

	request->era = MCP_MODERN;
	request->client = name_of_client(json_object_get(request->meta, META_CLIENT));
	if (!version) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: _meta[\"" META_VERSION "\"] must be a string");
		return;
	}
	if (!json_is_object(json_object_get(request->meta, META_CAPS))) {
		mcp_answer_error(request, JSONRPC_INVALID_PARAMS, NULL,
				 "Invalid params: _meta[\"" META_CAPS "\"] must be an object");
		return;
	}
	if (!is_listed(mcp_modern_versions, version)) {
		data = json_pack("{s:o, s:s}", "supported", mcp_strings(mcp_modern_versions),
				 "requested", version);
		mcp_answer_error(request, UNSUPPORTED_PROTOCOL_VERSION, data,
				 "Unsupported protocol version");
		return;
	}
	mcp_dispatch(request);
}

/* Told at once: a client that tries the modern way first falls back on any such error. */
static void refuse_stranger(const struct mcp_request *request)
{
	json_t *supported = mcp_strings(mcp_modern_versions);
	json_t *legacy = mcp_strings(mcp_legacy_versions);

	(void)json_array_extend(supported, legacy);
	json_decref(legacy);
	mcp_answer_error(
		request, JSONRPC_INVALID_PARAMS, json_pack("{s:o}", "supported", supported),
		"Invalid params: send initialize first, or name the protocol version in _meta");
}

static void receive_request(struct mcp *mcp, const struct jsonrpc_message *message, size_t bytes)
{
	json_t *meta = json_object_get(message->params, "_meta");
	struct mcp_request request = {
		.mcp = mcp,
		.era = MCP_LEGACY,
		.id = message->id,
		.method = message->method,
		.params = message->params,
		.meta = json_is_object(meta) ? meta : NULL,
		.client = mcp->client,
		.bytes = bytes,
	};

	if (json_object_get(request.meta, META_VERSION))
		receive_modern(&request);
	else if (!strcmp(request.method, "initialize"))
		mcp_initialize(&request);
	else if (mcp->version)
		mcp_dispatch(&request);
	else if (!strcmp(request.method, "ping"))
		mcp_answer(&request, json_object());
	else
		refuse_stranger(&request);
}

static void receive_notification(struct mcp *mcp, const struct jsonrpc_message *message)
{
	const json_t *id;

	if (strcmp(message->method, "notifications/cancelled") != 0)
		return;
	id = json_object_get(message->params, "requestId");
	if (id)
		flights_cancel(mcp->flights, id);
}

void mcp_receive(struct mcp *mcp, const char *text, size_t len)
{
	_cleanup_jsonrpc_ struct jsonrpc_message message = { 0 };

	jsonrpc_parse(&message, text, len);
	switch (message.kind) {
	case JSONRPC_INVALID:
		send_text(mcp, jsonrpc_error(message.id, message.code, message.why, NULL));
		break;
	case JSONRPC_REQUEST:
		receive_request(mcp, &message, len);
		break;
	case JSONRPC_NOTIFICATION:
		receive_notification(mcp, &message);
		break;
	case JSONRPC_RESPONSE:
		break; /* we ask nothing yet */
	}
}
