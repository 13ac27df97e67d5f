#include "config/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "config/ini_text.h"
#include "config/setting.h"

#define SYSTEM_FILE "/etc/hotcell/hotcell.ini"

enum { ENVIRONMENT_NAME_MAX = 64 };

static void *field_of(const struct config *config, const struct setting *s)
{
	return (char *)(uintptr_t)config + s->offset;
}

void config_init(struct config *config)
{
	struct error err;

	*config = (struct config){ 0 };
	for (size_t i = 0; i < n_settings; i++) {
		if (!setting_parse(&settings[i], config, settings[i].value, &err))
			abort(); /* a default that its own row refuses; the unit test meets it first */
	}
}

void config_done(struct config *config)
{
	for (size_t i = 0; i < n_settings; i++) {
		if (!settings[i].type->format)
			free(*(char **)field_of(config, &settings[i]));
	}
	*config = (struct config){ 0 };
}

/* ---- files ---- */

struct file_reading {
	struct config *config;
	unsigned seen[SETTINGS_MAX]; /* the line that gave it; 0: none yet */
};

static bool on_entry(const struct ini_entry *entry, void *data, struct error *err)
{
	struct file_reading *reading = data;
	const struct setting *s = setting_find(entry->section, entry->key, err);
	unsigned *seen;

	if (!s)
		return false;
	if (!entry->key)
		return true;
	seen = &reading->seen[s - settings];
	if (*seen)
		return error_set(err, ERR_INPUT, 0, "%s.%s was already given in line %u",
				 s->section, s->key, *seen);
	*seen = entry->line;
	return setting_parse(s, reading->config, entry->value, err);
}

bool config_read_file(struct config *config, const char *path, bool optional, struct error *err)
{
	struct file_reading reading = { .config = config };
	const struct ini_reader reader = { .entry = on_entry, .data = &reading };

	return ini_read_file(path, optional, &reader, err);
}

bool config_read_text(struct config *config, const char *name, const char *text, struct error *err)
{
	struct file_reading reading = { .config = config };
	const struct ini_reader reader = { .entry = on_entry, .data = &reading };

	return ini_read_text(name, text, strlen(text), &reader, err);
}

/* ---- environment ---- */

