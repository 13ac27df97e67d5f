#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

bool path_is_plain(const char *path)
{
	size_t depth = 0;

	if (strnlen(path, PATH_MAX_BYTES + 1) > PATH_MAX_BYTES)
		return false;
	for (const char *p = path;;) {
		const char *end = strchrnul(p, '/');
		size_t len = (size_t)(end - p);

		if (len == 0 || len > PATH_MAX_NAME || ++depth > PATH_MAX_DEPTH)
			return false;
		if (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.')))
			return false;
		if (!*end)
			return true;
		p = end + 1;
	}
}

int path_open_beneath(int dir, const char *path, uint64_t flags, mode_t mode)
{
	/* O_TMPFILE contains O_DIRECTORY, and the kernel refuses a mode where nothing is made. */
	bool makes = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.mode = makes ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	long fd;

	if (!(flags & O_PATH))
		how.flags |= O_NOCTTY | O_NONBLOCK;
	/* EAGAIN: the kernel saw a rename under it and cannot vouch for the result; try again. */
	for (int tries = 0; tries < 16; tries++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int path_open_regular(int dir, const char *path, uint64_t flags)
{
	_cleanup_close_ int fd = path_open_beneath(dir, path, flags, 0644);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	return TAKE_FD(fd);
}

int path_make_parents(int dir, const char *path)
{
	_cleanup_close_ int at = path_open_beneath(dir, ".", O_PATH | O_DIRECTORY, 0);
	char name[PATH_MAX_NAME + 1];

	if (at < 0)
		return at;
	for (const char *p = path;;) {
		const char *end = strchrnul(p, '/');
		size_t len = (size_t)(end - p);
		int next;

		if (!*end)
			return 0;
		if (len == 0 || len > PATH_MAX_NAME)
			return -EINVAL;
		memcpy(name, p, len);
		name[len] = '\0';
		if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		next = path_open_beneath(at, name, O_PATH | O_DIRECTORY, 0);
		if (next < 0)
			return next;
		fd_close(at);
		at = next;
		p = end + 1;
	}
}
