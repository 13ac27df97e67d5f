#include "command/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static void name_folder(char *path, size_t size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		snprintf(path, size, "/run/hotcell");
	else if (runtime && runtime[0] == '/')
		snprintf(path, size, "%s/hotcell", runtime);
	else
		snprintf(path, size, "/tmp/hotcell-%u", (unsigned)geteuid());
}

int locks_open(struct error *err)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	name_folder(path, sizeof(path));
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		(void)error_set(err, ERR_SYSTEM, errno, "cannot make the run directory %s", path);
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)error_set(err, ERR_SYSTEM, errno, "cannot open the run directory %s", path);
		return -1;
	}
	/* In /tmp anybody could have made it first. */
	if (st.st_uid != geteuid() || (st.st_mode & 022)) {
		(void)error_set(err, ERR_SYSTEM, 0,
				"the run directory %s is not ours alone: remove it", path);
		return -1;
	}
	return TAKE_FD(fd);
}

int locks_take(int folder, unsigned number)
{
	_cleanup_close_ int fd = -1;
	char name[24];

	snprintf(name, sizeof(name), "%u.lock", number);
	fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return TAKE_FD(fd);
}
