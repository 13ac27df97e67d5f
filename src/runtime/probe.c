/* The version of a toolchain: what it prints when it is asked. */
#include "runtime/runtime_ini.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"

enum {
	PROBE_TIME_MS = 5000,
	PROBE_OUTPUT_MAX = 1024,
};

/* The first "1.2" or longer in text: its length, and *ret_at where it begins; 0 when there is none. */
static size_t find_version(const char *text, const char **ret_at)
{
	for (const char *p = text; *p; p++) {
		size_t n = 0;
		bool dotted = false;

		if (!isdigit((unsigned char)*p))
			continue;
		while (isdigit((unsigned char)p[n]) ||
		       (p[n] == '.' && isdigit((unsigned char)p[n + 1]))) {
			dotted = dotted || p[n] == '.';
			n++;
		}
		if (dotted) {
			*ret_at = p;
			return n;
		}
		p += n - 1;
	}
	return 0;
}

/* Reads until there is enough, the end or the deadline. */
static void read_output(int fd, char text[PROBE_OUTPUT_MAX + 1])
{
	uint64_t end = clock_monotonic_ms() + PROBE_TIME_MS;
	size_t len = 0;

	while (len < PROBE_OUTPUT_MAX) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = clock_monotonic_ms();
		ssize_t n;

		if (now >= end || (poll(&p, 1, (int)(end - now)) < 0 && errno != EINTR))
			break;
		if (!p.revents)
			continue;
		n = read(fd, text + len, PROBE_OUTPUT_MAX - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
}

static pid_t start(const char *const *argv, int out)
{
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
					   "HOME=/", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int r;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	if (r == 0)
		r = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
				(char *const *)(uintptr_t)env);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? pid : -1;
}

void runtime_file_probe(struct runtime_file *file)
{
	_cleanup_close_ int from = -1;
	char text[PROBE_OUTPUT_MAX + 1];
	const char *at = NULL;
	int pipes[2];
	size_t len;
	pid_t pid;

	if (!file->runtime.program || !file->version_argv || pipe2(pipes, O_CLOEXEC) < 0)
		return;
	from = pipes[0];
	pid = start(file->version_argv, pipes[1]);
	/* Close our copy, or the pipe never reports its end. */
	(void)fd_close(pipes[1]);
	if (pid < 0)
		return;
	read_output(from, text);
	/* It has said what it was asked; one that hangs does not hold us up. */
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	len = find_version(text, &at);
	if (len > 0)
		file->runtime.version = keep_text(&file->keep, at, len);
}
