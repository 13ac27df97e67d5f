/* hotcell runtimes: which languages there are, and what of them this machine has. */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "command/commands.h"
#include "command/context.h"

struct runtimes_options {
	bool json, help;
	struct option_list settings;
};

static const struct option_row rows[] = {
	{ 0, "json", NULL, option_take_switch, offsetof(struct runtimes_options, json), 0, 0,
	  "print JSON" },
	{ 0, "set", "KEY=VALUE", option_take_list, offsetof(struct runtimes_options, settings), 0,
	  0, "change a setting (see `hotcell help settings`)" },
	{ 'h', "help", NULL, option_take_switch, offsetof(struct runtimes_options, help), 0, 0,
	  "this text" },
};

static void print_table(const struct runtimes *runtimes)
{
	printf("%-12s %-10s %s\n", "LANGUAGE", "STATE", "PROGRAM, OR HOW TO INSTALL IT");
	for (size_t i = 0; i < runtimes_count(runtimes); i++) {
		const struct runtime *r = runtimes_at(runtimes, i);

		printf("%-12s %-10s %s%s%s\n", r->name, r->program ? "ready" : "missing",
		       r->program   ? r->program
		       : r->install ? r->install
				    : "-",
		       r->program && r->version ? " " : "",
		       r->program && r->version ? r->version : "");
	}
}

static json_t *strings(const char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list && list[i]; i++)
		(void)json_array_append_new(array, json_string(list[i]));
	return array;
}

static bool print_json(const struct runtimes *runtimes)
{
	json_t *all = json_array();
	char *text;

	for (size_t i = 0; i < runtimes_count(runtimes); i++) {
		const struct runtime *r = runtimes_at(runtimes, i);

		(void)json_array_append_new(
			all,
			json_pack("{s:s, s:s?, s:o, s:o, s:b, s:s?, s:s?, s:s?}", "name", r->name,
				  "title", r->title, "aliases", strings(r->aliases), "extensions",
				  strings(r->extensions), "ready", !!r->program, "program",
				  r->program, "version", r->version, "install", r->install));
	}
	text = json_dumps(all, isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT);
	json_decref(all);
	if (text)
		puts(text);
	free(text);
	return text != NULL;
}

static int list_runtimes(int argc, char **argv)
{
	struct runtimes_options options = { 0 };
	struct context context;
	struct error err;
	const char *problem;
	bool ok = true;
	int first;

	if (!options_parse(rows, ARRAY_SIZE(rows), argc, argv, &options, &first, &err))
		return command_fail(&err);
	if (options.help) {
		command_print_help(&command_runtimes, stdout);
		return EXIT_STATUS_OK;
	}
	if (first < argc) {
		(void)error_set(&err, ERR_INPUT, 0, "runtimes takes no argument '%s'", argv[first]);
		return command_fail(&err);
	}
	if (!context_load(&context, &options.settings, &err))
		return command_fail(&err);
	if (options.json)
		ok = print_json(context.runtimes);
	else
		print_table(context.runtimes);
	for (size_t i = 0; (problem = runtimes_problem(context.runtimes, i)); i++)
		fprintf(stderr, "hotcell: %s\n", problem);
	context_done(&context);
	return ok ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

const struct command command_runtimes = {
	.name = "runtimes",
	.summary = "List the languages and what this machine has of them",
	.usage = "[--json]",
	.options = rows,
	.n_options = ARRAY_SIZE(rows),
	.run = list_runtimes,
};
