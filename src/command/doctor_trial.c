/*
 * The trial: a child takes the steps that an instance takes on an ordinary user's or root's behalf, with
 * the same functions, and says how far it came. It enters namespaces and perhaps a scope of systemd's,
 * which the doctor itself must not, because it starts a real instance afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "command/context.h"
#include "command/doctor.h"
#include "command/hierarchies.h"

static bool has_file(int dir, const char *name)
{
	return dir >= 0 && faccessat(dir, name, F_OK, 0) == 0;
}

/* Reads which limits children of the directory get; words separated by blanks. */
static uint32_t enabled_controllers(int dir)
{
	static const struct {
		const char *name;
		enum cgroup_controller controller;
	} words[] = { { "memory", CGROUP_MEMORY }, { "pids", CGROUP_PIDS }, { "cpu", CGROUP_CPU } };
	_cleanup_close_ int fd = openat(dir, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
	char text[512], *rest = text;
	uint32_t found = 0;

	if (fd < 0 || fd_read_text(fd, text, sizeof(text)) < 0)
		return 0;
	for (const char *word; (word = strsep(&rest, " \n"));)
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (strcmp(word, words[i].name) == 0)
				found |= 1u << words[i].controller;
	return found;
}

static void look_v2(struct trial *t, const struct hierarchies *h)
{
	int dir = h->parent[CGROUP_UNIFIED];

	t->controllers = enabled_controllers(dir);
	t->has_kill = has_file(dir, "cgroup.kill");
	t->has_peak = has_file(dir, "memory.peak");
	t->has_swap_limit = has_file(dir, "memory.swap.max");
}

static void look_v1(struct trial *t, const struct hierarchies *h)
{
	static const enum cgroup_controller limits[] = { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU };

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (h->parent[limits[i]] >= 0)
			t->controllers |= 1u << limits[i];
	t->has_kill = has_file(h->parent[CGROUP_UNIFIED], "cgroup.kill");
	t->has_peak = true; /* memory.max_usage_in_bytes */
	t->has_swap_limit = has_file(h->parent[CGROUP_MEMORY], "memory.memsw.limit_in_bytes");
}

static void try_cgroups(struct trial *t, const char *wanted)
{
	struct hierarchies h;
	struct error err;

	if (!hierarchies_open(&h, wanted, &err)) {
		snprintf(t->cgroup_error, sizeof(t->cgroup_error), "%.255s", err.message);
		return;
	}
	t->has_cgroups = h.kind != CGROUP_NONE;
	t->kind = h.kind;
	if (h.kind == CGROUP_V2)
		look_v2(t, &h);
	else if (h.kind == CGROUP_V1)
		look_v1(t, &h);
	hierarchies_close(&h);
}

/* Becomes a cell's uid with just the right to make namespaces, as the warden does for a cell. */
static int become_cell(uint32_t uid)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = 1u << CAP_SYS_ADMIN,
						    .permitted = 1u << CAP_SYS_ADMIN } };

	if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
	    setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    syscall(SYS_capset, &header, data) < 0)
		return -errno;
	/* Or our own /proc files would be root's. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int map_itself(uint32_t uid)
{
	char map[32];
	int r = fd_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny");

	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (r == 0)
		r = fd_write_file_at(AT_FDCWD, "/proc/self/uid_map", map);
	return r < 0 ? r : fd_write_file_at(AT_FDCWD, "/proc/self/gid_map", map);
}

/* Root's cells are in user namespaces too, so root must be able to make one. */
static bool enter_as_root(uint32_t uid, struct error *err)
{
	int r = become_cell(uid);

	if (r < 0)
		return error_set(err, ERR_UNAVAILABLE, -r,
				 "root cannot become uid %u, a cell's (cells.uid_base)", uid);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return error_set(err, ERR_UNAVAILABLE, errno,
				 "root cannot make a user namespace with a mount namespace");
	r = map_itself(uid);
	if (r < 0)
		return error_set(err, ERR_UNAVAILABLE, -r, "a user namespace cannot be mapped");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set(err, ERR_UNAVAILABLE, errno,
				 "a user namespace gives no right to mount");
	return true;
}

static void try_user_namespace(struct trial *t, const struct config *config)
{
	struct error err;

	privilege_look(&t->identity);
	t->has_userns = privilege_enter(&t->identity, &err) &&
			(t->identity.privilege != PRIVILEGE_ROOT ||
			 enter_as_root((uint32_t)config->cells_uid_base, &err));
	if (!t->has_userns)
		snprintf(t->userns_error, sizeof(t->userns_error), "%s", err.message);
}

/* As the warden mounts /usr for a cell: read-only, without a writable layer. */
static void try_overlay(struct trial *t)
{
	if (!t->has_userns)
		return;
	if (mount("trial", "/tmp", "tmpfs", 0, "size=64k") < 0 || mkdir("/tmp/a", 0755) < 0 ||
	    mkdir("/tmp/b", 0755) < 0 || mkdir("/tmp/new", 0755) < 0 ||
	    mount("overlay", "/tmp/new", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		  "lowerdir=/tmp/a:/tmp/b,userxattr") < 0)
		t->overlay_errnum = errno;
	else
		t->has_overlay = true;
}

static void try_landlock(struct trial *t)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	t->landlock_abi = abi > 0 ? (int)abi : 0;
}

static _noreturn_ void be_child(int to, const struct config *config)
{
	static struct trial t;

	try_cgroups(&t, config->cells_cgroup);
	try_landlock(&t);
	try_user_namespace(&t, config);
	try_overlay(&t);
	_exit(fd_write_all(to, &t, sizeof(t)) < 0);
}

static bool read_trial(int from, struct trial *ret)
{
	size_t at = 0;

	while (at < sizeof(*ret)) {
		ssize_t n = read(from, (char *)ret + at, sizeof(*ret) - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

void trial_make(struct trial *ret, const struct context *context)
{
	_cleanup_close_ int from = -1, to = -1;
	int pair[2];
	pid_t child;

	*ret = (struct trial){ 0 };
	privilege_look(&ret->identity);
	snprintf(ret->userns_error, sizeof(ret->userns_error), "the trial did not come to its end");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return;
	from = pair[0];
	to = pair[1];
	child = fork();
	if (child < 0)
		return;
	if (child == 0)
		be_child(to, &context->config);
	/* Our copy, or the end of the pipe would never come. */
	(void)fd_close(TAKE_FD(to));
	if (!read_trial(from, ret))
		ret->has_userns = false;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
