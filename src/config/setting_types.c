/* What a setting's text may be: words, plain text, counts, bytes, durations, CPUs. */
#include "config/setting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "config/ini_text.h"

static void set_text(char **field, const char *text, size_t len)
{
	free(*field);
	*field = xstrndup(text, len);
}

static bool parse_word(const struct setting *s, const char *text, void *field, struct error *err)
{
	size_t len = strlen(text);

	for (const char *p = s->words; *p && len > 0;) {
		const char *end = strchrnul(p, ',');

		if ((size_t)(end - p) == len && strncasecmp(p, text, len) == 0) {
			set_text(field, p, len);
			return true;
		}
		p = *end ? end + 2 : end;
	}
	return error_set(err, ERR_INPUT, 0, "'%.40s' is not one of %s", text, s->words);
}

static bool parse_text(const struct setting *s, const char *text, void *field, struct error *err)
{
	(void)s;
	(void)err;
	set_text(field, text, strlen(text));
	return true;
}

const struct setting_type setting_word = { parse_word, NULL };
const struct setting_type setting_text = { parse_text, NULL };

/* One of base/parse.h, then the range. `form` says how it is written. */
static bool parse_number(const struct setting *s, const char *text, void *field, struct error *err,
			 int (*parse)(const char *, uint64_t *), const char *form)
{
	char allowed[96];
	uint64_t value = 0;
	int r = parse(text, &value);

	if (r == -EINVAL)
		return error_set(err, ERR_INPUT, 0, "'%.40s' is not %s", text, form);
	if (r < 0 || value < s->min || value > s->max) {
		setting_allowed(s, allowed, sizeof(allowed));
		return error_set(err, ERR_INPUT, 0, "'%.40s' is out of range; allowed is %s", text,
				 allowed);
	}
	memcpy(field, &value, sizeof(value));
	return true;
}

static bool parse_count(const struct setting *s, const char *text, void *field, struct error *err)
{
	return parse_number(s, text, field, err, parse_uint64, "a whole number such as 64");
}

static bool parse_size(const struct setting *s, const char *text, void *field, struct error *err)
{
	return parse_number(s, text, field, err, parse_bytes, "a size such as 512M or 1.5G");
}

static bool parse_time(const struct setting *s, const char *text, void *field, struct error *err)
{
	return parse_number(s, text, field, err, parse_duration_ms,
			    "a duration such as 500ms, 30s or 5m");
}

static bool parse_cpus(const struct setting *s, const char *text, void *field, struct error *err)
{
	return parse_number(s, text, field, err, parse_milli, "a number of CPUs such as 0.5 or 2");
}

static void format_count(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, value);
}

/* The largest unit that gives a whole number. */
static void format_size(uint64_t value, char *text, size_t size)
{
	static const char units[] = "KMGT";
	size_t i = 0;

	while (i < sizeof(units) - 1 && value > 0 && value % 1024 == 0) {
		value /= 1024;
		i++;
	}
	if (i == 0)
		snprintf(text, size, "%" PRIu64, value);
	else
		snprintf(text, size, "%" PRIu64 "%c", value, units[i - 1]);
}

static void format_time(uint64_t value, char *text, size_t size)
{
	if (value > 0 && value % 3600000 == 0)
		snprintf(text, size, "%" PRIu64 "h", value / 3600000);
	else if (value > 0 && value % 1000 == 0)
		snprintf(text, size, "%" PRIu64 "s", value / 1000);
	else
		snprintf(text, size, "%" PRIu64 "ms", value);
}

static void format_cpus(uint64_t value, char *text, size_t size)
{
	int decimals = value % 1000 == 0 ? 0 : value % 100 == 0 ? 1 : value % 10 == 0 ? 2 : 3;
	static const unsigned weight[] = { 1000, 100, 10, 1 };

	if (decimals == 0)
		snprintf(text, size, "%" PRIu64, value / 1000);
	else
		snprintf(text, size, "%" PRIu64 ".%0*u", value / 1000, decimals,
			 (unsigned)(value % 1000) / weight[decimals]);
}

const struct setting_type setting_count = { parse_count, format_count };
const struct setting_type setting_bytes = { parse_size, format_size };
const struct setting_type setting_duration = { parse_time, format_time };
const struct setting_type setting_cpus = { parse_cpus, format_cpus };

void setting_allowed(const struct setting *s, char *text, size_t size)
{
	char min[32], max[32];

	if (s->type->format) {
		s->type->format(s->min, min, sizeof(min));
		s->type->format(s->max, max, sizeof(max));
		snprintf(text, size, "%s to %s", min, max);
	} else {
		snprintf(text, size, "%s", s->words ? s->words : "text");
	}
}

bool setting_parse(const struct setting *s, void *config, const char *text, struct error *err)
{
	if (ini_value_check(text, err) && s->type->parse(s, text, (char *)config + s->offset, err))
		return true;
	return error_prefix(err, "%s.%s", s->section, s->key);
}
