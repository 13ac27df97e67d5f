/*
 * One tools/call as a tool sees it: checked arguments in, progress, one answer out.
 *
 * A call ends with call_done() or call_fail(), which free it; the tool does not touch it afterwards.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct call;

/* The tool's own data (struct tool), and what the tool keeps for this call. */
void *call_tool_data(const struct call *call);
void call_set_data(struct call *call, void *data);
void *call_data(const struct call *call);

const json_t *call_arguments(const struct call *call);              /* an object */
const char *call_string(const struct call *call, const char *name); /* NULL: not given */
uint64_t call_uint(const struct call *call, const char *name, uint64_t fallback);

/* Gives up the arguments, which can be large, when they are no longer needed. */
void call_forget_arguments(struct call *call);

/* The client's own name for itself: "claude-code"; empty when it told none. */
const char *call_client(const struct call *call);

/* Output as it comes. Reaches the client if it asked for progress, a few times a second; what comes too
 * fast is left out there with a note, so the answer must have everything that counts. */
void call_progress(struct call *call, const void *text, size_t len);

/* content (an array of blocks) and structured (an object or NULL) are taken. */
void call_done(struct call *call, json_t *content, json_t *structured, bool is_error);

/* An answer that says what hotcell or the request did wrong; the model reads it. */
void call_fail(struct call *call, const struct error *err);
