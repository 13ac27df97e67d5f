/*
 * Loads the filter of each cell profile into a real process of this machine and lets it work: what
 * must keep working does, what is refused is refused by the kernel as the interpreter said.
 * Toolchains that are not installed are passed over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "wire/cell_spec.h"

#include "cell_filters.h"
#include "live_work.h"

enum { NOT_LOADED = 120, NOT_RUN = 121, SECONDS = 60 };

static char directory[] = "/tmp/hotcell-filters-XXXXXX";

static bool load(int profile)
{
	const struct sock_fprog program = {
		.len = cell_filters[profile].length,
		.filter = (struct sock_filter *)(uintptr_t)cell_filters[profile].code,
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* The wait status of a child that loads the filter and does the work, which returns the exit
 * status. */
static int in_filter(int profile, int (*work)(void *), void *argument)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(SECONDS);
		_exit(load(profile) ? work(argument) : NOT_LOADED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int exec_work(void *argument)
{
	char *const *argv = argument;

	/* Standard output belongs to the test report. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execv(argv[0], argv);
	return NOT_RUN;
}

static int small_work(void *argument)
{
	(void)argument;
	return getpid() == (pid_t)syscall(SYS_gettid) && getppid() > 0 ? 0 : 1;
}

static void test_loads(void **state)
{
	char *const nothing[] = { (char *)"/bin/true", NULL };
	(void)state;

	for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
		assert_int_equal(in_filter(profile, small_work, NULL), 0);
		assert_int_equal(in_filter(profile, exec_work, (void *)(uintptr_t)nothing), 0);
	}
}

static const struct {
	const char *why;
	long number, args[3];
	int expected;
} refusals[] = {
	{ "K1: a user namespace", SYS_unshare, { 0x10000000 }, EPERM },
	{ "K1: clone with one", SYS_clone, { 0x10000011 }, EPERM },
	{ "K1: clone3", SYS_clone3, { 0, 0 }, ENOSYS },
	{ "K2: io_uring", SYS_io_uring_setup, { 8, 0 }, ENOSYS },
	{ "K3: AF_VSOCK with a high bit", SYS_socket, { 40 | 1l << 32, 1, 0 }, EAFNOSUPPORT },
	{ "K3: TIOCSTI with a high bit", SYS_ioctl, { 0, 0x5412 | 1l << 32, 0 }, ENOTTY },
	{ "K3: PR_SET_MM with a high bit", SYS_prctl, { 35 | 1l << 32 }, EINVAL },
	{ "K9: keyctl", SYS_keyctl, { 0 }, EPERM },
	{ "K10: ptrace(TRACEME)", SYS_ptrace, { 0 }, EPERM },
	{ "K10: bpf", SYS_bpf, { 0 }, EPERM },
	{ "K10: userfaultfd", SYS_userfaultfd, { 1 }, ENOSYS },
	{ "K12: FUTEX_LOCK_PI", SYS_futex, { 0, 6 }, ENOSYS },
	{ "a netlink socket of netfilter", SYS_socket, { 16, 3, 12 }, -1 },
};

static int refusals_work(void *argument)
{
	(void)argument;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		long r = syscall(refusals[i].number, refusals[i].args[0], refusals[i].args[1],
				 refusals[i].args[2], 0, 0, 0);

		if (r == 0 && refusals[i].number == SYS_clone)
			_exit(1);
		if (r >= 0 || (refusals[i].expected >= 0 && errno != refusals[i].expected))
			return (int)i + 1;
	}
	return 0;
}

static void test_refusals(void **state)
{
	(void)state;

	for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
		int status = in_filter(profile, refusals_work, NULL);

		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status))
			fail_msg("profile %d: %s", profile, refusals[WEXITSTATUS(status) - 1].why);
	}
}

#ifdef __x86_64__
static int x32_work(void *argument)
{
	(void)argument;
	syscall(0x40000000 | SYS_getpid);
	return 0;
}

static int i386_work(void *argument)
{
	long r = 20; /* getpid of i386 */

	(void)argument;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return 0;
}

/* A kernel without the 32-bit ABI raises SIGSEGV instead of asking the filter. */
static void test_other_abis(void **state)
{
	(void)state;

	for (int profile = 0; profile < CELL_PROFILE_COUNT; profile++) {
		int status = in_filter(profile, x32_work, NULL);

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
		status = in_filter(profile, i386_work, NULL);
		assert_true(WIFSIGNALED(status) &&
			    (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
	}
}
#endif

/* ---- work that must keep working ---- */

static const struct {
	const char *why;
	int profile;
	const char *program, *flag, *script;
} works[] = {
	{ "python", CELL_PROFILE_PYTHON, "/usr/bin/python3", NULL, python_work },
	{ "python that installs", CELL_PROFILE_INSTALL, "/usr/bin/python3", NULL, python_work },
	{ "bash, coreutils, tar, git", CELL_PROFILE_BASH, "/bin/bash", "-c", bash_work },
	{ "bash where nothing more is allowed", CELL_PROFILE_BINARY, "/bin/bash", "-c", bash_work },
	{ "node", CELL_PROFILE_NODE, "/usr/bin/node", "-e", node_work },
	{ "gcc", CELL_PROFILE_COMPILE, "gcc", "-c", c_work },
	{ "what gcc made", CELL_PROFILE_BINARY, "gcc", "-c", c_work },
	{ "rustc", CELL_PROFILE_COMPILE, "rustc", "-c", rust_work },
	{ "what rustc made", CELL_PROFILE_BINARY, "rustc", "-c", rust_work },
	{ "go", CELL_PROFILE_GO, "go", "-c", go_work },
	{ "what go made", CELL_PROFILE_BINARY, "go", "-c", go_work },
};

static bool installed(const char *program)
{
	char command[64];

	if (program[0] == '/')
		return access(program, X_OK) == 0;
	snprintf(command, sizeof(command), "%s %s >/dev/null 2>&1", program,
		 strcmp(program, "go") ? "--version" : "version");
	return system(command) == 0;
}

/* multiprocessing starts the program again by its file, so Python gets a file and not -c. */
static const char *script_file(const char *script)
{
	FILE *file = fopen("work.py", "we");

	assert_non_null(file);
	assert_true(fputs(script, file) >= 0);
	assert_int_equal(fclose(file), 0);
	return "work.py";
}

static void test_works(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
		bool shell = works[i].program[0] != '/';
		const char *argv[] = { shell ? "/bin/bash" : works[i].program, works[i].flag,
				       works[i].script, NULL };
		int status;

		if (!installed(works[i].program)) {
			print_message("%s: not installed\n", works[i].why);
			continue;
		}
		print_message("%s\n", works[i].why);
		if (!works[i].flag)
			argv[1] = script_file(works[i].script), argv[2] = NULL;
		status = in_filter(works[i].profile, exec_work, argv);
		if (status)
			fail_msg("%s: wait status %#x", works[i].why, status);
	}
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_refusals),
#ifdef __x86_64__
		cmocka_unit_test(test_other_abis),
#endif
		cmocka_unit_test(test_works),
	};

	return cmocka_run_group_tests_name("cell filters, loaded", tests, set_up, tear_down);
}
