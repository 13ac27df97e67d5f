/*
 * The settings: one table (config.c) says of each its section, key, parser, place, default and help.
 *
 * Files first (/etc/hotcell/hotcell.ini, then the user's), then the environment (HOTCELL_SECTION_KEY,
 * and the older names in the table), then flags. An unknown section or key is an error with file and
 * line. Strings are owned by the struct; config_done() frees them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct config {
	/* run */
	char *run_policy; /* strict, standard, permissive */
	uint64_t run_timeout_ms;
	uint64_t run_timeout_max_ms;
	uint64_t run_memory_max_bytes;
	/* cells */
	uint64_t cells_uid_base;
	uint64_t cells_max;   /* cells at once */
	uint64_t cells_spare; /* cradles kept ready */
	char *cells_cgroup;   /* auto, v2, v1, none */
	/* paths */
	char *paths_runtimes; /* more folders with runtimes, separated by ':' */
	/* mcp */
	uint64_t mcp_result_limit_bytes; /* text in one answer */
	uint64_t mcp_message_max_bytes;  /* one message from a client */
	char *mcp_content_only;          /* clients whose model sees only structuredContent */
	/* log */
	char *log_level;
	/* policy.strict, policy.standard, policy.permissive */
	struct config_policy {
		uint64_t memory_bytes;
		uint64_t cpu_milli;
		uint64_t processes;
		uint64_t workspace_bytes;
		uint64_t tmp_bytes;
	} policies[3];
};

void config_init(struct config *config); /* the defaults */
void config_done(struct config *config);

/* Reads one INI file. A file that does not exist is fine when `optional`. */
bool config_read_file(struct config *config, const char *path, bool optional, struct error *err);

/* Reads INI text from memory; `name` stands for the file in errors. */
bool config_read_text(struct config *config, const char *name, const char *text, struct error *err);

/* System file, user's file, environment: everything but flags. */
bool config_load(struct config *config, struct error *err);

/* One setting as "section.key" ("run.timeout", "policy.strict.memory"), from a flag. */
bool config_set(struct config *config, const char *name, const char *value, struct error *err);

/* What no single row can tell: run.timeout within run.timeout_max and so on. config_load() has done it;
 * after config_set() do it again. */
bool config_check(const struct config *config, struct error *err);

/* The whole configuration as INI text that config_read_text() reads back to the same values; this is
 * how the front gets it. The caller frees it. */
char *config_to_text(const struct config *config);

/* Every setting with its default and help, for `hotcell help settings` and the manual page. */
void config_print_help(FILE *to);
