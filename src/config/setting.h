/* The table of settings and what a setting's text may be. Private to config/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { SETTINGS_MAX = 128 }; /* rows of the table, so that others can have an array beside it */

struct setting;

/* How text becomes a value and back. */
struct setting_type {
	bool (*parse)(const struct setting *s, const char *text, void *field, struct error *err);
	/* Text that parse() reads back to the same value; NULL: the field is a string. */
	void (*format)(uint64_t value, char *text, size_t size);
};

struct setting {
	const char *section, *key;
	const struct setting_type *type;
	size_t offset;     /* in struct config */
	const char *value; /* the default */
	const char *help;
	const char *words; /* what is allowed of a word, separated by ", " */
	uint64_t min, max; /* what is allowed of a number */
	const char *older; /* an environment variable that is read too */
	bool older_is_shared; /* other programs read it as well: a value that is not ours is passed over */
};

extern const struct setting settings[];
extern const size_t n_settings;

extern const struct setting_type setting_word, setting_text, setting_count, setting_bytes,
	setting_duration, setting_cpus;

/* Parses text into its place in the struct; the error names the setting. */
bool setting_parse(const struct setting *s, void *config, const char *text, struct error *err);

/* NULL with err set (closest name, what there is) when there is none. key NULL: is the section known? */
const struct setting *setting_find(const char *section, const char *key, struct error *err);

/* "1 ms to 24 h", "strict, standard, permissive", for people. */
void setting_allowed(const struct setting *s, char *text, size_t size);
