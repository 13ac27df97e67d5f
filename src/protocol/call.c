#include "protocol/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/schema.h"
#include "loop/loop.h"
#include "protocol/call_owner.h"
#include "protocol/jsonrpc.h"
#include "protocol/registry.h"

enum {
	PROGRESS_INTERVAL_MS = 100,
	/* Clients give up after a minute without a word; this is one, even when nothing was printed. */
	PROGRESS_SILENCE_MS = 10 * 1000,
	/* Text in one progress message; of more, the last is the most telling. */
	PROGRESS_TEXT_MAX = 8 * 1024,
	CLIENT_NAME_MAX = 128,
};

struct call {
	struct call_config config;
	char client[CLIENT_NAME_MAX];
	void *data;
	bool cancelled, held;
	/* Live output; the timer exists only for a call with a token. */
	struct loop_timer *timer;
	struct buf pending;
	uint64_t skipped; /* bytes that are not in pending any more */
	uint64_t started_ms, sent_ms, last_progress;
	bool timer_is_set;
};

static void tick(void *data);

struct call *call_new(const struct call_config *config)
{
	struct call *call = xcalloc(1, sizeof(*call));

	call->config = *config;
	call->config.arguments = json_incref(config->arguments);
	call->config.progress_token = json_incref(config->progress_token);
	if (config->client)
		memcpy(call->client, config->client,
		       utf8_cut(config->client,
				MIN(strlen(config->client), sizeof(call->client) - 1)));
	buf_init(&call->pending, 2 * PROGRESS_TEXT_MAX);
	return call;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	json_decref(call->config.arguments);
	json_decref(call->config.progress_token);
	(void)loop_timer_free(call->timer);
	buf_done(&call->pending);
	free(call);
}

void call_start(struct call *call)
{
	const struct tool *tool = call->config.tool;
	struct error err = { 0 };

	if ((tool->prepare && !tool->prepare(call->config.arguments, tool->data, &err)) ||
	    !schema_check(registry_tool_schema(call->config.registry, tool), call->config.arguments,
			  "arguments", &err)) {
		call_fail(call, &err);
		return;
	}
	call->started_ms = clock_monotonic_ms();
	if (call->config.progress_token) {
		call->timer = loop_timer_new(call->config.loop, tick, call);
		loop_timer_start(call->timer, PROGRESS_SILENCE_MS, 0);
	}
	tool->run(call);
}

void call_cancel(struct call *call)
{
	if (call->cancelled)
		return;
	call->cancelled = true;
	call->timer = loop_timer_free(call->timer);
	/* A held program may be waiting to write; it is not ours to keep waiting any more. */
	call_hold(call, false);
	if (call->config.tool->cancel)
		call->config.tool->cancel(call);
}

void call_orphan(struct call *call)
{
	call->config.done = NULL;
	call_cancel(call);
}

void call_hold(struct call *call, bool on)
{
	if (call->held == on)
		return;
	call->held = on;
	if (call->config.tool->hold)
		call->config.tool->hold(call, on);
}

static void send_progress(struct call *call);

static void finish(struct call *call, json_t *result)
{
	void (*done)(json_t *, void *) = call->config.done;
	void *data = call->config.data;

	/* What was printed last is told before the end, whatever the rate. */
	if (call->timer && !call->held && call->pending.len > 0)
		send_progress(call);
	if (call->cancelled) {
		json_decref(result);
		result = NULL;
	}
	call_free(call);
	if (done)
		done(result, data);
	else
		json_decref(result);
}

void call_done(struct call *call, json_t *content, json_t *structured, bool is_error)
{
	json_t *result = json_pack("{s:o}", "content", content);

	if (structured)
		json_put(result, "structuredContent", structured);
	json_put(result, "isError", json_boolean(is_error));
	finish(call, result);
}

void call_fail(struct call *call, const struct error *err)
{
	json_t *text = json_text(err->message, strlen(err->message));

	call_done(call, json_pack("[{s:s, s:o}]", "type", "text", "text", text), NULL, true);
}

