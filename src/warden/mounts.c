#include "warden/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "warden/kernel.h"
#include "wire/warden_messages.h"

/* /tmp and /dev/shm: enough for real programs, few enough that a flood of names costs little. */
enum { TMP_INODES = 65536, SHM_INODES = 4096 };

static const unsigned long read_only = MS_RDONLY | MS_NOSUID | MS_NODEV;

int mounts_make_private(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

int mounts_overlay_options(int index, char *text, size_t size)
{
	int n;

	/* Without a writable layer an overlay needs two lower ones: the second is empty. */
	if (index < 0)
		n = snprintf(text, size, "lowerdir=/root:/empty,userxattr");
	else
		n = snprintf(text, size, "lowerdir=/trees/%d:/empty,userxattr", index);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* One overlay a cell over the same files: locks and inotify then do not reach across cells. */
static int mount_read_only(const struct template *t, int index, const char *at)
{
	char text[64];
	int r;

	if (!t->bind_trees) {
		r = mounts_overlay_options(index, text, sizeof(text));
		if (r < 0)
			return r;
		return mount("overlay", at, "overlay", read_only, text) < 0 ? -errno : 0;
	}
	if (index < 0)
		snprintf(text, sizeof(text), "/root");
	else
		snprintf(text, sizeof(text), "/trees/%d", index);
	/* Attributes are only added: a user namespace may not take away what the host has set. */
	if (mount(text, at, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    sys_mount_setattr(at, AT_RECURSIVE,
			      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) < 0)
		return -errno;
	return 0;
}

int mounts_root(const struct template *t)
{
	return mount_read_only(t, -1, "/new");
}

int mounts_trees(const struct template *t, uint32_t trees)
{
	char at[WARDEN_PLACE_MAX + 8];

	if (trees & ~t->trees)
		return -EINVAL;
	for (unsigned i = 0; i < CELL_TREES_MAX; i++) {
		int r;

		if (!(trees & (1u << i)))
			continue;
		snprintf(at, sizeof(at), "/new%s", t->places[i]);
		r = mount_read_only(t, (int)i, at);
		if (r < 0)
			return r;
	}
	return 0;
}

int mounts_proc(void)
{
	/* Processes only: what else the host's /proc tells (load, devices, keys) is nobody's business,
	 * and init, which has another uid, is not even seen. */
	return mount("proc", "/new/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		     "subset=pid,hidepid=invisible") < 0
		       ? -errno
		       : 0;
}

int mounts_dev(void)
{
	if (mount("/dev", "/new/dev", NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    /* Devices that are mounts of their own (rootless) included. */
	    sys_mount_setattr("/new/dev", AT_RECURSIVE,
			      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) < 0)
		return -errno;
	return 0;
}

int mounts_tmp(uint64_t bytes)
{
	char options[96];

	snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%d,mode=1777", bytes,
		 TMP_INODES);
	if (mount("tmp", "/new/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return -errno;
	/* Python's multiprocessing and others want it; no program is started from it. */
	snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%d,mode=1777", bytes,
		 SHM_INODES);
	if (mount("shm", "/new/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return -errno;
	return 0;
}

int mounts_workspace(int workspace)
{
	return sys_move_mount(workspace, "", AT_FDCWD, "/new/workspace", MOVE_MOUNT_F_EMPTY_PATH) <
			       0
		       ? -errno
		       : 0;
}

int mounts_pivot(void)
{
	/* The new root is put over the old one and the old one is taken away from under it. */
	if (chdir("/new") < 0 || sys_pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
	    chdir("/workspace") < 0)
		return -errno;
	return 0;
}
