/*
 * sandbox_execute: run one program and answer with what it printed, showed and cost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct core;
struct execute;
struct tool;

/* What mcp.content_only is when nobody says otherwise: clients whose model sees nothing but
 * structuredContent when there is one. */
#define EXECUTE_CONTENT_ONLY "claude-code codex opencode"

enum { EXECUTE_RESULT_LIMIT = 64 << 10 };

struct execute_language {
	const char *name;           /* "python" */
	const char *const *aliases; /* ended by NULL */
};

/* Everything is copied but core. */
struct execute_config {
	struct core *core;
	const struct execute_language *languages; /* those installed */
	size_t n_languages;
	uint64_t timeout_ms, timeout_max_ms; /* 0: RUN_TIMEOUT_… */
	uint64_t memory_bytes;    /* of the usual policy, for the description; 0: 512 MB */
	size_t result_limit;      /* mcp.result_limit; 0: EXECUTE_RESULT_LIMIT */
	const char *content_only; /* mcp.content_only; NULL: EXECUTE_CONTENT_ONLY */
};

struct execute *execute_new(const struct execute_config *config);
void execute_free(struct execute *execute); /* accepts NULL; no call may be in flight */

const struct tool *execute_tool(const struct execute *execute);
