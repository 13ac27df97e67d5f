#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct call *slow_calls[SLOW_MAX];
size_t n_slow, n_echo, n_cancelled;
int n_held;

static json_t *text_content(const char *text)
{
	return json_pack("[{s:s, s:s}]", "type", "text", "text", text);
}

static void echo(struct call *call)
{
	char text[300];

	n_echo++;
	snprintf(text, sizeof(text), "%s by %s, %u", call_string(call, "text"), call_client(call),
		 (unsigned)call_uint(call, "n", 7));
	call_done(call, text_content(text), json_pack("{s:s}", "said", call_string(call, "text")),
		  false);
}

static void slow(struct call *call)
{
	slow_calls[n_slow++] = call;
}

static void slow_cancel(struct call *call)
{
	(void)call;
	n_cancelled++;
}

static void slow_hold(struct call *call, bool on)
{
	(void)call;
	n_held += on ? 1 : -1;
}

void slow_end(size_t i, const char *text)
{
	struct call *call = slow_calls[i];

	slow_calls[i] = NULL;
	call_done(call, text_content(text), NULL, false);
}

static bool refuse_bad_words(json_t *arguments, void *data, struct error *err)
{
	const char *text = json_string_value(json_object_get(arguments, "text"));

	(void)data;
	if (text && !strcmp(text, "bad"))
		return error_set(err, ERR_INPUT, 0, "text is \"bad\"; be kind");
	return true;
}

static const struct tool tools[] = {
	{
		.name = "echo",
		.title = "Echo",
		.description = "Says it again.",
		.schema =
			"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
			"\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}},\"required\":[\"text\"],"
			"\"additionalProperties\":false}",
		.hints = TOOL_READ_ONLY,
		.prepare = refuse_bad_words,
		.run = echo,
	},
	{
		.name = "slow",
		.title = "Slow",
		.description = "Waits.",
		.schema = "{\"type\":\"object\"}",
		.output_schema = "{\"type\":\"object\",\"$defs\":{\"x\":{\"$anchor\":\"y\"}}}",
		.run = slow,
		.cancel = slow_cancel,
		.hold = slow_hold,
	},
};

static void keep_line(const char *text, size_t len, void *data)
{
	struct server *server = data;

	if (server->n_lines == LINES_MAX || memchr(text, '\n', len))
		abort();
	server->lines[server->n_lines++] = xstrndup(text, len);
}

static void count_end(void *data)
{
	((struct server *)data)->ended++;
}

struct server *server_new(size_t calls_max)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct mcp_config config = {
		.calls_max = calls_max,
		.send = keep_line,
		.call_ended = count_end,
		.data = server,
	};

	n_slow = n_echo = n_cancelled = 0;
	n_held = 0;
	server->loop = loop_new();
	server->registry = registry_new();
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		registry_add_tool(server->registry, &tools[i]);
	config.loop = server->loop;
	config.registry = server->registry;
	server->mcp = mcp_new(&config);
	return server;
}

void server_free(struct server *server)
{
	mcp_free(server->mcp);
	for (size_t i = 0; i < n_slow; i++)
		if (slow_calls[i])
			slow_end(i, "too late");
	for (size_t i = 0; i < server->n_lines; i++)
		free(server->lines[i]);
	registry_free(server->registry);
	loop_free(server->loop);
	free(server);
}

void server_say(struct server *server, const char *text)
{
	mcp_receive(server->mcp, text, strlen(text));
}

json_t *server_next(struct server *server)
{
	json_t *value;

	if (server->n_lines == 0)
		return NULL;
	value = json_loads(server->lines[0], JSON_REJECT_DUPLICATES, NULL);
	free(server->lines[0]);
	memmove(server->lines, server->lines + 1, --server->n_lines * sizeof(*server->lines));
	return value;
}

static bool is_word(const json_t *pattern, const char *word)
{
	return json_is_string(pattern) && !strcmp(json_string_value(pattern), word);
}

static bool matches_object(json_t *pattern, const json_t *value);

static bool matches_value(json_t *pattern, const json_t *value)
{
	if (is_word(pattern, "<any>"))
		return value != NULL;
	if (is_word(pattern, "<absent>"))
		return value == NULL;
	if (is_word(pattern, "<empty>"))
		return json_is_object(value) && json_object_size(value) == 0;
	if (json_is_object(pattern))
		return matches_object(pattern, value);
	if (!json_is_array(pattern))
		return json_equal(pattern, value);
	if (json_array_size(pattern) != json_array_size(value))
		return false;
	for (size_t i = 0; i < json_array_size(pattern); i++)
		if (!matches_value(json_array_get(pattern, i), json_array_get(value, i)))
			return false;
	return true;
}

static bool matches_object(json_t *pattern, const json_t *value)
{
	const char *key;
	json_t *wanted;

	if (!json_is_object(value))
		return false;
	json_object_foreach(pattern, key, wanted)
	{
		if (!matches_value(wanted, json_object_get(value, key))) {
			fprintf(stderr, "%s is not as wanted\n", key);
			return false;
		}
	}
	return true;
}

bool matches(const char *pattern, const json_t *value)
{
	json_t *wanted = json_loads(pattern, JSON_DECODE_ANY, NULL);
	bool good = wanted && matches_value(wanted, value);

	if (!good) {
		char *text = value ? json_dumps(value, JSON_DECODE_ANY) : NULL;

		fprintf(stderr, "wanted %s\ngot    %s\n", pattern, text ? text : "nothing");
		free(text);
	}
	json_decref(wanted);
	return good;
}
