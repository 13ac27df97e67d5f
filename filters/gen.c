/*
 * Writes the seccomp filters as C headers at build time, so that nothing needs libseccomp when it
 * runs and the unit tests interpret exactly what is loaded.
 *
 *   gen cell MACHINE      cell_filters_MACHINE.h: one program per cell profile
 *   gen native MACHINE    cell_filters.h: the above under the name the warden uses
 *   gen NAME MACHINE      NAME_filter.h: front, files or init
 *   gen --list [MACHINE]  the cell policy as a table for docs/SECURITY.md
 */
#include "assemble.h"

#include <seccomp.h>
#include <stdio.h>
#include <string.h>

static const struct machine machines[] = {
	{ "x86_64", SCMP_ARCH_X86_64, SCMP_ARCH_X86_64, true },
	{ "aarch64", SCMP_ARCH_AARCH64, SCMP_ARCH_AARCH64, false },
};

static const char *const profile_names[] = {
#define X(name) #name,
	PROFILES(X)
#undef X
};

static const char *lower(const char *text)
{
	static char result[32];
	size_t i = 0;

	for (; text[i] && i + 1 < sizeof(result); i++)
		result[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a'
								    : text[i]);
	result[i] = '\0';
	return result;
}

static void print_program(const struct program *program)
{
	for (size_t i = 0; i < program->length; i++) {
		const struct sock_filter *at = &program->code[i];

		printf("\t{ 0x%02x, %3u, %3u, 0x%08x },", at->code, at->jt, at->jf, at->k);
		if (program->note[i][0])
			printf(" /* %s */", program->note[i]);
		putchar('\n');
	}
}

static void print_head(const char *include)
{
	printf("/* Made by filters/gen from the tables beside it; do not edit. */\n#pragma once\n\n"
	       "#include %s\n\n",
	       include);
}

static void print_cell(const struct machine *machine)
{
	static struct program program;

	print_head("\"cell_filter.h\"");
	for (int i = 0; i < PROFILE_COUNT; i++) {
		assemble(&cell_policy, machine, i, &program);
		printf("/* %zu instructions */\n", program.length);
		printf("static const struct sock_filter cell_filter_%s_%s[] = {\n",
		       lower(profile_names[i]), machine->name);
		print_program(&program);
		printf("};\n\n");
	}
	printf("static const struct cell_filter cell_filters_%s[CELL_PROFILE_COUNT] = {\n",
	       machine->name);
	for (int i = 0; i < PROFILE_COUNT; i++) {
		const char *name = lower(profile_names[i]);

		printf("\t[CELL_PROFILE_%s] = { cell_filter_%s_%s,\n"
		       "\t\tsizeof(cell_filter_%s_%s) / sizeof(struct sock_filter) },\n",
		       profile_names[i], name, machine->name, name, machine->name);
	}
	printf("};\n");
}

static void print_native(const struct machine *machine)
{
	char include[64];

	snprintf(include, sizeof(include), "\"cell_filters_%s.h\"", machine->name);
	print_head(include);
	printf("static const struct cell_filter *const cell_filters = cell_filters_%s;\n",
	       machine->name);
}

static void print_own(const struct policy *policy, const struct machine *machine)
{
	static struct program program;

	print_head("<linux/filter.h>");
	assemble(policy, machine, ANY_PROFILE, &program);
	printf("/* %zu instructions */\n", program.length);
	printf("static const struct sock_filter %s_filter[] = {\n", policy->name);
	print_program(&program);
	printf("};\n");
}

static void print_fate(const struct row *row, uint32_t fallback)
{
	uint32_t action = row ? row->action : fallback;

	if (row && row->rule)
		printf(" checked |");
	else if (action == ALLOW)
		printf(" yes |");
	else if ((action & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
		printf(" %s |", strerrorname_np((int)(action & SECCOMP_RET_DATA)));
	else
		printf(" killed |");
}

/* The names of a row that this machine has, or nothing. */
static void present_names(const struct row *row, const struct machine *machine, char *text,
			  size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (const char *name = row->names; *name; name += strspn(name, " ")) {
		size_t length = strcspn(name, " ");

		if (machine_syscall(machine, name, length) >= 0 && used + length + 2 < size)
			used += (size_t)snprintf(text + used, size - used, "%s%.*s",
						 used ? " " : "", (int)length, name);
		name += length;
	}
}

static void print_list(const struct machine *machine)
{
	char names[1024];

	printf("| system calls |");
	for (int i = 0; i < PROFILE_COUNT; i++)
		printf(" %s |", lower(profile_names[i]));
	printf(" why |\n|---|");
	for (int i = 0; i <= PROFILE_COUNT; i++)
		printf("---|");
	putchar('\n');
	for (size_t i = 0; i < cell_policy.row_count; i++) {
		const struct row *row = &cell_policy.rows[i];

		present_names(row, machine, names, sizeof(names));
		if (!names[0])
			continue;
		printf("| %s |", names);
		for (int j = 0; j < PROFILE_COUNT; j++) {
			if (row->profiles & 1u << j)
				print_fate(row, cell_policy.fallback);
			else if (row->elsewhere)
				printf(" |");
			else
				print_fate(NULL, cell_policy.fallback);
		}
		printf(" %s |\n", row->why);
	}
	printf("| everything else |");
	for (int i = 0; i < PROFILE_COUNT; i++)
		print_fate(NULL, cell_policy.fallback);
	printf(" what a program expects of an older kernel |\n");
}

static const struct machine *find_machine(const char *name)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	give_up("no filters for machine %s", name);
}

static const struct policy *find_policy(const char *name)
{
	for (size_t i = 0; i < program_policy_count; i++)
		if (!strcmp(program_policies[i].name, name))
			return &program_policies[i];
	give_up("no policy %s", name);
}

int main(int argc, char **argv)
{
	const struct machine *machine;

	if (argc < 2 || argc > 3)
		give_up("usage: gen cell|native|front|files|init|--list MACHINE");
	machine = find_machine(argc == 3 ? argv[2] : "x86_64");
	if (!strcmp(argv[1], "cell"))
		print_cell(machine);
	else if (!strcmp(argv[1], "native"))
		print_native(machine);
	else if (!strcmp(argv[1], "--list"))
		print_list(machine);
	else
		print_own(find_policy(argv[1]), machine);
	if (fflush(stdout) || ferror(stdout))
		give_up("cannot write");
	return 0;
}
