/* A file that comes in: complete under its name, or not there at all. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "files/files.h"

static const char partial[] = ".hotcell-partial";

static int copy_bytes(int from, int to)
{
	static char chunk[64 * 1024];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(from, chunk, sizeof(chunk), at);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		at += n;
		r = fd_write_all(to, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

static int open_parent(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX_BYTES + 1];

	*ret_name = slash ? slash + 1 : path;
	if (!slash)
		return path_open_beneath(root, ".", O_PATH | O_DIRECTORY, 0);
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	return path_open_beneath(root, parent, O_PATH | O_DIRECTORY, 0);
}

int put_file(int root, const char *path, uint32_t mode, int from)
{
	_cleanup_close_ int dir = -1, to = -1;
	const char *name;
	int r = path_make_parents(root, path);

	if (r < 0)
		return r;
	dir = open_parent(root, path, &name);
	if (dir < 0)
		return dir;
	(void)unlinkat(dir, partial, 0);
	to = path_open_beneath(dir, partial, O_WRONLY | O_CREAT | O_EXCL, mode & 0755);
	if (to < 0)
		return to;
	r = copy_bytes(from, to);
	if (r == 0 && fchmod(to, mode & 0755) < 0)
		r = -errno;
	if (r == 0 && syscall(SYS_renameat2, dir, partial, dir, name, 0) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir, partial, 0);
	return r;
}
