/* The filters of our own programs: decisions by the interpreter, then loaded into a real process.
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
#include <linux/audit.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"

#include "bpf_interpreter.h"
#include "files_filter.h"
#include "front_filter.h"
#include "init_filter.h"

#define ALLOW         SECCOMP_RET_ALLOW
#define KILL          SECCOMP_RET_KILL_PROCESS
#define ERRNO(number) (SECCOMP_RET_ERRNO | (number))

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

enum { FRONT, FILES, INIT };

static const struct {
	const char *name;
	const struct sock_filter *code;
	unsigned short length;
	uint32_t fallback;
} filters[] = {
	[FRONT] = { "front", front_filter, ARRAY_SIZE(front_filter), ERRNO(EPERM) },
	[FILES] = { "files", files_filter, ARRAY_SIZE(files_filter), KILL },
	[INIT] = { "init", init_filter, ARRAY_SIZE(init_filter), KILL },
};

static uint8_t seen[BPF_MAXINSNS];

static uint32_t decide(int filter, uint32_t arch, uint32_t nr, const uint64_t *args)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = arch };
	uint32_t action;

	memcpy(data.args, args, sizeof(data.args));
	action = bpf_run(filters[filter].code, filters[filter].length, &data, seen);
	for (size_t i = 0; i < ARRAY_SIZE(data.args); i++)
		data.args[i] ^= 0xa5a5a5a5ull << 32;
	assert_int_equal(bpf_run(filters[filter].code, filters[filter].length, &data, seen),
			 action);
	return action;
}

static const struct {
	const char *why;
	int filter;
	uint32_t number;
	uint64_t args[6];
	uint32_t expected;
} cases[] = {
	{ "front starts no program", FRONT, SYS_execve, { 0 }, KILL },
	{ "front starts no program", FRONT, SYS_execveat, { 0 }, KILL },
	{ "front traces nobody", FRONT, SYS_ptrace, { 0 }, KILL },
	{ "front mounts nothing", FRONT, SYS_mount, { 0 }, KILL },
	{ "front has no new mount calls", FRONT, SYS_fsopen, { 0 }, KILL },
	{ "front loads no BPF", FRONT, SYS_bpf, { 0 }, KILL },
	{ "front makes no ring, but libuv may ask",
	  FRONT,
	  SYS_io_uring_setup,
	  { 0 },
	  ERRNO(ENOSYS) },
	{ "front uses no ring", FRONT, SYS_io_uring_enter, { 0 }, KILL },
	{ "front kills nobody", FRONT, SYS_kill, { 1, 9 }, ERRNO(EPERM) },
	{ "front may abort()", FRONT, SYS_tgkill, { 1, 1, SIGABRT }, ALLOW },
	{ "front may not otherwise", FRONT, SYS_tgkill, { 1, 1, SIGKILL }, ERRNO(EPERM) },
	{ "front forks not", FRONT, SYS_clone, { 0x01200011 }, ERRNO(EPERM) },
	{ "front has threads", FRONT, SYS_clone, { 0x3d0f00 }, ALLOW },
	{ "front has no threads in namespaces", FRONT, SYS_clone, { 0x103d0f00 }, ERRNO(EPERM) },
	{ "front has clone3 fall back", FRONT, SYS_clone3, { 0 }, ERRNO(ENOSYS) },
	{ "front maps files", FRONT, SYS_mmap, { 0, 4096, 3, 1, 5 }, ALLOW },
	{ "front maps no code", FRONT, SYS_mmap, { 0, 4096, 5, 2, 5 }, ERRNO(EPERM) },
	{ "front makes no code", FRONT, SYS_mprotect, { 0, 4096, 7 }, ERRNO(EPERM) },
	{ "front talks to the warden", FRONT, SYS_socket, { 1, 5 | SOCK_CLOEXEC, 0 }, ALLOW },
	{ "front listens", FRONT, SYS_socket, { 10, 1 | SOCK_NONBLOCK, 6 }, ALLOW },
	{ "front has no UDP", FRONT, SYS_socket, { 2, 2, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "front has no netlink", FRONT, SYS_socket, { 16, 3, 0 }, ERRNO(EAFNOSUPPORT) },
	{ "front has pairs", FRONT, SYS_socketpair, { 1, 5, 0 }, ALLOW },
	{ "front has SQLite's locks", FRONT, SYS_fcntl, { 3, F_SETLK }, ALLOW },
	{ "front has no leases", FRONT, SYS_fcntl, { 3, 1024 }, ERRNO(EINVAL) },
	{ "front fakes no input", FRONT, SYS_ioctl, { 0, 0x5412 }, ERRNO(ENOTTY) },
	{ "front raises its own limits", FRONT, SYS_prlimit64, { 0 }, ALLOW },
	{ "front leaves others' alone", FRONT, SYS_prlimit64, { 1 }, ERRNO(EPERM) },
	{ "front has no other identity", FRONT, SYS_setresuid, { 0 }, KILL },
	{ "front opens no pidfd", FRONT, SYS_pidfd_open, { 1 }, ERRNO(EPERM) },
	{ "files opens beneath", FILES, SYS_openat2, { 3 }, ALLOW },
	{ "files opens not otherwise", FILES, SYS_openat, { 3 }, KILL },
	{ "files starts no program", FILES, SYS_execve, { 0 }, KILL },
	{ "files has no network", FILES, SYS_socket, { 1, 1 }, KILL },
	{ "files makes no child", FILES, SYS_clone, { 0x11 }, KILL },
	{ "files has a heap", FILES, SYS_mmap, { 0, 4096, 3, 0x22 }, ALLOW },
	{ "files maps no file", FILES, SYS_mmap, { 0, 4096, 1, 2, 3 }, KILL },
	{ "files has no executable heap", FILES, SYS_mmap, { 0, 4096, 7, 0x22 }, KILL },
	{ "files makes no code", FILES, SYS_mprotect, { 0, 4096, 5 }, KILL },
	{ "files reads flags", FILES, SYS_fcntl, { 3, F_GETFL }, ALLOW },
	{ "files takes no locks", FILES, SYS_fcntl, { 3, F_SETLKW }, KILL },
	{ "files makes no links", FILES, SYS_linkat, { 3 }, KILL },
	{ "init waits", INIT, SYS_wait4, { 0 }, ALLOW },
	{ "init kills", INIT, SYS_kill, { 2, 9 }, ALLOW },
	{ "init opens nothing", INIT, SYS_openat, { 0 }, KILL },
	{ "init starts nothing", INIT, SYS_execve, { 0 }, KILL },
	{ "init forks no more", INIT, SYS_clone, { 0x11 }, KILL },
	{ "init has no heap", INIT, SYS_mmap, { 0, 4096, 3, 0x22 }, KILL },
};

static void test_cases(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].why);
		assert_int_equal(decide(cases[i].filter, NATIVE, cases[i].number, cases[i].args),
				 cases[i].expected);
	}
}

static void test_other_numbers(void **state)
{
	static const uint64_t args[6];
	(void)state;

	for (int filter = FRONT; filter <= INIT; filter++)
		for (uint32_t nr = 0; nr < 1024; nr++) {
			assert_int_equal(decide(filter, AUDIT_ARCH_I386, nr, args), KILL);
			assert_int_equal(decide(filter, AUDIT_ARCH_ARM, nr, args), KILL);
			if (nr > 452)
				assert_int_equal(decide(filter, NATIVE, nr, args),
						 filters[filter].fallback);
#ifdef __x86_64__
			assert_int_equal(decide(filter, NATIVE, 0x40000000 | nr, args), KILL);
#endif
		}
}

/* ---- loaded ---- */