/* HOTCELL_RUN_TIMEOUT of run.timeout, HOTCELL_POLICY_STRICT_MEMORY of policy.strict.memory. */
static void environment_name(const struct setting *s, char name[ENVIRONMENT_NAME_MAX])
{
	snprintf(name, ENVIRONMENT_NAME_MAX, "HOTCELL_%s_%s", s->section, s->key);
	for (char *p = name; *p; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
}

/* A variable that is empty counts as not set: that is how people switch one off. */
static bool read_variable(struct config *config, const struct setting *s, const char *name,
			  struct error *err)
{
	const char *value = getenv(name);

	if (!value || !*value || setting_parse(s, config, value, err))
		return true;
	return error_prefix(err, "environment variable %s", name);
}

static bool read_environment(struct config *config, struct error *err)
{
	for (size_t i = 0; i < n_settings; i++) {
		char name[ENVIRONMENT_NAME_MAX];

		environment_name(&settings[i], name);
		if (settings[i].older &&
		    !read_variable(config, &settings[i], settings[i].older, err) &&
		    !settings[i].older_is_shared)
			return false;
		if (!read_variable(config, &settings[i], name, err))
			return false;
	}
	return true;
}

/* ---- everything ---- */

static bool read_user_file(struct config *config, struct error *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	_cleanup_free_ char *path = NULL;

	/* A relative XDG_CONFIG_HOME is to be ignored, says its specification. */
	if (xdg && xdg[0] == '/')
		path = xasprintf("%s/hotcell/hotcell.ini", xdg);
	else if (home && home[0] == '/')
		path = xasprintf("%s/.config/hotcell/hotcell.ini", home);
	return path ? config_read_file(config, path, true, err) : true;
}

bool config_load(struct config *config, struct error *err)
{
	const char *only = getenv("HOTCELL_CONFIG");

	if (only && *only) {
		if (!config_read_file(config, only, false, err))
			return false;
	} else if (!config_read_file(config, SYSTEM_FILE, true, err) ||
		   !read_user_file(config, err)) {
		return false;
	}
	return read_environment(config, err) && config_check(config, err);
}

bool config_set(struct config *config, const char *name, const char *value, struct error *err)
{
	const char *dot = strrchr(name, '.');
	_cleanup_free_ char *section = NULL;
	const struct setting *s;

	if (!dot)
		return error_set(err, ERR_INPUT, 0,
				 "'%.40s' is not a setting: write section.key, such as run.timeout",
				 name);
	section = xstrndup(name, (size_t)(dot - name));
	s = setting_find(section, dot + 1, err);
	return s && setting_parse(s, config, value, err);
}

static bool check_policy(const struct config *config, const char *name,
			 const struct config_policy *policy, struct error *err)
{
	char has[32], most[32];

	if (policy->memory_bytes <= config->run_memory_max_bytes)
		return true;
	return error_set(
		err, ERR_INPUT, 0,
		"policy.%s.memory (%s) is more than run.memory_max (%s): raise run.memory_max "
		"or lower the policy's memory",
		name, format_bytes(policy->memory_bytes, has, sizeof(has)),
		format_bytes(config->run_memory_max_bytes, most, sizeof(most)));
}

bool config_check(const struct config *config, struct error *err)
{
	static const char *const policies[] = { "strict", "standard", "permissive" };

	if (config->run_timeout_ms > config->run_timeout_max_ms)
		return error_set(err, ERR_INPUT, 0,
				 "run.timeout (%" PRIu64
				 " ms) is more than run.timeout_max (%" PRIu64
				 " ms): raise run.timeout_max or lower run.timeout",
				 config->run_timeout_ms, config->run_timeout_max_ms);
	if (config->cells_spare > config->cells_max)
		return error_set(err, ERR_INPUT, 0,
				 "cells.spare (%" PRIu64 ") is more than cells.max (%" PRIu64
				 "): raise cells.max or lower cells.spare",
				 config->cells_spare, config->cells_max);
	if (config->cells_uid_base + 2 * config->cells_max - 1 > UINT32_MAX - 1)
		return error_set(err, ERR_INPUT, 0,
				 "cells.uid_base (%" PRIu64 ") leaves no room for %" PRIu64
				 " cells of two uids each: lower cells.uid_base or cells.max",
				 config->cells_uid_base, config->cells_max);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		if (!check_policy(config, policies[i], &config->policies[i], err))
			return false;
	}
	return true;
}

/* ---- printing ---- */

char *config_to_text(const struct config *config)
{
	_cleanup_buf_ struct buf text;
	const char *section = "";

	buf_init(&text, INI_TEXT_MAX);
	for (size_t i = 0; i < n_settings; i++) {
		const struct setting *s = &settings[i];
		void *field = field_of(config, s);
		char number[32];
		const char *value = number;

		if (s->type->format)
			s->type->format(*(const uint64_t *)field, number, sizeof(number));
		else
			value = *(char *const *)field;
		if (strcmp(section, s->section) != 0)
			(void)buf_printf(&text, "[%s]\n", s->section);
		section = s->section;
		(void)buf_printf(&text, "%s = %s\n", s->key, value);
	}
	return xstrdup(buf_string(&text));
}

void config_print_help(FILE *to)
{
	const char *section = "";

	for (size_t i = 0; i < n_settings; i++) {
		const struct setting *s = &settings[i];
		char name[ENVIRONMENT_NAME_MAX], allowed[96];

		if (strcmp(section, s->section) != 0)
			fprintf(to, "%s[%s]\n", i ? "\n" : "", s->section);
		section = s->section;
		environment_name(s, name);
		setting_allowed(s, allowed, sizeof(allowed));
		fprintf(to, "%s = %s\n", s->key, s->value);
		fprintf(to, "        %s\n", s->help);
		fprintf(to, "        %s: %s. Environment: %s", s->words ? "One of" : "Allowed",
			allowed, name);
		fprintf(to, "%s%s.\n", s->older ? " or " : "", s->older ? s->older : "");
	}
}
