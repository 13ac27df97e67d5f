#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server.h"

#define META     "\"io.modelcontextprotocol/"
#define VERSION  META "protocolVersion\":\"2026-07-28\""
#define CAPS     META "clientCapabilities\":{}"
#define ENVELOPE "\"_meta\":{" VERSION "," CAPS "}"
#define MODERN(id, method, params)                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method \
	"\",\"params\":{" params ENVELOPE "}}"
#define LEGACY(id, method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define INITIALIZE(version)                     \
	LEGACY("0", "initialize",               \
	       "\"protocolVersion\":\"" version \
	       "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}")
#define SERVER_INFO "{\"name\":\"hotcell\",\"title\":\"<any>\",\"version\":\"" HOTCELL_VERSION "\"}"
#define COMPLETE    "\"resultType\":\"complete\",\"_meta\":{" META "serverInfo\":" SERVER_INFO "}"
#define PLAIN \
	"\"resultType\":\"<absent>\",\"_meta\":\"<absent>\",\"ttlMs\":\"<absent>\",\"cacheScope\":\"<absent>\""
#define REFUSED(id, code)                                                                      \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":\"<absent>\",\"error\":{\"code\":" code \
	",\"message\":\"<any>\"}}"

enum era { FRESH, INITIALIZED };

/* What a request is answered with; "" for nothing. */
static const struct {
	enum era era;
	const char *request, *answer;
} cases[] = {
	/* the handshake */
	{ FRESH, INITIALIZE("2025-11-25"),
	  "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":"
	  "\"<empty>\"},\"serverInfo\":" SERVER_INFO ",\"instructions\":\"<any>\"," PLAIN "}}" },
	{ FRESH, INITIALIZE("2025-06-18"), "{\"result\":{\"protocolVersion\":\"2025-06-18\"}}" },
	{ FRESH, INITIALIZE("2025-03-26"), "{\"result\":{\"protocolVersion\":\"2025-03-26\"}}" },
	{ FRESH, INITIALIZE("2024-11-05"), "{\"result\":{\"protocolVersion\":\"2024-11-05\"}}" },
	{ FRESH, INITIALIZE("2026-07-28"), "{\"result\":{\"protocolVersion\":\"2025-11-25\"}}" },
	{ FRESH, INITIALIZE("v999"), "{\"result\":{\"protocolVersion\":\"2025-11-25\"}}" },
	{ INITIALIZED, INITIALIZE("2025-06-18"),
	  "{\"result\":{\"protocolVersion\":\"2025-06-18\"}}" },
	{ FRESH, LEGACY("0", "initialize", ""), REFUSED("0", "-32602") },
	{ FRESH, LEGACY("0", "initialize", "\"protocolVersion\":5"), REFUSED("0", "-32602") },
	{ FRESH, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}",
	  REFUSED("0", "-32602") },
	/* before it */
	{ FRESH, LEGACY("1", "ping", ""), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"<empty>\"}" },
	{ FRESH, LEGACY("1", "tools/list", ""),
	  "{\"id\":1,\"error\":{\"code\":-32602,\"data\":{\"supported\":[\"2026-07-28\",\"2025-11-25\","
	  "\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]}}}" },
	{ FRESH, LEGACY("\"server-discover-probe-1\"", "server/discover", ""),
	  REFUSED("\"server-discover-probe-1\"", "-32602") },
	{ FRESH, LEGACY("1", "no/such", ""), REFUSED("1", "-32602") },
	{ FRESH, LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}"),
	  REFUSED("1", "-32602") },
	{ FRESH, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "" },
	{ FRESH, "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"params\":5}", "" },
	{ FRESH, "{\"jsonrpc\":\"2.0\",\"id\":\"srv-1\",\"result\":{}}", "" },
	{ FRESH,
	  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
	  "" },
	{ FRESH, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", "" },
	{ FRESH, "nonsense", "{\"id\":\"<absent>\",\"error\":{\"code\":-32700}}" },
	{ FRESH, "[]", "{\"id\":\"<absent>\",\"error\":{\"code\":-32600}}" },
	/* legacy */
	{ INITIALIZED, LEGACY("1", "ping", ""),
	  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"<empty>\"}" },
	{ INITIALIZED, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
	  "{\"id\":1,\"result\":\"<empty>\"}" },
	{ INITIALIZED, LEGACY("1", "ping", "\"_meta\":5"), "{\"id\":1,\"result\":\"<empty>\"}" },
	{ INITIALIZED, LEGACY("1", "server/discover", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "resources/list", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "prompts/list", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "logging/setLevel", "\"level\":\"info\""),
	  REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "completion/complete", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "tools", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("1", "", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, LEGACY("\"x\"", "tools/list", ""),
	  "{\"id\":\"x\",\"result\":{\"tools\":[{\"name\":\"echo\",\"title\":\"Echo\",\"description\":\"<any>\","
	  "\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":false},\"outputSchema\":\"<absent>\","
	  "\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":false,"
	  "\"openWorldHint\":false}},{\"name\":\"slow\",\"outputSchema\":{\"$defs\":{\"x\":{\"$anchor\":\"y\"}}}}],"
	  "\"nextCursor\":\"<absent>\"," PLAIN "}}" },
	{ INITIALIZED, LEGACY("1", "tools/list", "\"cursor\":null"),
	  "{\"result\":{\"tools\":\"<any>\"}}" },
	{ INITIALIZED, LEGACY("1", "tools/list", "\"cursor\":\"x\""), REFUSED("1", "-32602") },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}"),
	  "{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi by test, 7\"}],"
	  "\"structuredContent\":{\"said\":\"hi\"},\"isError\":false," PLAIN "}}" },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"\",\"n\":10.0}"),
	  "{\"result\":{\"content\":[{\"text\":\" by test, 10\"}]}}" },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"nope\""), REFUSED("1", "-32602") },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"\""), REFUSED("1", "-32602") },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":7"), REFUSED("1", "-32602") },
	{ INITIALIZED, LEGACY("1", "tools/call", ""), REFUSED("1", "-32602") },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":[]"),
	  REFUSED("1", "-32602") },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":\"x\""),
	  REFUSED("1", "-32602") },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"_meta\":{\"progressToken\":{}}"),
	  REFUSED("1", "-32602") },
	/* bad arguments are the tool's answer: field, value, what is allowed */
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"echo\""),
	  "{\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"text is missing; it must be a "
	  "string\"}],\"structuredContent\":\"<absent>\"}}" },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":null"),
	  "{\"result\":{\"isError\":true}}" },
	{ INITIALIZED, LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":5}"),
	  "{\"result\":{\"isError\":true,\"content\":[{\"text\":\"text is 5; it must be a string\"}]}}" },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\",\"n\":11}"),
	  "{\"result\":{\"isError\":true,\"content\":[{\"text\":\"n is 11; allowed is 1 to 10\"}]}}" },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\",\"m\":1}"),
	  "{\"result\":{\"isError\":true,\"content\":[{\"text\":\"m is not known here; allowed are text, n\"}]}}" },
	{ INITIALIZED,
	  LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"bad\"}"),
	  "{\"result\":{\"isError\":true,\"content\":[{\"text\":\"text is \\\"bad\\\"; be kind\"}]}}" },
	/* modern, in a fresh connection and in one with a handshake */
	{ FRESH, MODERN("1", "server/discover", ""),
	  "{\"id\":1,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":\"<empty>\"},"
	  "\"instructions\":\"<any>\",\"ttlMs\":3600000,\"cacheScope\":\"public\",\"serverInfo\":\"<absent>\"," COMPLETE
	  "}}" },
	{ INITIALIZED, MODERN("1", "server/discover", ""), "{\"id\":1,\"result\":{" COMPLETE "}}" },
	{ FRESH, MODERN("1", "tools/list", ""),
	  "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"echo\"},{\"name\":\"slow\"}],\"ttlMs\":300000,"
	  "\"cacheScope\":\"public\"," COMPLETE "}}" },
	{ FRESH, MODERN("1", "tools/list", "\"cursor\":\"x\","), REFUSED("1", "-32602") },
	{ FRESH,
	  MODERN("\"a\"", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"),
	  "{\"id\":\"a\",\"result\":{\"content\":[{\"text\":\"hi by , 7\"}],\"isError\":false," COMPLETE
	  "}}" },
	{ FRESH,
	  LEGACY("1", "tools/call",
		 "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},\"_meta\":{" VERSION "," CAPS
		 "," META "clientInfo\":{\"name\":\"claude-code\",\"version\":\"2\"}}"),
	  "{\"result\":{\"content\":[{\"text\":\"hi by claude-code, 7\"}]}}" },
	{ INITIALIZED,
	  MODERN("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"},"),
	  "{\"result\":{\"content\":[{\"text\":\"hi by , 7\"}]}}" },
	{ FRESH, MODERN("1", "tools/call", "\"name\":\"echo\","),
	  "{\"result\":{\"isError\":true," COMPLETE "}}" },
	{ FRESH, MODERN("1", "tools/call", "\"name\":\"nope\","), REFUSED("1", "-32602") },
	{ FRESH, MODERN("1", "ping", ""), REFUSED("1", "-32601") },
	{ FRESH, MODERN("1", "initialize", "\"protocolVersion\":\"2025-11-25\","),
	  REFUSED("1", "-32601") },
	{ FRESH, MODERN("1", "logging/setLevel", ""), REFUSED("1", "-32601") },
	{ FRESH, MODERN("1", "subscriptions/listen", "\"notifications\":{},"),
	  REFUSED("1", "-32601") },
	{ FRESH, MODERN("1", "tasks/get", ""), REFUSED("1", "-32601") },
	{ INITIALIZED, MODERN("1", "ping", ""), REFUSED("1", "-32601") },
	/* the ladder */
	{ FRESH, LEGACY("1", "tools/list", "\"_meta\":{" VERSION "}"), REFUSED("1", "-32602") },
	{ FRESH,
	  LEGACY("1", "tools/list", "\"_meta\":{" VERSION "," META "clientCapabilities\":5}"),
	  REFUSED("1", "-32602") },
	{ FRESH, LEGACY("1", "tools/list", "\"_meta\":{" META "protocolVersion\":5," CAPS "}"),
	  REFUSED("1", "-32602") },
	{ FRESH, LEGACY("1", "tools/list", "\"_meta\":{" CAPS "}"), REFUSED("1", "-32602") },
	{ FRESH,
	  LEGACY("1", "tools/list", "\"_meta\":{" META "protocolVersion\":\"v999.0.0\"," CAPS "}"),
	  "{\"id\":1,\"error\":{\"code\":-32022,\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"v999.0.0\"}}}" },
	{ FRESH,
	  LEGACY("1", "no/such", "\"_meta\":{" META "protocolVersion\":\"v999.0.0\"," CAPS "}"),
	  REFUSED("1", "-32022") },
	{ FRESH,
	  LEGACY("1", "tools/list",
		 "\"_meta\":{" META "protocolVersion\":\"2025-11-25\"," CAPS "}"),
	  REFUSED("1", "-32022") },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server *server = server_new(0);
		json_t *answer;

		print_message("%s\n", cases[i].request);
		if (cases[i].era == INITIALIZED) {
			server_say(server, INITIALIZE("2025-11-25"));
			server_say(
				server,
				"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
			json_decref(server_next(server));
		}
		server_say(server, cases[i].request);
		answer = server_next(server);
		if (*cases[i].answer)
			assert_true(matches(cases[i].answer, answer));
		else
			assert_null(answer);
		json_decref(answer);
		assert_int_equal(server->n_lines, 0);
		server_free(server);
	}
}

