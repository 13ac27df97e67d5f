/*
 * A run's result as an MCP answer: text for a model, images, and the same facts for programs.
 *
 * The text has the output first, then what went wrong, then a line of facts. Everything a program made is
 * cut to fit result_limit; structured content never holds base64.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/run.h"

struct execute_answer {
	json_t *content;    /* blocks */
	json_t *structured; /* an object */
	bool has_media;     /* there is a block that is not text */
	bool is_error;
};

/* Both values are the caller's. */
void execute_answer_make(struct execute_answer *answer, const struct run_result *result,
			 size_t result_limit);

/* Whether a client of this name is in the list ("claude-code codex", blanks or commas between): the same
 * name, or one that goes on after it with something that is not a letter or digit. */
bool client_is_listed(const char *list, const char *client);
