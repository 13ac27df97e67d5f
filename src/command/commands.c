#include "command/commands.h"

#include <string.h>

#include "base/macros.h"
#include "config/closest.h"

#ifndef HOTCELL_VERSION
#define HOTCELL_VERSION "unknown"
#endif

static const struct command *const commands[] = {
	&command_run,    &command_mcp,   &command_runtimes,
	&command_doctor, &command_setup, &command_help,
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

void command_print_help(const struct command *command, FILE *to)
{
	fprintf(to, "Usage: hotcell %s %s\n\n%s\n", command->name, command->usage,
		command->summary);
	if (command->n_options > 0) {
		fputs("\nOptions:\n", to);
		options_print(command->options, command->n_options, to);
	}
	if (command->details)
		fprintf(to, "\n%s", command->details);
}

void commands_print_help(FILE *to)
{
	fputs("hotcell runs other people's code in a sandbox of its own.\n\n"
	      "Usage: hotcell COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nOptions:\n"
	      "  --help     this text; after a command, that command's help\n"
	      "  --version  the version\n\n"
	      "Example:\n"
	      "  hotcell run -c 'print(6 * 7)'\n\n"
	      "`hotcell help settings` lists everything that can be configured.\n",
	      to);
}

int commands_unknown(const char *name)
{
	struct closest closest;

	closest_init(&closest, name);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		closest_try(&closest, commands[i]->name);
	if (closest.best)
		fprintf(stderr, "hotcell: there is no command '%s': did you mean '%s'?\n", name,
			closest.best);
	else
		fprintf(stderr, "hotcell: there is no command '%s': see `hotcell help`\n", name);
	return EXIT_STATUS_USAGE;
}

int command_fail(const struct error *err)
{
	fprintf(stderr, "hotcell: %s\n", err->message);
	return err->code == ERR_INPUT || err->code == ERR_NOT_FOUND ? EXIT_STATUS_USAGE
								    : EXIT_STATUS_FAILED;
}

static bool is_either(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int commands_main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		commands_print_help(stderr);
		return EXIT_STATUS_USAGE;
	}
	if (is_either(argv[1], "--help", "-h")) {
		commands_print_help(stdout);
		return EXIT_STATUS_OK;
	}
	if (is_either(argv[1], "--version", "-V")) {
		puts("hotcell " HOTCELL_VERSION);
		return EXIT_STATUS_OK;
	}
	if (argv[1][0] == '-') {
		fprintf(stderr, "hotcell: there is no option %s: see `hotcell help`\n", argv[1]);
		return EXIT_STATUS_USAGE;
	}
	command = command_find(argv[1]);
	return command ? command->run(argc - 1, argv + 1) : commands_unknown(argv[1]);
}
