/* System calls that this C library does not wrap yet, and constants that its headers lack. */
#pragma once

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

static inline long sys_clone3(struct clone_args *args)
{
	return syscall(SYS_clone3, args, sizeof(*args));
}

static inline int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int sys_fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int sys_fsconfig(int fd, unsigned cmd, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, aux);
}

static inline int sys_fsmount(int fd, unsigned flags, unsigned attributes)
{
	return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path,
				 unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int sys_mount_setattr(const char *path, unsigned flags, uint64_t set)
{
	struct mount_attr attributes = { .attr_set = set };

	return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attributes,
			    sizeof(attributes));
}

static inline int sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int sys_landlock_abi(void)
{
	/* LANDLOCK_CREATE_RULESET_VERSION */
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1u);
}
