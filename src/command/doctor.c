/* hotcell doctor: the checks in order, the probe's cell, and what it all means. */
#include "command/doctor.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "command/commands.h"
#include "command/context.h"

struct doctor_options {
	bool json, help;
	struct option_list settings;
};

static const struct option_row rows[] = {
	{ 0, "json", NULL, option_take_switch, offsetof(struct doctor_options, json), 0, 0,
	  "print JSON" },
	{ 0, "set", "KEY=VALUE", option_take_list, offsetof(struct doctor_options, settings), 0, 0,
	  "change a setting (see `hotcell help settings`)" },
	{ 'h', "help", NULL, option_take_switch, offsetof(struct doctor_options, help), 0, 0,
	  "this text" },
};

static const char *const status_names[] = {
	[CHECK_OK] = "OK",
	[CHECK_DEGRADED] = "DEGRADED",
	[CHECK_FATAL] = "FATAL",
};

/* ---- checks ---- */

struct check *doctor_add(struct doctor *doctor, const char *id, bool counts)
{
	struct check *check = &doctor->checks[doctor->n_checks];

	if (doctor->n_checks + 1 < CHECKS_MAX)
		doctor->n_checks++;
	*check = (struct check){ .id = id, .counts = counts };
	return check;
}

void check_say(struct check *check, enum check_status status, const char *fmt, ...)
{
	va_list args;

	check->status = status;
	va_start(args, fmt);
	vsnprintf(check->text, sizeof(check->text), fmt, args);
	va_end(args);
}

void check_fix(struct check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(check->fix, sizeof(check->fix), fmt, args);
	va_end(args);
}

void doctor_look(struct doctor *doctor, const struct check_row *checks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		checks[i].look(doctor, doctor_add(doctor, checks[i].id, checks[i].counts));
}

/* ---- the cell ---- */

struct verdict {
	bool is_refused; /* there can be no cell */
	bool is_fatal;
	char level[16]; /* "" when there was no cell */
	struct probe_report probes;
};

static void judge_probes(struct doctor *doctor, struct verdict *verdict)
{
	const struct probe_report *probes = &verdict->probes;

	if (probes->n_wrong == 0) {
		check_say(doctor_add(doctor, "probe", true), CHECK_OK,
			  "in a real cell %zu attempts ended as they must", probes->n);
		return;
	}
	for (size_t i = 0; i < probes->n; i++) {
		const struct probe_result *result = &probes->results[i];
		struct check *wrong;

		if (result->ok)
			continue;
		wrong = doctor_add(doctor, result->row->name, true);
		check_say(wrong, CHECK_FATAL, "%s: expected %s, got %s", result->row->meaning,
			  result->expected, result->got);
	}
	if (probes->strange[0])
		check_say(doctor_add(doctor, "probe_line", true), CHECK_FATAL,
			  "the probe printed a line that nobody expects: \"%s\"", probes->strange);
	check_say(doctor_add(doctor, "probe", true), CHECK_FATAL,
		  "%zu of %zu attempts in a real cell did not end as they must: run no stranger's "
		  "code here, and report it",
		  probes->n_wrong, probes->n);
}

static void try_cell(struct doctor *doctor, struct verdict *verdict)
{
	_cleanup_free_ char *output = NULL;
	struct check *check;
	struct error err;

	if (cell_run_probe(doctor->context, &output, verdict->level, &err)) {
		probe_compare(output, &doctor->trial, &verdict->probes);
		judge_probes(doctor, verdict);
		return;
	}
	verdict->is_refused = true;
	check = doctor_add(doctor, "cell", true);
	check_say(check, CHECK_FATAL, "%s", err.message);
	(void)cell_explain(err.message, doctor, check);
}

static void examine(struct doctor *doctor, struct verdict *verdict)
{
	privilege_look(&doctor->identity);
	trial_make(&doctor->trial, doctor->context);
	doctor_look(doctor, doctor_isolation_rows, doctor_n_isolation_rows);
	doctor_look(doctor, doctor_host_rows, doctor_n_host_rows);
	try_cell(doctor, verdict);
	for (size_t i = 0; i < doctor->n_checks; i++)
		verdict->is_fatal |= doctor->checks[i].status == CHECK_FATAL;
}

/* ---- telling ---- */

static void print_check(const struct check *check)
{
	printf("%-8s  %-19s %s\n", status_names[check->status], check->id, check->text);
	if (check->fix[0])
		printf("%30s-> %s\n", "", check->fix);
}

