/*
 * One order at the front: the run goes out, output, files and the result come back.
 *
 * order_run() stands between the user's terminal and the front until the result is there, the user
 * has had enough (Ctrl-C), or a program of ours died.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "wire/order_messages.h"

struct instance;

struct order_request {
	const struct order_run *run;
	int bundle;       /* borrowed */
	bool pass_stdin;  /* else the program's stdin is empty */
	bool is_silent;   /* output is not printed: it is in the result */
	int folder;       /* for the files of the run, or -1; borrowed */
	bool keep_result; /* ret->json is wanted */
};

struct order_outcome {
	struct order_result result;
	char *json; /* freed by the caller; NULL unless keep_result */
	size_t json_len;
	int signal;        /* the signal that ended the waiting, or 0 */
	bool is_at_once;   /* the user asked twice: stop without waiting */
	bool has_result;   /* false after a signal that nobody answered */
	int stdout_errnum; /* not 0: stdout took no more, and the run was cancelled */
	unsigned files_failed;
};

/* Blocks the signals that end a run and returns a signalfd for them, or a negative errno. Before
 * anything is started. */
int order_signals(void);

/* False with err set when nothing was run, or nobody knows how it ended. */
bool order_run(struct instance *instance, int signals, const struct order_request *request,
	       struct order_outcome *ret, struct error *err);
