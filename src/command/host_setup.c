/* hotcell setup: so far of the host. */
#include "command/host_setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "command/commands.h"

struct setup_options {
	bool remove, yes, dry, help;
	const char *user, *root;
};

#define PLACE(field) offsetof(struct setup_options, field)

static const struct option_row rows[] = {
	{ 0, "user", "NAME", option_take_text, PLACE(user), 0, 0,
	  "who gets subordinate uids (default: who called sudo)" },
	{ 0, "dry-run", NULL, option_take_switch, PLACE(dry), 0, 0,
	  "show what would be done, do nothing" },
	{ 'y', "yes", NULL, option_take_switch, PLACE(yes), 0, 0, "do not ask" },
	{ 0, "remove", NULL, option_take_switch, PLACE(remove), 0, 0,
	  "undo what an earlier setup host has done" },
	{ 'h', "help", NULL, option_take_switch, PLACE(help), 0, 0, "this text" },
	/* The last is for tests: every path is below this folder, no command is run. */
	{ 0, "root", "DIR", option_take_text, PLACE(root), 0, 0, NULL },
};

enum { ROWS_SHOWN = ARRAY_SIZE(rows) - 1 };

static bool ask(bool yes, struct error *err)
{
	char answer[16] = "";

	if (yes)
		return true;
	if (!isatty(STDIN_FILENO))
		return error_set(err, ERR_INPUT, 0,
				 "stdin is no terminal, so nobody can be asked: give --yes");
	printf("Do this? [y/N] ");
	fflush(stdout);
	if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
		return error_set(err, ERR_INPUT, 0, "nothing was changed");
	return true;
}

static bool undo(const struct setup_options *options, struct error *err)
{
	size_t n;

	if (!host_undo(options->root, true, &n, err))
		return false;
	if (n == 0) {
		puts("There is nothing to undo.");
		return true;
	}
	if (options->dry)
		return true;
	if (!ask(options->yes, err) || !host_undo(options->root, false, &n, err))
		return false;
	puts("Done.");
	return true;
}

static bool find_program(char path[PATH_MAX], struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n <= 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot find my own program file");
	path[n] = '\0';
	/* It is quoted in the profile. */
	if (strpbrk(path, "\"\\*?[]{}^@\n"))
		return error_set(err, ERR_INPUT, 0,
				 "%.200s has letters that an AppArmor profile cannot name", path);
	return true;
}

static bool set_up(const struct setup_options *options, struct error *err)
{
	_cleanup_free_ struct host_plan *plan = xcalloc(1, sizeof(*plan));
	const char *sudo_user = getenv("SUDO_USER");
	char program[PATH_MAX];
	const struct host_request request = {
		.root = options->root,
		.user = options->user ? options->user : sudo_user,
		.program = program,
	};

	if (!find_program(program, err) || !host_plan_make(&request, plan, err))
		return false;
	host_plan_show(plan, options->root);
	if (plan->n_actions == 0) {
		puts("This host needs nothing of what setup host can do. `hotcell doctor` tells more.");
		return true;
	}
	if (options->dry)
		return true;
	if (!ask(options->yes, err) || !host_plan_do(plan, options->root, err))
		return false;
	printf("Done. `hotcell setup host --remove` undoes it (%s lists it).\n", HOST_SETUP_STATE);
	return true;
}

static int setup_main(int argc, char **argv)
{
	struct setup_options options = { 0 };
	struct error err;
	int first;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		command_print_help(&command_setup, stdout);
		return EXIT_STATUS_OK;
	}
	if (strcmp(argv[1], "host") != 0) {
		(void)error_set(&err, ERR_INPUT, 0,
				"setup knows 'host', not '%.40s': see `hotcell help setup`",
				argv[1]);
		return command_fail(&err);
	}
	if (!options_parse(rows, ARRAY_SIZE(rows), argc - 1, argv + 1, &options, &first, &err))
		return command_fail(&err);
	if (options.help) {
		command_print_help(&command_setup, stdout);
		return EXIT_STATUS_OK;
	}
	if (first < argc - 1) {
		(void)error_set(&err, ERR_INPUT, 0, "setup host takes no argument '%.40s'",
				argv[1 + first]);
		return command_fail(&err);
	}
	if (!options.root && !options.dry && geteuid() != 0) {
		(void)error_set(
			&err, ERR_UNAVAILABLE, 0,
			"setup host changes the machine: call it as root (sudo hotcell setup "
			"host), or look first with --dry-run");
		return command_fail(&err);
	}
	if (!options.root)
		options.root = "";
	if (options.remove ? !undo(&options, &err) : !set_up(&options, &err))
		return command_fail(&err);
	return EXIT_STATUS_OK;
}

const struct command command_setup = {
	.name = "setup",
	.summary = "Prepare this machine: host lets ordinary users have good cells",
	.usage = "host [OPTION...]",
	.details =
		"setup host shows what it will do, asks, and does only what this machine needs:\n"
		"  an AppArmor profile, where AppArmor takes the rights from user namespaces\n"
		"  subordinate uids and gids for a user (/etc/subuid, /etc/subgid)\n"
		"  cgroup limits for the sessions of ordinary users (a drop-in for systemd)\n\n"
		"Examples:\n"
		"  sudo hotcell setup host\n"
		"  sudo hotcell setup host --user alice --dry-run\n"
		"  sudo hotcell setup host --remove\n",
	.options = rows,
	.n_options = ROWS_SHOWN,
	.run = setup_main,
};
