/* The program to run, as it was given: a text, a file, or stdin. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

struct source {
	const char *name; /* the file's, as given; "" for a text and for stdin */
	bool is_stdin;
	struct buf code;
};

/* `text` or else the file `name` ("-": stdin). False with a sentence: not there, unreadable, a folder,
 * empty, over BUNDLE_CODE_MAX, or with NUL bytes. */
bool source_read(struct source *ret, const char *text, const char *name, struct error *err);
void source_done(struct source *source);
