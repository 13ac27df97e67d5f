/* One tools/call as the connection sees it: started, held, cancelled, answered once. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct call;
struct loop;
struct registry;
struct tool;

struct call_config {
	struct loop *loop;
	const struct registry *registry;
	const struct tool *tool;
	json_t *arguments;      /* an object; a reference is taken */
	json_t *progress_token; /* or NULL; a reference is taken */
	const char *client;     /* copied; may be NULL */
	/* params of a notifications/progress, taken */
	void (*progress)(json_t *params, void *data);
	/* Exactly once, perhaps from inside call_start(), unless the call was orphaned. The result is
	 * taken; NULL when the call was cancelled. The call is gone afterwards. */
	void (*done)(json_t *result, void *data);
	void *data;
};

struct call *call_new(const struct call_config *config);
void call_free(struct call *call); /* only one that was never started; accepts NULL */

/* Checks the arguments and runs the tool. */
void call_start(struct call *call);

/* Asks the tool to end; no progress from here on. `done` still comes. */
void call_cancel(struct call *call);

/* The same, and the owner goes away: `done` does not come either. */
void call_orphan(struct call *call);

void call_hold(struct call *call, bool on);