/* The wait status of a child that loads the filter and does the work. */
static int in_filter(int filter, int (*work)(void))
{
	const struct sock_fprog program = { filters[filter].length,
					    (struct sock_filter *)(uintptr_t)filters[filter].code };
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(30);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
			_exit(120);
		_exit(work());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define REQUIRE(condition)                         \
	do {                                       \
		if (!(condition))                  \
			return __LINE__ % 119 + 1; \
	} while (0)

static void *thread_work(void *argument)
{
	*(int *)argument = eventfd(0, EFD_CLOEXEC);
	return NULL;
}

static int front_work(void)
{
	char *const argv[] = { NULL };
	pthread_t thread;
	int fd = -1, pair[2];
	FILE *file;
	void *map;

	REQUIRE(pthread_create(&thread, NULL, thread_work, &fd) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0 && fd >= 0);
	REQUIRE(epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fd,
			  &(struct epoll_event){ .events = EPOLLIN }) == 0);
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	REQUIRE(send(pair[0], "x", 1, MSG_NOSIGNAL) == 1);
	file = tmpfile();
	REQUIRE(file && fputs("hello", file) >= 0 && fflush(file) == 0 &&
		fdatasync(fileno(file)) == 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	REQUIRE(map != MAP_FAILED && munmap(map, 4096) == 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
	REQUIRE(map == MAP_FAILED && errno == EPERM);
	REQUIRE(fclose(file) == 0);
	REQUIRE(fork() < 0 && errno == EPERM);
	REQUIRE(kill(getppid(), 0) < 0 && errno == EPERM);
	execv("/bin/true", argv); /* the end */
	return 0;
}

static int files_work(void)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
	struct stat st;
	char *heap, names[1024];

	REQUIRE(fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
	REQUIRE(syscall(SYS_getdents64, fd, names, sizeof(names)) > 0 && close(fd) == 0);
	heap = malloc(8 << 20);
	REQUIRE(heap);
	memset(heap, 1, 8 << 20);
	free(heap);
	return open("/", O_RDONLY | O_CLOEXEC); /* the end */
}

static int init_work(void)
{
	int status;

	REQUIRE(poll(NULL, 0, 1) == 0);
	REQUIRE(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
	REQUIRE(kill(getpid(), 0) == 0);
	return fork(); /* the end */
}

static void test_loaded(void **state)
{
	static int (*const works[])(
		void) = { [FRONT] = front_work, [FILES] = files_work, [INIT] = init_work };
	(void)state;

	for (int filter = FRONT; filter <= INIT; filter++) {
		int status = in_filter(filter, works[filter]);

		/* The work ends with what must kill it; a number instead is the line that failed.
		 */
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: wait status %#x", filters[filter].name, status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_other_numbers),
		cmocka_unit_test(test_loaded),
	};

	return cmocka_run_group_tests_name("program filters", tests, NULL, NULL);
}
