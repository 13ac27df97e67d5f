/*
 * hotcell-files: the only program that opens names a client gave.
 *
 * The warden starts it inside the cell's user namespace, as the cell's own uid, with the workspace as
 * its root directory and one socket. It can reach nothing else, and its filter leaves it no more than
 * reading, writing and listing. It ends when the socket closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "files/files.h"
#include "files_filter.h"

static int root = -1;

static bool name_is_good(const char *path, size_t size)
{
	return memchr(path, '\0', size) && path_is_plain(path);
}

static void on_open(const struct files_open *m)
{
	WIRE_MESSAGE(files_opened, answer, FILES_OPENED);
	_cleanup_close_ int fd = -EINVAL;
	struct stat st;

	if (name_is_good(m->path, sizeof(m->path)))
		fd = path_open_regular(root, m->path, O_RDONLY);
	if (fd >= 0 && fstat(fd, &st) == 0)
		answer.size = (uint64_t)st.st_size;
	/* Opened without blocking in case it was a FIFO; whoever reads it need not know. */
	if (fd >= 0)
		(void)fd_set_nonblock(fd, false);
	answer.errnum = fd < 0 ? -fd : 0;
	(void)wire_send(FILES_FD, &answer, &fd, fd >= 0 ? 1 : 0);
}

static void on_put(const struct files_put *m, int from)
{
	WIRE_MESSAGE(files_done, answer, FILES_DONE);
	int r = name_is_good(m->path, sizeof(m->path)) ? put_file(root, m->path, m->mode, from)
						       : -EINVAL;

	answer.errnum = -r;
	(void)wire_send(FILES_FD, &answer, NULL, 0);
}

static int lock_down(void)
{
	const struct sock_fprog program = {
		.len = ARRAY_SIZE(files_filter),
		.filter = (struct sock_filter *)(uintptr_t)files_filter,
	};
	const struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int main(void)
{
	static const struct wire_rule rules[FILES_MESSAGE_COUNT] = {
		[FILES_LIST] = { 1, sizeof(struct files_list), 0, 0, 0 },
		[FILES_OPEN] = { 1, sizeof(struct files_open), 0, 0, 0 },
		[FILES_PUT] = { 1, sizeof(struct files_put), 0, 1, 1 },
	};
	static _Alignas(8) char message[4096];
	const struct wire_header *header = (const void *)message;

	umask(022);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || lock_down() < 0)
		return 1;
	for (;;) {
		_cleanup_fds_ struct wire_fds fds;
		ssize_t n = wire_recv(FILES_FD, message, sizeof(message), &fds);

		if (n == 0)
			return 0;
		if (n < 0 || wire_check(rules, FILES_MESSAGE_COUNT, 0, header, fds.n) < 0)
			return 1;
		if (header->type == FILES_LIST)
			walk_send(FILES_FD, root, ((const struct files_list *)message)->max);
		else if (header->type == FILES_OPEN)
			on_open((const struct files_open *)message);
		else
			on_put((const struct files_put *)message, fds.fd[0]);
	}
}
