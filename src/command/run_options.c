#include "command/run_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "base/parse.h"
#include "config/config.h"

/* The ranges of limits are those of wire/cell_spec.c. */
#define KB ((uint64_t)1 << 10)
#define MB ((uint64_t)1 << 20)
#define TB ((uint64_t)1 << 40)

#define PLACE(field) offsetof(struct run_options, field)

static bool take_variable(const struct option_row *row, const char *text, void *into,
			  struct error *err);
static bool take_policy(const struct option_row *row, const char *text, void *into,
			struct error *err);

/* clang-format off: a table */
const struct option_row run_option_rows[RUN_OPTION_ROWS] = {
	{ 'l', "language", "LANG", option_take_text, PLACE(language), 0, 0,
	  "the program's language: python, bash, ... (see `hotcell runtimes`)" },
	{ 'c', "code", "CODE", option_take_text, PLACE(code), 0, 0,
	  "run this text instead of a file" },
	{ 0, "timeout", "MS", option_take_ms, PLACE(timeout_ms), 1, 24 * 3600 * 1000,
	  "stop the program after this time: 1500, 2s, 1m" },
	{ 0, "memory", "BYTES", option_take_bytes, PLACE(limits.memory_bytes), 8 * MB, TB,
	  "memory it may use, from 8M: 256M, 1G" },
	{ 0, "cpus", "N", option_take_milli, PLACE(limits.cpu_milli), 10, 1024 * 1000,
	  "CPUs it may use: 0.5, 2" },
	{ 0, "processes", "N", option_take_count, PLACE(limits.processes), 4, 32768,
	  "processes and threads it may have at once" },
	{ 0, "disk", "BYTES", option_take_bytes, PLACE(limits.workspace_bytes), 64 * KB, TB,
	  "space for its files in /workspace" },
	{ 0, "policy", "NAME", take_policy, PLACE(policy), 0, 0, "strict, standard or permissive" },
	{ 'e', "env", "NAME=VALUE", take_variable, PLACE(env), 0, 0,
	  "set a variable of the program's environment" },
	{ 0, "files", "DIR", option_take_text, PLACE(files), 0, 0,
	  "write the files that it made into DIR" },
	{ 0, "json", NULL, option_take_switch, PLACE(json), 0, 0,
	  "print the whole result as JSON when it is over" },
	{ 'v', "verbose", NULL, option_take_switch, PLACE(verbose), 0, 0,
	  "say what it used and how it was isolated (on stderr)" },
	{ 0, "set", "KEY=VALUE", option_take_list, PLACE(settings), 0, 0,
	  "change a setting (see `hotcell help settings`)" },
	{ 'h', "help", NULL, option_take_switch, PLACE(help), 0, 0, "this text" },
};
/* clang-format on */

static bool take_variable(const struct option_row *row, const char *text, void *into,
			  struct error *err)
{
	const char *p = text;

	if (isalpha((unsigned char)*p) || *p == '_')
		while (isalnum((unsigned char)*p) || *p == '_')
			p++;
	if (p == text || *p != '=')
		return error_set(err, ERR_INPUT, 0,
				 "-e %s is not NAME=VALUE with a name of letters, digits and '_'",
				 text);
	return option_take_list(row, text, into, err);
}

static bool take_policy(const struct option_row *row, const char *text, void *into,
			struct error *err)
{
	static const char *const names[] = { "strict", "standard", "permissive" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0)
			return option_take_text(row, text, into, err);
	return error_set(err, ERR_INPUT, 0,
			 "--policy %s does not exist: there are strict, standard and permissive",
			 text);
}

bool run_options_parse(struct run_options *ret, int argc, char **argv, struct error *err)
{
	int first;

	*ret = (struct run_options){ 0 };
	if (!options_parse(run_option_rows, RUN_OPTION_ROWS, argc, argv, ret, &first, err))
		return false;
	if (ret->help)
		return true;
	if (!ret->code) {
		if (first >= argc)
			return error_set(
				err, ERR_INPUT, 0,
				"there is nothing to run: give a FILE, -c CODE, or - for stdin");
		ret->file = argv[first++];
	}
	ret->args = (const char *const *)(argv + first);
	ret->n_args = (size_t)(argc - first);
	return true;
}

bool run_options_check(const struct run_options *options, const struct config *config,
		       struct error *err)
{
	char asked[32], most[32];

	if (options->timeout_ms > config->run_timeout_max_ms)
		return error_set(err, ERR_INPUT, 0,
				 "--timeout %" PRIu64 " ms is more than is allowed: %" PRIu64
				 " ms (run.timeout_max)",
				 options->timeout_ms, config->run_timeout_max_ms);
	if (options->limits.memory_bytes <= config->run_memory_max_bytes)
		return true;
	(void)format_bytes(options->limits.memory_bytes, asked, sizeof(asked));
	(void)format_bytes(config->run_memory_max_bytes, most, sizeof(most));
	return error_set(err, ERR_INPUT, 0,
			 "--memory %s is more than is allowed: %s (run.memory_max)", asked, most);
}
