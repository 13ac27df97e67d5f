#include <string.h>

#include "command/commands.h"
#include "config/config.h"

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		commands_print_help(stdout);
		return EXIT_STATUS_OK;
	}
	if (strcmp(argv[1], "settings") == 0) {
		config_print_help(stdout);
		return EXIT_STATUS_OK;
	}
	command = command_find(argv[1]);
	if (!command)
		return commands_unknown(argv[1]);
	command_print_help(command, stdout);
	return EXIT_STATUS_OK;
}

const struct command command_help = {
	.name = "help",
	.summary = "Explain a command, or all settings",
	.usage = "[COMMAND | settings]",
	.run = help,
};
