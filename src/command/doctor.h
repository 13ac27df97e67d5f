/*
 * hotcell doctor: what this machine allows, what is missing, how to mend it.
 *
 * Facts are rows of two tables: those that decide how well a cell is closed, and advice about the host.
 * Behaviour is one real cell in which hotcell-probe tries what a cell must refuse. Rows read below
 * `root`, so that a test can show them another machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "command/privilege.h"
#include "wire/warden_messages.h"

struct buf;
struct context;

enum check_status { CHECK_OK, CHECK_DEGRADED, CHECK_FATAL };

enum { CHECK_TEXT_MAX = 640, CHECK_FIX_MAX = 320, CHECKS_MAX = 256 };

struct check {
	const char *id;
	enum check_status status;
	bool counts; /* it decides the isolation level, or whether there can be a cell at all */
	char text[CHECK_TEXT_MAX];
	char fix[CHECK_FIX_MAX]; /* a command or what to do; "" when there is nothing */
};

/* What a child found by doing as an instance does; the child is gone, with all it changed. */
struct trial {
	bool has_cgroups; /* else cgroup_error says why not */
	enum cgroup_kind kind;
	uint32_t controllers; /* bits 1u << enum cgroup_controller */
	bool has_kill, has_peak, has_swap_limit;
	char cgroup_error[256];
	bool has_userns; /* else userns_error */
	struct identity identity;
	char userns_error[512];
	bool has_overlay;
	int overlay_errnum;
	int landlock_abi; /* 0: none */
};

struct doctor {
	const char *root; /* "" for this machine */
	const struct context *context;
	struct trial trial;
	struct identity identity; /* as privilege_look() found it */
	size_t n_checks;
	struct check checks[CHECKS_MAX];
};

struct check_row {
	const char *id;
	bool counts;
	void (*look)(const struct doctor *doctor, struct check *check);
};

extern const struct check_row doctor_isolation_rows[], doctor_host_rows[];
extern const size_t doctor_n_isolation_rows, doctor_n_host_rows;

/* Looks at every row and appends what it found. */
void doctor_look(struct doctor *doctor, const struct check_row *checks, size_t n);

/* Appends one that no row has; false when there is no room. */
struct check *doctor_add(struct doctor *doctor, const char *id, bool counts);

/* What a row says: a sentence and the status; then, if there is one, how to mend it. */
void check_say(struct check *check, enum check_status status, const char *fmt, ...) _printf_(3, 4);
void check_fix(struct check *check, const char *fmt, ...) _printf_(2, 3);

/* Does in a child what an instance would do, and tells how far it came. */
void trial_make(struct trial *ret, const struct context *context);

/* ---- reading the machine (doctor_read.c) ---- */

/* A small file below root, without the line's end; false when it cannot be read. */
bool read_fact(const char *root, const char *path, char *text, size_t size);
/* The same as a number. */
bool read_number(const char *root, const char *path, uint64_t *ret);
bool has_path(const char *root, const char *path);

/* "6.18.44-fc" to 6 and 18; false when it is not of that form. */
bool parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor);

/* What hides parts of /proc, from the text of mountinfo: how many mounts, and the first one's place. */
unsigned count_proc_masks(const char *mountinfo, char *first, size_t size);

/* "docker", "podman", "lxc", ... or NULL when this is no container (as far as one can tell). */
const char *container_name(const char *root, char *text, size_t size);

/* ---- the probe (doctor_probe.c, doctor_cell.c) ---- */

struct expectation {
	const char *name;
	const char *expected; /* several: "A|B"; "*": anything */
	const char *meaning;  /* what is right when it is as expected */
	const char *relaxed;  /* expected where one_uid or no signal barrier makes it so, or NULL */
	enum { ALWAYS, WITH_ONE_UID, WITHOUT_BARRIER } relaxed_when;
};

struct probe_result {
	const struct expectation *row;
	const char *expected; /* that applied */
	char got[64];
	bool ok;
};

enum { PROBES_MAX = 192 };

struct probe_report {
	size_t n, n_wrong;
	struct probe_result results[PROBES_MAX];
	char strange[64]; /* a line that no row knows, or "" */
	bool is_complete; /* the probe came to its end */
};

extern const struct expectation doctor_expectations[];
extern const size_t doctor_n_expectations;

/* Compares what hotcell-probe printed with the table. */
void probe_compare(const char *output, const struct trial *trial, struct probe_report *ret);

/* Runs hotcell-probe in a cell. On success *ret_output (freed by the caller) is what it printed and
 * level the isolation of that run. False with the sentence that a run would have ended with. */
bool cell_run_probe(const struct context *context, char **ret_output, char level[16],
		    struct error *err);

/* The knob that is likely to be the reason why a cell could not be built; false when none is known. */
bool cell_explain(const char *message, const struct doctor *doctor, struct check *check);
