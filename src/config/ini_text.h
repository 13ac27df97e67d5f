/*
 * INI text, read strictly: for hotcell.ini and runtime.ini alike.
 *
 *     ; or # begins a comment, at the start of a line only
 *     [section]
 *     key = value                 blanks around both are dropped; the value goes to the end of the line
 *
 * Anything else is an error with file and line, and so is what inih would pass over in silence: a line
 * or name that is too long, text after "]", a NUL byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum {
	INI_TEXT_MAX = 256 << 10, /* a whole file */
	INI_LINE_MAX = 4096,
	INI_NAME_MAX = 48, /* a section or a key */
	INI_VALUE_MAX = INI_LINE_MAX - INI_NAME_MAX - 8,
};

/* key and value are NULL when a section begins. All borrowed until the call returns. */
struct ini_entry {
	const char *section, *key, *value;
	unsigned line;
};

struct ini_reader {
	/* False with err set ends the reading; "file:line: " is put before the message. */
	bool (*entry)(const struct ini_entry *entry, void *data, struct error *err);
	void *data;
};

/* `name` stands for the file in errors. */
bool ini_read_text(const char *name, const char *text, size_t len, const struct ini_reader *reader,
		   struct error *err);

/* The same of a file. One that does not exist is as an empty one when `optional`. */
bool ini_read_file(const char *path, bool optional, const struct ini_reader *reader,
		   struct error *err);

/* A value that comes from elsewhere (environment, flag) could stand in a line: not too long, no control
 * characters, no blanks at its ends. */
bool ini_value_check(const char *value, struct error *err);
