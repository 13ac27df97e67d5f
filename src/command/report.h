/* What a person is told at the end of a run: the exit status, one sentence, a summary, the JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/order_messages.h"

/* The command's exit status: the program's own, 128+n for a signal, 124 timeout, 137 memory, 153
 * output, 130 cancelled. */
int report_status(const struct order_result *result);

/* "the program was stopped after 1000 ms (--timeout)"; "" when it ended by itself. */
void report_sentence(const struct order_result *result, char *text, size_t size);

/* The whole result to stdout: one line, or indented for a terminal. 0 or a negative errno. */
int report_json(const char *json, size_t len);

/* What hotcell has to add to the result, on stderr: files that are not all there. True if something. */
bool report_note(const char *json, size_t len);

/* A few lines to stderr: verdict, usage, isolation, files. */
void report_summary(const struct order_result *result, const char *json, size_t len);
