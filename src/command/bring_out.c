#include "command/bring_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/id.h"
#include "base/path.h"

enum { COPY_CHUNK = 64 * 1024 };

static int make_folder(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(part))
		return len == 0 ? -ENOENT : -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(part, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

int bring_out_open(const char *folder, struct error *err)
{
	int r = make_folder(folder);
	int fd = r < 0 ? r : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	(void)error_set(err, ERR_SYSTEM, r < 0 ? -r : errno,
			"cannot use %s for the files of the run (--files)", folder);
	return -1;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	char bytes[COPY_CHUNK];

	while (at < end) {
		size_t want = (size_t)MIN(end - at, (off_t)sizeof(bytes));
		ssize_t n = pread(from, bytes, want, at);
		size_t done = 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		while (done < (size_t)n) {
			ssize_t w = pwrite(to, bytes + done, (size_t)n - done, at + (off_t)done);

			if (w < 0 && errno != EINTR)
				return -errno;
			done += w < 0 ? 0 : (size_t)w;
		}
		at += n;
	}
	return 0;
}

/* Holes stay holes: a program can make a file that is large only in name. */
static int copy_content(int from, int to, off_t size)
{
	off_t at = 0;

	if (ftruncate(to, size) < 0)
		return -errno;
	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA), hole;
		int r;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0)
			return copy_range(from, to, at, size);
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		r = copy_range(from, to, data, MIN(hole, size));
		if (r < 0)
			return r;
		at = hole;
	}
	return 0;
}

/* The folder that the file goes into, and its name in there. */
static int open_parent(int folder, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX_BYTES + 1] = ".";
	int r = path_make_parents(folder, path);

	if (r < 0)
		return r;
	if (slash) {
		memcpy(parent, path, (size_t)(slash - path));
		parent[slash - path] = '\0';
	}
	*ret_name = slash ? slash + 1 : path;
	return path_open_beneath(folder, parent, O_PATH | O_DIRECTORY, 0);
}

int bring_out_file(int folder, const char *path, uint32_t mode, int from)
{
	_cleanup_close_ int parent = -1, to = -1;
	char id[ID_SIZE], temporary[ID_SIZE + 16];
	const char *name;
	struct stat st;
	int r;

	if (!path_is_plain(path))
		return -EINVAL;
	if (fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	parent = open_parent(folder, path, &name);
	if (parent < 0)
		return parent;
	r = id_make(id);
	if (r < 0)
		return r;
	snprintf(temporary, sizeof(temporary), ".hotcell-%s", id);
	/* The mode goes through the user's umask here, as for any file a command makes. */
	to = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    mode & 0111 ? 0777 : 0666);
	if (to < 0)
		return -errno;
	r = copy_content(from, to, st.st_size);
	if (r == 0 && renameat(parent, temporary, parent, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(parent, temporary, 0);
	return r;
}
