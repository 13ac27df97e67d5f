#include "protocol/jsonrpc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

static void invalid(struct jsonrpc_message *message, enum jsonrpc_error code, const char *fmt, ...)
	_printf_(3, 4);

static void invalid(struct jsonrpc_message *message, enum jsonrpc_error code, const char *fmt, ...)
{
	va_list args;

	message->kind = JSONRPC_INVALID;
	message->code = code;
	va_start(args, fmt);
	vsnprintf(message->why, sizeof(message->why), fmt, args);
	va_end(args);
}

/* Looks only at brackets, commas and strings, so it is right about every text that is JSON and harmless
 * about the others, which the parser refuses. */
static bool is_within_limits(struct jsonrpc_message *message, const char *text, size_t len)
{
	size_t depth = 0, values = 0;
	bool in_string = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
			continue;
		}
		in_string = c == '"';
		values += c == ',' || c == '[' || c == '{';
		if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && depth > 0)
			depth--;
		if (depth > JSONRPC_DEPTH_MAX) {
			invalid(message, JSONRPC_INVALID_REQUEST,
				"Invalid Request: nested deeper than %d levels", JSONRPC_DEPTH_MAX);
			return false;
		}
		if (values > JSONRPC_VALUES_MAX) {
			invalid(message, JSONRPC_INVALID_REQUEST,
				"Invalid Request: more than %d values in one message",
				JSONRPC_VALUES_MAX);
			return false;
		}
	}
	return true;
}

static bool load(struct jsonrpc_message *message, const char *text, size_t len)
{
	json_error_t error;

	if (!is_within_limits(message, text, len))
		return false;
	message->root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (message->root)
		return true;
	if (json_error_code(&error) == json_error_numeric_overflow)
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: a number at byte %d is too large", error.position);
	else if (json_error_code(&error) == json_error_duplicate_key)
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: a name occurs twice in one object, at byte %d",
			error.position);
	else
		/* Where, not what: jansson's text quotes the input, which need not be UTF-8. */
		invalid(message, JSONRPC_PARSE_ERROR, "Parse error: not valid JSON at byte %d",
			error.position);
	return false;
}

static bool check_shape(struct jsonrpc_message *message)
{
	json_t *id = json_object_get(message->root, "id");
	const char *version = json_string_value(json_object_get(message->root, "jsonrpc"));

	if (json_is_array(message->root)) {
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: batches are not part of this protocol, send one message a line");
		return false;
	}
	if (!json_is_object(message->root)) {
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: a message is an object");
		return false;
	}
	if (id && !json_is_string(id) && !json_is_integer(id)) {
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: id must be a string or an integer");
		return false;
	}
	message->id = id;
	if (!version || strcmp(version, "2.0") != 0) {
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: jsonrpc must be \"2.0\"");
		return false;
	}
	return true;
}

static void check_method(struct jsonrpc_message *message, const json_t *method)
{
	json_t *params = json_object_get(message->root, "params");

	if (!json_is_string(method)) {
		invalid(message, JSONRPC_INVALID_REQUEST,
			"Invalid Request: method must be a string");
		return;
	}
	/* A notification is never answered, not even a bad one. */
	if (message->id && params && !json_is_object(params) && !json_is_null(params)) {
		invalid(message, JSONRPC_INVALID_PARAMS,
			"Invalid params: params must be an object");
		return;
	}
	message->method = json_string_value(method);
	message->params = json_is_object(params) ? params : NULL;
	message->kind = message->id ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
}

void jsonrpc_parse(struct jsonrpc_message *message, const char *text, size_t len)
{
	const json_t *method;

	*message = (struct jsonrpc_message){ 0 };
	if (!load(message, text, len) || !check_shape(message))
		return;
	method = json_object_get(message->root, "method");
	if (method)
		check_method(message, method);
	else if (json_object_get(message->root, "result") ||
		 json_object_get(message->root, "error"))
		message->kind = JSONRPC_RESPONSE;
	else
		invalid(message, JSONRPC_INVALID_REQUEST, "Invalid Request: method is missing");
}

void jsonrpc_message_done(struct jsonrpc_message *message)
{
	json_decref(message->root);
	*message = (struct jsonrpc_message){ 0 };
}

/* Takes root. */
static char *dump(json_t *root)
{
	size_t len;
	char *text = json_to_text(root, &len);

	json_decref(root);
	return text;
}

static json_t *envelope(json_t *id)
{
	json_t *root = json_pack("{s:s}", "jsonrpc", "2.0");

	if (id)
		(void)json_object_set(root, "id", id);
	return root;
}

char *jsonrpc_result(json_t *id, json_t *result)
{
	json_t *root = envelope(id);

	json_put(root, "result", result);
	return dump(root);
}

char *jsonrpc_error(json_t *id, int code, const char *message, json_t *data)
{
	json_t *root = envelope(id);
	json_t *error = json_pack("{s:i}", "code", code);

	json_put(error, "message", json_text(message, strlen(message)));
	if (data)
		json_put(error, "data", data);
	json_put(root, "error", error);
	return dump(root);
}

char *jsonrpc_notification(const char *method, json_t *params)
{
	json_t *root = envelope(NULL);

	json_put(root, "method", json_string(method));
	json_put(root, "params", params);
	return dump(root);
}