void *call_tool_data(const struct call *call)
{
	return call->config.tool->data;
}

void call_set_data(struct call *call, void *data)
{
	call->data = data;
}

void *call_data(const struct call *call)
{
	return call->data;
}

const json_t *call_arguments(const struct call *call)
{
	return call->config.arguments;
}

const char *call_string(const struct call *call, const char *name)
{
	return json_string_value(json_object_get(call->config.arguments, name));
}

uint64_t call_uint(const struct call *call, const char *name, uint64_t fallback)
{
	double value = json_number_value(json_object_get(call->config.arguments, name));

	return value >= 1 && value < 9007199254740992.0 ? (uint64_t)value : fallback;
}

void call_forget_arguments(struct call *call)
{
	json_decref(call->config.arguments);
	call->config.arguments = json_object();
}

const char *call_client(const struct call *call)
{
	return call->client;
}

/* ---- progress ---- */

/* The pending text as a JSON string, up to its last whole character; NULL when there is none. */
static json_t *take_pending(struct call *call)
{
	const char *bytes = (const char *)call->pending.data;
	size_t len = call->pending.len ? utf8_cut(bytes, call->pending.len) : 0;
	_cleanup_buf_ struct buf text = { 0 };

	if (len == 0)
		return NULL;
	buf_init(&text, 4 * (size_t)PROGRESS_TEXT_MAX);
	if (call->skipped)
		(void)buf_printf(&text, "[%" PRIu64 " bytes left out]\n", call->skipped);
	(void)utf8_repair(&text, bytes, len);
	call->skipped = 0;
	buf_consume(&call->pending, len);
	return json_stringn_nocheck((const char *)text.data, text.len);
}

static void send_progress(struct call *call)
{
	uint64_t now = clock_monotonic_ms();
	/* Milliseconds so far: what there is to tell of a program's progress. Always more than before. */
	uint64_t progress = MAX(now - call->started_ms, call->last_progress + 1);
	json_t *params = json_pack("{s:O, s:I}", "progressToken", call->config.progress_token,
				   "progress", (json_int_t)progress);
	json_t *message = take_pending(call);

	if (message)
		json_put(params, "message", message);
	call->last_progress = progress;
	call->sent_ms = now;
	call->timer_is_set = false;
	loop_timer_start(call->timer, PROGRESS_SILENCE_MS, 0);
	call->config.progress(params, call->config.data);
}

static void tick(void *data)
{
	struct call *call = data;

	if (!call->held) {
		send_progress(call);
		return;
	}
	call->timer_is_set = true;
	loop_timer_start(call->timer, PROGRESS_INTERVAL_MS, 0);
}

/* Keeps the last PROGRESS_TEXT_MAX bytes of what was not sent. */
static void keep_pending(struct call *call, const char *text, size_t len)
{
	size_t over;

	if (len > PROGRESS_TEXT_MAX) {
		call->skipped += call->pending.len + len - PROGRESS_TEXT_MAX;
		buf_clear(&call->pending);
		text += len - PROGRESS_TEXT_MAX;
		len = PROGRESS_TEXT_MAX;
	}
	(void)buf_append(&call->pending, text, len);
	if (call->pending.len > PROGRESS_TEXT_MAX) {
		over = call->pending.len - PROGRESS_TEXT_MAX;
		call->skipped += over;
		buf_consume(&call->pending, over);
	}
}

void call_progress(struct call *call, const void *text, size_t len)
{
	uint64_t since;

	if (!call->timer || len == 0)
		return;
	keep_pending(call, text, len);
	since = clock_monotonic_ms() - call->sent_ms;
	if (since >= PROGRESS_INTERVAL_MS && !call->held) {
		send_progress(call);
	} else if (!call->timer_is_set) {
		call->timer_is_set = true;
		loop_timer_start(call->timer,
				 since < PROGRESS_INTERVAL_MS ? PROGRESS_INTERVAL_MS - since : 1,
				 0);
	}
}
