#include "command/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/parse.h"

enum {
	SUBUID_FILE_MAX = 1 << 20,
	/* Fewer than one instance's block are of no use. */
	SUBUIDS_MIN = 2048,
	SUBUIDS_MAX = 65536,
};

static bool has_capabilities(void)
{
	const uint32_t needed = 1u << CAP_SYS_ADMIN | 1u << CAP_SETUID | 1u << CAP_SETGID |
				1u << CAP_SETPCAP | 1u << CAP_KILL;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & needed) == needed;
}

void privilege_look(struct identity *ret)
{
	*ret = (struct identity){ .user = geteuid(), .privilege = PRIVILEGE_ONE_UID };
	if (ret->user == 0 && has_capabilities())
		ret->privilege = PRIVILEGE_ROOT;
}

/* One line "name:first:count"; false when it is another's or makes no sense. */
static bool subuid_line(char *line, const char *name, const char *number, uint32_t *ret_first,
			uint32_t *ret_count)
{
	char *at = line;
	const char *owner = strsep(&at, ":");
	const char *first = strsep(&at, ":");
	uint64_t from, count;

	if (!at || (strcmp(owner, name) != 0 && strcmp(owner, number) != 0) ||
	    parse_uint64(first, &from) < 0 || parse_uint64(at, &count) < 0)
		return false;
	if (from == 0 || from > UINT32_MAX || count < SUBUIDS_MIN || from + count > UINT32_MAX)
		return false;
	*ret_first = (uint32_t)from;
	*ret_count = (uint32_t)MIN(count, (uint64_t)SUBUIDS_MAX);
	return true;
}

bool subuid_find(const char *text, const char *name, uid_t uid, uint32_t *ret_first,
		 uint32_t *ret_count)
{
	char number[16], line[256];

	snprintf(number, sizeof(number), "%u", uid);
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");

		if (len < sizeof(line)) {
			memcpy(line, p, len);
			line[len] = '\0';
			if (subuid_line(line, name, number, ret_first, ret_count))
				return true;
		}
		p += len + (p[len] == '\n');
	}
	return false;
}

static bool find_range(const char *path, uid_t uid, uint32_t *ret_first, uint32_t *ret_count)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct passwd *user = getpwuid(uid);
	_cleanup_buf_ struct buf text;

	buf_init(&text, SUBUID_FILE_MAX);
	if (fd < 0 || fd_read_all(fd, &text) < 0)
		return false;
	return subuid_find(buf_string(&text), user ? user->pw_name : "", uid, ret_first, ret_count);
}

/* Runs newuidmap or newgidmap on our parent; they are allowed to map what /etc/subuid grants. */
static int run_map_tool(const char *tool, pid_t target, uid_t own, uint32_t first, uint32_t count)
{
	char pid[16], self[16], from[16], n[16];
	char *const argv[] = { (char *)(uintptr_t)tool,
			       pid,
			       (char[]){ "0" },
			       self,
			       (char[]){ "1" },
			       (char[]){ "1" },
			       from,
			       n,
			       NULL };
	int status = -1;
	pid_t child;

	snprintf(pid, sizeof(pid), "%d", target);
	snprintf(self, sizeof(self), "%u", own);
	snprintf(from, sizeof(from), "%u", first);
	snprintf(n, sizeof(n), "%u", count);
	child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null >= 0)
			(void)dup2(null, STDERR_FILENO);
		execvp(tool, argv);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

struct ranges {
	uint32_t uid_first, uid_count, gid_first, gid_count;
};

/* The maps of our new namespace must be written by somebody who is still outside it: a child that
 * waits on a pipe until we are inside. */
static int map_from_outside(const struct ranges *ranges, pid_t target, uid_t uid, gid_t gid)
{
	uint32_t count = MIN(ranges->uid_count, ranges->gid_count);
	int r = run_map_tool("newuidmap", target, uid, ranges->uid_first, count);

	return r < 0 ? r : run_map_tool("newgidmap", target, gid, ranges->gid_first, count);
}

static int map_single(uid_t uid, gid_t gid)
{
	char map[32];
	int r;

	r = fd_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny");
	if (r < 0 && r != -ENOENT)
		return r;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	r = fd_write_file_at(AT_FDCWD, "/proc/self/uid_map", map);
	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return fd_write_file_at(AT_FDCWD, "/proc/self/gid_map", map);
}

/* Starts the child that will map us; it goes on when the pipe it reads is written to. */
static pid_t start_mapper(const struct ranges *ranges, int *ret_go)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t us = getpid(), child;
	int go[2];
	char byte;

	if (pipe2(go, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		(void)fd_close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(map_from_outside(ranges, us, uid, gid) < 0);
	}
	(void)fd_close(go[0]);
	*ret_go = go[1];
	return child;
}

static bool finish_mapper(pid_t child, int go, bool wanted)
{
	int status = -1;

	if (wanted && write(go, "g", 1) != 1)
		wanted = false;
	(void)fd_close(go);
	if (child <= 0 || waitpid(child, &status, 0) < 0)
		return false;
	return wanted && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool knob_is(const char *path, const char *value)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32];

	if (fd < 0 || fd_read_text(fd, text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, value) == 0;
}

static const struct {
	const char *path, *value, *sentence;
} knobs[] = {
	{ "/proc/sys/user/max_user_namespaces", "0",
	  "user namespaces are switched off on this host: `sudo sysctl user.max_user_namespaces=15000` "
	  "switches them on" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "ordinary users may not make user namespaces on this host: "
	  "`sudo sysctl kernel.unprivileged_userns_clone=1` lets them" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	  "AppArmor takes all rights from the user namespaces of ordinary users on this host: "
	  "`sudo hotcell setup host` installs a profile that leaves them to hotcell" },
};

static bool explain(int errnum, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (knob_is(knobs[i].path, knobs[i].value))
			return error_set(err, ERR_UNAVAILABLE, 0, "sandbox unavailable: %s",
					 knobs[i].sentence);
	}
	return error_set(
		err, ERR_UNAVAILABLE, errnum,
		"sandbox unavailable: cannot make a user namespace; inside a container its "
		"runtime may forbid it (seccomp), `hotcell doctor` tells more");
}

bool privilege_enter(struct identity *identity, struct error *err)
{
	struct ranges ranges = { 0 };
	gid_t gid = getegid();
	bool has_ranges, mapped;
	pid_t mapper = -1;
	int go = -1, r;

	if (identity->privilege == PRIVILEGE_ROOT)
		return true;
	has_ranges =
		find_range("/etc/subuid", identity->user, &ranges.uid_first, &ranges.uid_count) &&
		find_range("/etc/subgid", identity->user, &ranges.gid_first, &ranges.gid_count);
	if (has_ranges)
		mapper = start_mapper(&ranges, &go);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		r = errno;
		(void)finish_mapper(mapper, go, false);
		return explain(r, err);
	}
	mapped = has_ranges && finish_mapper(mapper, go, true);
	if (mapped) {
		identity->privilege = PRIVILEGE_SUBUIDS;
		identity->uid_count = MIN(ranges.uid_count, ranges.gid_count);
	} else {
		r = map_single(identity->user, gid);
		if (r < 0)
			return explain(-r, err);
	}
	/* The namespace may be there and yet give no rights: found only by using one. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return explain(errno, err);
	return true;
}

const char *privilege_name(enum privilege privilege)
{
	static const char *const names[] = {
		[PRIVILEGE_ROOT] = "root",
		[PRIVILEGE_SUBUIDS] = "user with subuids",
		[PRIVILEGE_ONE_UID] = "user",
	};

	return names[privilege];
}
