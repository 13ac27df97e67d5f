#include "warden/template.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/path.h"
#include "warden/kernel.h"
#include "wire/warden_messages.h"

static const struct device {
	const char *name;
	const char *host;
	unsigned major, minor;
} devices[] = {
	{ "dev/null", "/dev/null", 1, 3 },       { "dev/zero", "/dev/zero", 1, 5 },
	{ "dev/full", "/dev/full", 1, 7 },       { "dev/random", "/dev/random", 1, 8 },
	{ "dev/urandom", "/dev/urandom", 1, 9 },
};

static const char *const directories[] = {
	"root",  "trees",    "dev",       "dev/shm",  "proc",           "new",
	"empty", "root/dev", "root/proc", "root/tmp", "root/workspace", "root/etc",
};

static const struct {
	const char *place, *target;
} links[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
};

static int make_tmpfs(void)
{
	_cleanup_close_ int fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", "32m", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	return fd < 0 ? -errno : fd;
}

static int make_devices(int root)
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		const struct device *d = &devices[i];
		int fd;

		if (mknodat(root, d->name, S_IFCHR | 0666, makedev(d->major, d->minor)) == 0) {
			/* The umask may have taken the w bits. */
			if (fchmodat(root, d->name, 0666, 0) < 0)
				return -errno;
			continue;
		}
		if (errno != EPERM)
			return -errno;
		/* No right to make devices here (a container, an ordinary user): an empty file
		 * now, and the host's node is mounted over it when the template is entered. */
		fd = openat(root, d->name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (fd < 0)
			return -errno;
		(void)fd_close(fd);
	}
	return 0;
}

int template_open(struct template *t)
{
	_cleanup_close_ int root = make_tmpfs();
	int r;

	*t = (struct template){ .root = -1 };
	for (size_t i = 0; i < CELL_TREES_MAX; i++)
		t->tree_fds[i] = -1;
	if (root < 0)
		return root;
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		if (mkdirat(root, directories[i], 0755) < 0)
			return -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (symlinkat(links[i].target, root, links[i].place) < 0)
			return -errno;
	}
	r = make_devices(root);
	if (r < 0)
		return r;
	t->root = TAKE_FD(root);
	return 0;
}

void template_done(struct template *t)
{
	t->root = fd_close(t->root);
	for (size_t i = 0; i < CELL_TREES_MAX; i++)
		t->tree_fds[i] = fd_close(t->tree_fds[i]);
}

bool template_place_is_valid(const char *place, size_t size)
{
	return memchr(place, '\0', size) && place[0] == '/' && path_is_plain(place + 1);
}

/* "/etc/x" to an fd of /root and "etc/x", with the parents of x made. */
static int open_place(const struct template *t, const char *place, int *ret_dir)
{
	_cleanup_close_ int dir = openat(t->root, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (dir < 0)
		return -errno;
	r = path_make_parents(dir, place + 1);
	if (r < 0)
		return r;
	*ret_dir = TAKE_FD(dir);
	return 0;
}

int template_add_tree(struct template *t, uint32_t index, const char *place, int dir)
{
	_cleanup_close_ int parent = -1, tree = -1;
	char name[32];
	int r;

	if (index >= CELL_TREES_MAX || (t->trees & (1u << index)))
		return -EINVAL;
	/* Cloned now, while this process is still in the host's mount namespace. */
	tree = sys_open_tree(dir, "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0)
		return -errno;
	r = open_place(t, place, &parent);
	if (r < 0)
		return r;
	if (mkdirat(parent, place + 1, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(name, sizeof(name), "trees/%u", index);
	if (mkdirat(t->root, name, 0755) < 0)
		return -errno;
	snprintf(t->places[index], sizeof(t->places[index]), "%s", place);
	t->tree_fds[index] = TAKE_FD(tree);
	t->trees |= 1u << index;
	return 0;
}

int template_add_file(struct template *t, const char *place, uint32_t mode, int fd)
{
	_cleanup_close_ int parent = -1, to = -1;
	static char chunk[64 * 1024];
	size_t total = 0;
	int r = open_place(t, place, &parent);

	if (r < 0)
		return r;
	to = path_open_beneath(parent, place + 1, O_WRONLY | O_CREAT | O_EXCL, mode & 0755);
	if (to < 0)
		return to;
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		total += (size_t)n;
		if (total > WARDEN_FILE_BYTES_MAX)
			return -EFBIG;
		r = fd_write_all(to, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
	/* Whatever the umask: every cell reads it. */
	return fchmod(to, mode & 0755) < 0 ? -errno : 0;
}

int template_add_link(struct template *t, const char *place, const char *target)
{
	_cleanup_close_ int parent = -1;
	int r = open_place(t, place, &parent);

	if (r < 0)
		return r;
	return symlinkat(target, parent, place + 1) < 0 ? -errno : 0;
}

/* Mounts the host's devices over the empty files that stand for them, where mknod was not allowed. */
static int mount_devices(const struct template *t, const int fds[ARRAY_SIZE(devices)])
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (fds[i] >= 0 && sys_move_mount(fds[i], "", t->root, devices[i].name,
						  MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
	}
	return 0;
}

static int clone_devices(const struct template *t, int fds[ARRAY_SIZE(devices)])
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		struct stat st;

		if (fstatat(t->root, devices[i].name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		if (S_ISCHR(st.st_mode))
			continue;
		fds[i] = sys_open_tree(AT_FDCWD, devices[i].host,
				       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (fds[i] < 0)
			return -errno;
	}
	return 0;
}

static int mount_trees(struct template *t)
{
	char name[32];

	for (size_t i = 0; i < CELL_TREES_MAX; i++) {
		if (t->tree_fds[i] < 0)
			continue;
		snprintf(name, sizeof(name), "trees/%zu", i);
		if (sys_move_mount(t->tree_fds[i], "", t->root, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return -errno;
		t->tree_fds[i] = fd_close(t->tree_fds[i]);
	}
	return 0;
}

int template_enter(struct template *t)
{
	_cleanup_close_ int proc = -1;
	int device_fds[ARRAY_SIZE(devices)];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		device_fds[i] = -1;
	/* With what is mounted below: a user namespace may not uncover it. */
	proc = sys_open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (proc < 0)
		return -errno;
	r = clone_devices(t, device_fds);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	/* Any directory will do to hang it on for a moment; /proc is surely there. */
	if (sys_move_mount(t->root, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	if (sys_move_mount(proc, "", t->root, "proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	r = mount_trees(t);
	if (r == 0)
		r = mount_devices(t, device_fds);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		(void)fd_close(device_fds[i]);
	if (r < 0)
		return r;
	if (fchdir(t->root) < 0 || sys_pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/") < 0)
		return -errno;
	return 0;
}
