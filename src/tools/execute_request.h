/* The arguments of sandbox_execute as a run_request, or the sentence that says what is wrong with them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "core/run.h"

/* Owns what the request points to, except what is in the arguments. */
struct execute_request {
	struct run_request run;
	const char **args;
	char **env;
	struct run_input *files;
	void **decoded; /* files that came as base64 */
	size_t n_decoded;
};

/* The arguments have passed the schema and outlive the request. */
bool execute_request_make(struct execute_request *request, const json_t *arguments,
			  struct error *err);
void execute_request_done(struct execute_request *request);

/* Takes out of the arguments what says nothing (null; network: false) and refuses, by name, what this
 * version does not do. */
bool execute_request_prepare(json_t *arguments, struct error *err);