static void print_checks(const struct doctor *doctor, bool counts)
{
	for (size_t i = 0; i < doctor->n_checks; i++)
		if (doctor->checks[i].counts == counts)
			print_check(&doctor->checks[i]);
}

static void print_text(const struct doctor *doctor, const struct verdict *verdict)
{
	printf("Isolation of a cell on this machine (as %s):\n",
	       privilege_name(doctor->trial.identity.privilege));
	print_checks(doctor, true);
	puts("\nAdvice about the host (does not change the isolation level):");
	print_checks(doctor, false);
	putchar('\n');
	if (verdict->is_refused)
		puts("A run would be REFUSED here: no cell can be built.");
	else if (verdict->is_fatal)
		puts("Do NOT run strangers' code here: something is wrong with the cells.");
	else
		printf("Isolation: %s. A run would not be refused.\n", verdict->level);
}

static json_t *checks_json(const struct doctor *doctor)
{
	json_t *array = json_array();

	for (size_t i = 0; i < doctor->n_checks; i++) {
		const struct check *check = &doctor->checks[i];
		json_t *object = json_pack("{s:s, s:s, s:b, s:s}", "id", check->id, "status",
					   status_names[check->status], "counts", check->counts,
					   "text", check->text);

		if (check->fix[0])
			(void)json_object_set_new(object, "fix", json_string(check->fix));
		(void)json_array_append_new(array, object);
	}
	return array;
}

static json_t *probes_json(const struct probe_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; i < report->n; i++) {
		const struct probe_result *result = &report->results[i];

		(void)json_array_append_new(
			array, json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", result->row->name,
					 "expected", result->expected, "got", result->got, "ok",
					 result->ok, "meaning", result->row->meaning));
	}
	return array;
}

static bool print_json(const struct doctor *doctor, const struct verdict *verdict)
{
	const char *level = verdict->level[0] ? verdict->level : NULL;
	json_t *all = json_pack("{s:s?, s:b, s:s, s:o, s:o}", "level", level, "refused",
				verdict->is_refused, "privilege",
				privilege_name(doctor->trial.identity.privilege), "checks",
				checks_json(doctor), "probes", probes_json(&verdict->probes));
	char *text = all ? json_dumps(all, isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT)
			 : NULL;

	json_decref(all);
	if (text)
		puts(text);
	free(text);
	return text != NULL;
}

static int doctor_main(int argc, char **argv)
{
	struct doctor_options options = { 0 };
	_cleanup_free_ struct verdict *verdict = xcalloc(1, sizeof(*verdict));
	_cleanup_free_ struct doctor *doctor = xcalloc(1, sizeof(*doctor));
	struct context context;
	struct error err;
	bool ok = true;
	int first;

	if (!options_parse(rows, ARRAY_SIZE(rows), argc, argv, &options, &first, &err))
		return command_fail(&err);
	if (options.help) {
		command_print_help(&command_doctor, stdout);
		return EXIT_STATUS_OK;
	}
	if (first < argc) {
		(void)error_set(&err, ERR_INPUT, 0, "doctor takes no argument '%s'", argv[first]);
		return command_fail(&err);
	}
	if (!context_load(&context, &options.settings, &err))
		return command_fail(&err);
	doctor->root = "";
	doctor->context = &context;
	examine(doctor, verdict);
	if (options.json)
		ok = print_json(doctor, verdict);
	else
		print_text(doctor, verdict);
	context_done(&context);
	return ok && !verdict->is_fatal ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "Tell what this machine allows, what is missing and how to mend it",
	.usage = "[--json]",
	.details =
		"Looks at the kernel's settings, starts a real cell and tries in it what a cell must\n"
		"refuse. OK, DEGRADED (works, with less) or FATAL for each, and how to mend it.\n\n"
		"The isolation of a run is strong, fair or weak:\n"
		"  strong  own uids for every cell, memory and process limits by cgroup, seccomp, Landlock\n"
		"  fair    one of: one uid for all cells, no Landlock, bind mounts instead of overlays\n"
		"  weak    no memory or process limit by cgroup, or several of the above\n\n"
		"The exit status is 1 when a run would be refused or a cell is not closed as it must be.\n",
	.options = rows,
	.n_options = ARRAY_SIZE(rows),
	.run = doctor_main,
};
