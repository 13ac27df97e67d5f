/*
 * hotcell setup host: what an ordinary user cannot change about a machine, changed once by root.
 *
 * A plan is made by looking, shown, and then carried out: files with a marker line, and lines in files
 * of others. What was done is kept in /etc/hotcell/host-setup.json, so that exactly that can be undone.
 * Every path is below `root`, which is "" except in tests; with another root no command is run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_SETUP_MARKER \
	"# Written by `hotcell setup host`; `hotcell setup host --remove` takes it away."
#define HOST_SETUP_STATE "/etc/hotcell/host-setup.json"

enum host_action_kind { HOST_FILE, HOST_LINE };

enum { HOST_ACTIONS_MAX = 8, HOST_NOTES_MAX = 8, HOST_TEXT_MAX = 2048, HOST_WHY_MAX = 256 };

struct host_action {
	enum host_action_kind kind;
	char path[256];           /* without root */
	char text[HOST_TEXT_MAX]; /* the file's content, or the line without its end */
	char why[HOST_WHY_MAX];
	const char *after[4]; /* a command, ended by NULL; after[0] NULL: none */
};

struct host_plan {
	size_t n_actions;
	struct host_action actions[HOST_ACTIONS_MAX];
	size_t n_notes;
	char notes[HOST_NOTES_MAX][HOST_WHY_MAX];
};

struct host_request {
	const char *root;
	const char *user;    /* NULL: nobody in particular */
	const char *program; /* absolute path of hotcell */
};

/* Looks at the host and says what it needs. False with ERR_INPUT when there is no such user. */
bool host_plan_make(const struct host_request *request, struct host_plan *ret, struct error *err);
void host_plan_show(const struct host_plan *plan, const char *root);

/* Carries it out; what was done is in the state file even when a later step fails. */
bool host_plan_do(const struct host_plan *plan, const char *root, struct error *err);

/* Undoes what the state file lists; with `dry` only says so. True with *ret_n 0 when there is nothing. */
bool host_undo(const char *root, bool dry, size_t *ret_n, struct error *err);

/* ---- parts, for tests ---- */

/* The AppArmor profile for the program at this path. */
void host_profile_text(const char *program, char *text, size_t size);

/* The first uid of 65536 that no line of either text has; 0 when there is no room. */
uint32_t host_free_range(const char *subuid, const char *subgid);

/* Which of cpu, memory and pids a line "Delegate=..." of the text gives; as bits 1, 2, 4. The last such
 * line of a text counts, and "Delegate=yes" gives all. */
enum { DELEGATES_CPU = 1, DELEGATES_MEMORY = 2, DELEGATES_PIDS = 4, DELEGATES_ALL = 7 };
unsigned host_delegated(const char *unit, bool *ret_found);
unsigned host_controllers(const char *words);

/* The text without the one line; false when it is not in it. Result in place. */
bool host_drop_line(char *text, const char *line);