static void expect(struct server *server, const char *pattern)
{
	json_t *answer = server_next(server);

	assert_true(matches(pattern, answer));
	json_decref(answer);
}

static struct server *legacy_server(size_t calls_max)
{
	struct server *server = server_new(calls_max);

	server_say(server, INITIALIZE("2025-11-25"));
	expect(server, "{\"id\":0}");
	return server;
}

/* The same question has the same answer, to the byte. */
static void test_stable_list(void **state)
{
	struct server *server = server_new(0);

	(void)state;
	for (int i = 0; i < 3; i++)
		server_say(server, MODERN("1", "tools/list", ""));
	assert_string_equal(server->lines[0], server->lines[1]);
	assert_string_equal(server->lines[0], server->lines[2]);
	server_free(server);
}

/* Answers come as calls finish; the others wait their turn and nothing is lost. */
static void test_many_calls(void **state)
{
	struct server *server = legacy_server(2);

	(void)state;
	server_say(server, LEGACY("1", "tools/call", "\"name\":\"slow\""));
	server_say(server, MODERN("\"1\"", "tools/call", "\"name\":\"slow\","));
	server_say(server, LEGACY("3", "tools/call", "\"name\":\"slow\""));
	server_say(server, LEGACY("4", "tools/call",
				  "\"name\":\"echo\",\"arguments\":{\"text\":\"four\"}"));
	server_say(server, LEGACY("5", "ping", ""));
	expect(server, "{\"id\":5}");
	assert_int_equal(server->n_lines, 0);
	assert_int_equal(n_slow, 2);
	assert_int_equal(mcp_calls(server->mcp), 4);
	assert_false(mcp_is_full(server->mcp));
	slow_end(1, "second");
	expect(server,
	       "{\"id\":\"1\",\"result\":{\"content\":[{\"text\":\"second\"}]," COMPLETE "}}");
	assert_int_equal(n_slow, 3);
	slow_end(2, "third");
	expect(server, "{\"id\":3,\"result\":{\"content\":[{\"text\":\"third\"}]," PLAIN "}}");
	expect(server, "{\"id\":4}");
	slow_end(0, "first");
	expect(server, "{\"id\":1}");
	assert_int_equal(mcp_calls(server->mcp), 0);
	assert_int_equal(server->ended, 4);
	server_free(server);
}

