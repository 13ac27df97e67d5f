/* The values of a runtime.ini: words, names, placeholders. Private to runtime/. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "runtime/keep.h"

/* "a 'b c' d" to a list ended by NULL; quotes of either kind keep blanks and do nothing else. NULL with
 * err set for an open quote or more than max words. */
const char *const *words_split(struct keep *keep, const char *text, size_t max, struct error *err);

/* A language's name: a letter, then letters, digits, '+', '-', '#', '.', '_'; lower case, 1 to 32. */
bool word_is_language(const char *word);

/* [A-Za-z_][A-Za-z0-9_]* */
bool word_is_variable(const char *word);

/* One name, no '/', not hidden, not too long for a cell: "main.sh". */
bool word_is_file(const char *word);

/* What stands for a placeholder; NULL: it stays as it is. */
struct placeholders {
	const char *program, *place;
	bool file; /* {file} may be used */
};

/* text with {program} and {place} put in. NULL with err set for a {name} that nobody knows. */
const char *placeholders_expand(struct keep *keep, const struct placeholders *p, const char *text,
				struct error *err);
