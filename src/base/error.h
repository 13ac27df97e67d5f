/*
 * A failure that a person is told of: a code for programs, a sentence for people.
 *
 * Lives on the caller's stack, owns nothing. Below core/ functions return a negative errno instead;
 * where somebody asked for something, they fill a struct error. It is logged once, by whoever
 * finishes the request. What the user's program did is never an error: that is a verdict.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

enum error_code {
	ERR_NONE,
	ERR_INPUT,       /* the request is wrong; nothing was run */
	ERR_NOT_FOUND,   /* no such language, file, session, job */
	ERR_LIMIT,       /* a named limit was reached */
	ERR_BUSY,        /* try again later */
	ERR_UNAVAILABLE, /* the sandbox could not be built as asked, so nothing was run */
	ERR_SYSTEM,      /* hotcell's own failure */
	_ERR_COUNT,
};

struct error {
	enum error_code code;
	int errnum; /* 0 or a positive errno */
	char message[512];
};

/* Fills err and returns false, so that a caller can write `return error_set(...)`. err may be NULL.
 * With errnum != 0 the text of that errno is appended after ": ". */
bool error_set(struct error *err, enum error_code code, int errnum, const char *fmt, ...)
	_printf_(4, 5);

/* Puts "prefix: " before what is already there. */
bool error_prefix(struct error *err, const char *fmt, ...) _printf_(2, 3);

/* Stable lower-case word, e.g. "not_found"; part of the interface. */
const char *error_code_name(enum error_code code);
