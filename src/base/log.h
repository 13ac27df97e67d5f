/*
 * Log lines to stderr: `time level event key=value ...`, one line an event.
 *
 * stdout belongs to the protocol. Values are escaped, so no value can forge a line. Code of users and
 * secrets are never logged. Only command/, front/, transport/ and core/ log; what lies below returns
 * its failures, so that each is said once.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, _LOG_LEVEL_COUNT };

/* Accepts "error", "warn", "info", "debug"; returns false and changes nothing for another word. */
bool log_set_level(const char *name);
enum log_level log_level(void);
void log_set_program(const char *name);

/* Pairs of strings (key, value), ended by NULL; a NULL value is left out with its key:
 * log_event(LOG_WARN, "cell.died", "cell", id, "why", text, NULL). */
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));