static void test_is_full(void **state)
{
	struct server *server = legacy_server(1);
	char text[200];

	(void)state;
	for (int i = 0; i <= MCP_WAITING_MAX; i++) {
		assert_false(mcp_is_full(server->mcp));
		snprintf(text, sizeof(text), LEGACY("%d", "tools/call", "\"name\":\"slow\""),
			 i + 1);
		server_say(server, text);
	}
	assert_true(mcp_is_full(server->mcp));
	slow_end(0, "one");
	assert_false(mcp_is_full(server->mcp));
	mcp_cancel_all(server->mcp);
	assert_int_equal(mcp_calls(server->mcp), 0);
	assert_int_equal(n_slow, 2);
	assert_int_equal(n_cancelled, 1);
	server_free(server);
}

/* A cancelled call is never answered, whatever it still says; others are. */
static void test_cancel(void **state)
{
	struct server *server = legacy_server(2);

	(void)state;
	server_say(server,
		   LEGACY("1", "tools/call", "\"name\":\"slow\",\"_meta\":{\"progressToken\":1}"));
	server_say(server, LEGACY("\"1\"", "tools/call", "\"name\":\"slow\""));
	server_say(server, LEGACY("3", "tools/call", "\"name\":\"slow\""));
	server_say(
		server,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
	assert_int_equal(n_cancelled, 0);
	server_say(
		server,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,"
		"\"reason\":\"no longer needed\"}}");
	assert_int_equal(n_cancelled, 1);
	/* Twice is harmless, and one that waits is simply not run. */
	server_say(
		server,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
	server_say(
		server,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}");
	assert_int_equal(n_cancelled, 1);
	assert_int_equal(mcp_calls(server->mcp), 1);
	call_progress(slow_calls[0], "late", 4);
	slow_end(0, "late");
	assert_int_equal(server->n_lines, 0);
	slow_end(1, "kept");
	expect(server, "{\"id\":\"1\",\"result\":{\"content\":[{\"text\":\"kept\"}]}}");
	assert_int_equal(n_slow, 2);
	/* The id is free again. */
	server_say(server,
		   LEGACY("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}"));
	expect(server, "{\"id\":1,\"result\":\"<any>\"}");
	server_free(server);
}

static void test_id_in_use(void **state)
{
	struct server *server = legacy_server(0);

	(void)state;
	server_say(server, LEGACY("1", "tools/call", "\"name\":\"slow\""));
	server_say(server, LEGACY("1", "tools/call", "\"name\":\"slow\""));
	expect(server, REFUSED("1", "-32600"));
	slow_end(0, "one");
	expect(server, "{\"id\":1,\"result\":\"<any>\"}");
	server_free(server);
}

/* The text of every progress message that comes within this time, and how many there were. */
static size_t collect_progress(struct server *server, char *text, size_t size, json_int_t *last,
			       int ms)
{
	uint64_t until = clock_monotonic_ms() + (uint64_t)ms;
	size_t n = 0;
	json_t *line;

	do {
		while ((line = server_next(server))) {
			const json_t *params = json_object_get(line, "params");
			const char *message = json_string_value(json_object_get(params, "message"));
			json_int_t progress =
				json_integer_value(json_object_get(params, "progress"));

			assert_true(matches(
				"{\"method\":\"notifications/progress\",\"id\":\"<absent>\","
				"\"params\":{\"progressToken\":\"p\",\"progress\":\"<any>\"}}",
				line));
			assert_true(progress > *last);
			*last = progress;
			n++;
			if (message)
				snprintf(text + strlen(text), size - strlen(text), "%s", message);
			json_decref(line);
		}
		usleep(1000);
		loop_step(server->loop);
	} while (clock_monotonic_ms() < until);
	return n;
}

static void nothing(void *data)
{
	(void)data;
}

/* Output arrives while it is made, at most ten times a second, and all of it. */
static void test_progress(void **state)
{
	struct server *server = legacy_server(0);
	struct loop_timer *ticker = loop_timer_new(server->loop, nothing, NULL);
	json_int_t last = -1;
	char text[200] = "";
	size_t n = 0;

	(void)state;
	loop_timer_start(ticker, 5, 5); /* so that loop_step() returns */
	server_say(server, LEGACY("1", "tools/call",
				  "\"name\":\"slow\",\"_meta\":{\"progressToken\":\"p\"}"));
	call_progress(slow_calls[0], "first ", 6);
	n += collect_progress(server, text, sizeof(text), &last, 1);
	assert_string_equal(text, "first ");
	for (int i = 0; i < 20; i++)
		call_progress(slow_calls[0], "x", 1);
	call_progress(slow_calls[0], " \xe2\x82", 3); /* two thirds of a euro */
	assert_int_equal(server->n_lines, 0);
	n += collect_progress(server, text, sizeof(text), &last, 150);
	call_progress(slow_calls[0], "\xac\xff!", 3);
	n += collect_progress(server, text, sizeof(text), &last, 150);
	assert_string_equal(text, "first xxxxxxxxxxxxxxxxxxxx \xe2\x82\xac\xef\xbf\xbd!");
	assert_int_equal(n, 3);
	/* What is not told yet is told before the answer, and nothing after it. */
	call_progress(slow_calls[0], "a", 1);
	call_progress(slow_calls[0], "b", 1);
	slow_end(0, "done");
	text[0] = '\0';
	for (size_t i = 0; i + 1 < server->n_lines; i++)
		assert_non_null(strstr(server->lines[i], "notifications/progress"));
	assert_non_null(strstr(server->lines[server->n_lines - 1], "\"id\":1"));
	assert_non_null(strstr(server->lines[server->n_lines - 2], "b\""));
	(void)loop_timer_free(ticker);
	server_free(server);
}

static void test_no_progress(void **state)
{
	struct server *server = legacy_server(0);

	(void)state;
	server_say(server, LEGACY("1", "tools/call", "\"name\":\"slow\""));
	call_progress(slow_calls[0], "nobody asked", 12);
	assert_int_equal(server->n_lines, 0);
	slow_end(0, "x");
	expect(server, "{\"id\":1}");
	server_free(server);
}

/* Too much at once: the end of it, and how much is missing. */
static void test_progress_flood(void **state)
{
	struct server *server = legacy_server(0);
	char *text = calloc(1, 100001);

	(void)state;
	memset(text, 'x', 100000);
	memcpy(text + 99996, "tail", 4);
	server_say(server,
		   LEGACY("1", "tools/call", "\"name\":\"slow\",\"_meta\":{\"progressToken\":7}"));
	call_progress(slow_calls[0], text, 100000);
	assert_int_equal(server->n_lines, 1);
	assert_true(strlen(server->lines[0]) < 10000);
	assert_non_null(strstr(server->lines[0], "[91808 bytes left out]\\n"));
	assert_non_null(strstr(server->lines[0], "tail\""));
	free(text);
	server_free(server);
}

/* A client that does not read: no progress, nothing new is started, programs may not print. */
static void test_hold(void **state)
{
	struct server *server = legacy_server(0);

	(void)state;
	server_say(server,
		   LEGACY("1", "tools/call", "\"name\":\"slow\",\"_meta\":{\"progressToken\":7}"));
	mcp_hold(server->mcp, true);
	mcp_hold(server->mcp, true);
	assert_int_equal(n_held, 1);
	call_progress(slow_calls[0], "x", 1);
	server_say(server, LEGACY("2", "tools/call", "\"name\":\"slow\""));
	assert_int_equal(n_slow, 1);
	assert_int_equal(server->n_lines, 0);
	mcp_hold(server->mcp, false);
	assert_int_equal(n_held, 0);
	assert_int_equal(n_slow, 2);
	mcp_hold(server->mcp, true);
	assert_int_equal(n_held, 2);
	/* Whoever is cancelled is not held back any more. */
	server_say(
		server,
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
	assert_int_equal(n_held, 1);
	server_free(server);
}

/* The connection goes away under running calls; they end later, unheard. */
static void test_free_with_calls(void **state)
{
	struct server *server = legacy_server(1);

	(void)state;
	server_say(server,
		   LEGACY("1", "tools/call", "\"name\":\"slow\",\"_meta\":{\"progressToken\":7}"));
	server_say(server, LEGACY("2", "tools/call", "\"name\":\"slow\""));
	server_free(server);
	assert_int_equal(n_cancelled, 1);
	assert_int_equal(n_slow, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),         cmocka_unit_test(test_stable_list),
		cmocka_unit_test(test_many_calls),      cmocka_unit_test(test_is_full),
		cmocka_unit_test(test_cancel),          cmocka_unit_test(test_id_in_use),
		cmocka_unit_test(test_progress),        cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_progress_flood),  cmocka_unit_test(test_hold),
		cmocka_unit_test(test_free_with_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
