/* The settings, one row each. */
#include "config/setting.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "config/closest.h"
#include "config/config.h"

#define AT(field) offsetof(struct config, field)
#define KB        ((uint64_t)1 << 10)
#define MB        ((uint64_t)1 << 20)
#define TB        ((uint64_t)1 << 40)
#define SECOND    ((uint64_t)1000)
#define DAY       (24 * 3600 * SECOND)
/* The last of the 32-bit uids is "no uid". */
#define UID_LAST ((uint64_t)4294967294)

/* Ranges are those of wire/cell_spec.c: below nothing can run, above it is no limit. */
/* clang-format off */
#define POLICY(n, name, memory, cpus, count, workspace, tmp)                                                            \
	{ "policy." name, "memory", &setting_bytes, AT(policies[n].memory_bytes), memory,                               \
	  "Memory of one run, with its files in /workspace and /tmp.", .min = 8 * MB, .max = TB },                      \
	{ "policy." name, "cpus", &setting_cpus, AT(policies[n].cpu_milli), cpus,                                       \
	  "CPUs' worth of time one run gets.", .min = 10, .max = 1024 * 1000 },                                         \
	{ "policy." name, "processes", &setting_count, AT(policies[n].processes), count,                                \
	  "Processes and threads of one run, together.", .min = 4, .max = 32768 },                                      \
	{ "policy." name, "workspace", &setting_bytes, AT(policies[n].workspace_bytes), workspace,                      \
	  "Size of /workspace; in memory it is at most half of that.", .min = 64 * KB, .max = TB },                     \
	{ "policy." name, "tmp", &setting_bytes, AT(policies[n].tmp_bytes), tmp,                                        \
	  "Size of /tmp.", .min = 64 * KB, .max = TB }

const struct setting settings[] = {
	{ "run", "policy", &setting_word, AT(run_policy), "standard",
	  "Limits of a run that names no policy.", .words = "strict, standard, permissive" },
	{ "run", "timeout", &setting_duration, AT(run_timeout_ms), "30s",
	  "Time limit of a run that names none.", .min = 1, .max = DAY },
	{ "run", "timeout_max", &setting_duration, AT(run_timeout_max_ms), "600s",
	  "The longest time limit a run may ask for.", .min = 1, .max = DAY },
	{ "run", "memory_max", &setting_bytes, AT(run_memory_max_bytes), "8G",
	  "The most memory a run may ask for.", .min = 8 * MB, .max = TB },

	/* Above every range that systemd, useradd and subuid files give away by themselves. */
	{ "cells", "uid_base", &setting_count, AT(cells_uid_base), "1900000000",
	  "First host uid of the cells, two each; no account may use them.", .min = 65536, .max = UID_LAST },
	{ "cells", "max", &setting_count, AT(cells_max), "64",
	  "Cells at once.", .min = 1, .max = 4096 },
	{ "cells", "spare", &setting_count, AT(cells_spare), "2",
	  "Half-built cells kept ready for the next run.", .min = 0, .max = 256 },
	{ "cells", "cgroup", &setting_word, AT(cells_cgroup), "auto",
	  "Which cgroups hold the limits; auto takes what the host has.", .words = "auto, v2, v1, none" },

	{ "paths", "runtimes", &setting_text, AT(paths_runtimes), "",
	  "More folders with languages, separated by ':'; later ones win." },

	{ "mcp", "result_limit", &setting_bytes, AT(mcp_result_limit_bytes), "64K",
	  "Text that one answer carries; the rest of an output is left out.", .min = 1024, .max = 16 << 20 },
	{ "mcp", "message_max", &setting_bytes, AT(mcp_message_max_bytes), "32M",
	  "The longest message that a client may send.", .min = 64 << 10, .max = 256 << 20 },
	{ "mcp", "content_only", &setting_text, AT(mcp_content_only), "claude-code codex opencode",
	  "Clients that drop images where there is structured content: they get no such content then." },

	{ "log", "level", &setting_word, AT(log_level), "warn",
	  "How much is logged to stderr.", .words = "error, warn, info, debug", .older = "LOG_LEVEL",
	  .older_is_shared = true },

	POLICY(0, "strict",     "256M", "0.5", "64",  "256M", "64M"),
	POLICY(1, "standard",   "512M", "1",   "128", "1G",   "128M"),
	POLICY(2, "permissive", "1G",   "2",   "256", "4G",   "256M"),
};
/* clang-format on */
const size_t n_settings = ARRAY_SIZE(settings);
_Static_assert(ARRAY_SIZE(settings) <= SETTINGS_MAX, "SETTINGS_MAX is too small");

static bool is_first_of_section(size_t i)
{
	return i == 0 || strcmp(settings[i].section, settings[i - 1].section) != 0;
}

/* The sentence for a section or key that does not exist. */
static const struct setting *unknown(const char *section, const char *key, struct error *err)
{
	struct closest near;
	char names[256] = "";
	size_t used = 0;

	closest_init(&near, key ? key : section);
	for (size_t i = 0; i < n_settings; i++) {
		const char *name = key ? settings[i].key : settings[i].section;

		if (key ? strcmp(settings[i].section, section) != 0 : !is_first_of_section(i))
			continue;
		closest_try(&near, name);
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", name);
	}
	if (key)
		error_set(err, ERR_INPUT, 0, "there is no setting '%.40s' in [%s]%s There are: %s",
			  key, section, closest_hint(&near), names);
	else
		error_set(err, ERR_INPUT, 0, "there is no section [%.40s]%s There are: %s", section,
			  closest_hint(&near), names);
	return NULL;
}

const struct setting *setting_find(const char *section, const char *key, struct error *err)
{
	bool known = false;

	for (size_t i = 0; i < n_settings; i++) {
		if (strcmp(settings[i].section, section) != 0)
			continue;
		if (!key || strcmp(settings[i].key, key) == 0)
			return &settings[i];
		known = true;
	}
	return unknown(section, known ? key : NULL, err);
}
