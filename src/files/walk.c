/* A listing of the workspace: no link is followed, no file is opened, depth and names are bounded. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "files/files.h"

struct linux_dirent64 {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

struct walk {
	int socket;
	uint32_t max;
	struct files_entry entry;
	struct files_end end;
};

static uint32_t kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return FILES_REGULAR;
	if (S_ISDIR(mode))
		return FILES_DIRECTORY;
	return S_ISLNK(mode) ? FILES_SYMLINK : FILES_SPECIAL;
}

static int walk_directory(struct walk *w, int dir, size_t path_len, unsigned depth);

static int visit(struct walk *w, int dir, const char *name, size_t path_len, unsigned depth)
{
	size_t name_len = strlen(name);
	char *path = w->entry.path;
	struct stat st;
	int r;

	w->end.count++;
	if (path_len + name_len + 1 > PATH_MAX_BYTES || depth > PATH_MAX_DEPTH ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->end.skipped++;
		return 0;
	}
	memcpy(path + path_len, name, name_len);
	memset(path + path_len + name_len, 0, sizeof(w->entry.path) - path_len - name_len);
	if (w->max > 0) {
		w->max--;
		w->entry.kind = kind_of(st.st_mode);
		w->entry.mode = st.st_mode & 07777;
		w->entry.size = (uint64_t)st.st_size;
		w->entry.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
				    (uint64_t)st.st_mtim.tv_nsec;
		w->entry.inode = st.st_ino;
		r = wire_send(w->socket, &w->entry, NULL, 0);
		if (r < 0)
			return r;
	} else {
		w->end.skipped++;
	}
	if (!S_ISDIR(st.st_mode))
		return 0;
	_cleanup_close_ int sub = path_open_beneath(dir, name, O_RDONLY | O_DIRECTORY, 0);

	if (sub < 0) {
		w->end.skipped++; /* the program took its own right to read it */
		return 0;
	}
	path[path_len + name_len] = '/';
	return walk_directory(w, sub, path_len + name_len + 1, depth + 1);
}

/* Recursion ends at PATH_MAX_DEPTH, so stack and descriptors are bounded. */
static int walk_directory(struct walk *w, int dir, size_t path_len, unsigned depth)
{
	_Alignas(8) char bytes[4096];

	for (;;) {
		long n = syscall(SYS_getdents64, dir, bytes, sizeof(bytes));

		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (long at = 0; at < n;) {
			const struct linux_dirent64 *e = (const void *)(bytes + at);
			int r;

			at += e->length;
			if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
				continue;
			r = visit(w, dir, e->name, path_len, depth);
			if (r < 0)
				return r;
		}
	}
}

void walk_send(int socket, int root, uint32_t max)
{
	static struct walk w;
	_cleanup_close_ int dir = path_open_beneath(root, ".", O_RDONLY | O_DIRECTORY, 0);

	w = (struct walk){
		.socket = socket,
		.max = max,
		.entry.header = { .type = FILES_ENTRY, .size = sizeof(w.entry) },
		.end.header = { .type = FILES_END, .size = sizeof(w.end) },
	};
	w.end.errnum = dir < 0 ? -dir : -walk_directory(&w, dir, 0, 1);
	(void)wire_send(socket, &w.end, NULL, 0);
}
