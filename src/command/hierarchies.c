#include "command/hierarchies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "command/cgroup_sweep.h"
#include "command/mountinfo.h"
#include "command/scope.h"

enum {
	PROC_TEXT_MAX = 4 << 20, /* mountinfo of a host with thousands of containers */
	CGROUP_TEXT_MAX = 4096,
	/* Process numbers that stay free for the host, whatever all cells do. */
	PIDS_RESERVED = 4096,
};

static const struct limit {
	enum cgroup_controller controller;
	const char *name;
} limits[] = {
	{ CGROUP_MEMORY, "memory" },
	{ CGROUP_PIDS, "pids" },
	{ CGROUP_CPU, "cpu" },
};

static bool read_proc(const char *path, struct buf *to, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_read_all(fd, to);

	return r < 0 ? error_set(err, ERR_SYSTEM, -r, "cannot read %s", path) : true;
}

static bool read_mounts(struct cgroup_mounts *ret, struct error *err)
{
	_cleanup_buf_ struct buf text;

	buf_init(&text, PROC_TEXT_MAX);
	if (!read_proc("/proc/self/mountinfo", &text, err))
		return false;
	if (mountinfo_parse(buf_string(&text), ret) < 0)
		return error_set(err, ERR_SYSTEM, 0, "cannot make sense of /proc/self/mountinfo");
	return true;
}

/* Opens the cgroup below which an instance may live: the hierarchy's root, or a user's own. */
static int open_base(const char *place, bool is_v2, const char *own)
{
	char path[2 * CGROUP_PLACE_MAX];
	_cleanup_close_ int fd = -1;
	struct statfs fs;

	snprintf(path, sizeof(path), "%s%s", place, own);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	/* A mount can be hidden by a later one. */
	if ((uint64_t)fs.f_type != (is_v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		return -ENOENT;
	return TAKE_FD(fd);
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += len)
		if ((p == text || p[-1] == ' ') && strchr(" \n", p[len]))
			return true;
	return false;
}

/* Which of memory, pids, cpu a file of a cgroup v2 directory lists, as bits. */
static uint32_t read_controllers(int dir, const char *file)
{
	_cleanup_close_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	char text[CGROUP_TEXT_MAX];
	uint32_t found = 0;

	if (fd < 0 || fd_read_text(fd, text, sizeof(text)) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (has_word(text, limits[i].name))
			found |= 1u << limits[i].controller;
	return found;
}

/* Lets the children of a v2 directory have limits. What the kernel refuses (processes are in the
 * directory itself, nothing delegated) shows in what can be read back. */
static uint32_t enable_controllers(int dir)
{
	uint32_t there = read_controllers(dir, "cgroup.controllers");
	uint32_t enabled = read_controllers(dir, "cgroup.subtree_control");
	bool changed = false;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		uint32_t bit = 1u << limits[i].controller;
		char word[16];

		if (!(there & bit) || (enabled & bit))
			continue;
		snprintf(word, sizeof(word), "+%s", limits[i].name);
		changed |= fd_write_file_at(dir, "cgroup.subtree_control", word) == 0;
	}
	return changed ? read_controllers(dir, "cgroup.subtree_control") : enabled;
}

/* All cells together leave the host process numbers to live with. */
static void reserve_pids(int parent)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
	char text[32];
	uint64_t max;

	if (fd < 0 || fd_read_text(fd, text, sizeof(text)) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (parse_uint64(text, &max) < 0 || max <= 2 * PIDS_RESERVED)
		return;
	snprintf(text, sizeof(text), "%" PRIu64, max - PIDS_RESERVED);
	(void)fd_write_file_at(parent, "pids.max", text);
}

static int open_parent(int base, bool has_pids)
{
	bool is_new = mkdirat(base, "hotcell", 0755) == 0;
	int fd;

	if (!is_new && errno != EEXIST)
		return -errno;
	fd = openat(base, "hotcell", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	/* Root's, which an ordinary user finds but may not use. */
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
		int r = -errno;

		(void)fd_close(fd);
		return r;
	}
	if (is_new && has_pids)
		reserve_pids(fd);
	return fd;
}

/* Where our own cgroup is in the unified hierarchy. */
static bool own_path(char ret[CGROUP_PLACE_MAX], struct error *err)
{
	_cleanup_buf_ struct buf text;

	ret[0] = '\0';
	buf_init(&text, PROC_TEXT_MAX);
	if (!read_proc("/proc/self/cgroup", &text, err))
		return false;
	if (own_cgroup_parse(buf_string(&text), ret) < 0)
		return error_set(err, ERR_SYSTEM, 0, "cannot make sense of /proc/self/cgroup");
	/* A cgroup outside our namespace's root cannot be named. */
	if (strstr(ret, "/.."))
		ret[0] = '\0';
	return true;
}

/* A cgroup with processes in it cannot give limits to its children: we move one down. Whether that was
 * enough shows in what can be enabled. */
static void step_aside(int base)
{
	_cleanup_close_ int dir = -1;

	if (mkdirat(base, "self", 0755) < 0 && errno != EEXIST)
		return;
	dir = openat(base, "self", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir >= 0)
		(void)fd_write_file_at(dir, "cgroup.procs", "0");
}

static int open_v2(struct hierarchies *h, const struct cgroup_mounts *mounts)
{
	const char *place = mounts->place[CGROUP_UNIFIED];
	bool is_root = geteuid() == 0;
	char own[CGROUP_PLACE_MAX] = "";
	_cleanup_close_ int base = -1;
	uint32_t given;

	if (!place[0])
		return -ENOENT;
	base = open_base(place, true, "");
	if (base < 0)
		return base;
	/* Without controllers it is the empty tree beside v1. */
	if (!read_controllers(base, "cgroup.controllers"))
		return -ENOENT;
	if (!is_root) {
		/* Without a session of systemd's there may still be a cgroup that was given to us. */
		(void)scope_enter();
		if (!own_path(own, NULL))
			return -EINVAL;
		(void)fd_close(base);
		base = open_base(place, true, own);
		if (base < 0)
			return base;
		step_aside(base);
	}
	given = enable_controllers(base);
	h->parent[CGROUP_UNIFIED] = open_parent(base, given & (1u << CGROUP_PIDS));
	if (h->parent[CGROUP_UNIFIED] < 0)
		return h->parent[CGROUP_UNIFIED];
	(void)enable_controllers(h->parent[CGROUP_UNIFIED]);
	h->kind = CGROUP_V2;
	return 0;
}

static int open_v1(struct hierarchies *h, const struct cgroup_mounts *mounts)
{
	if (!mounts->place[CGROUP_MEMORY][0] && !mounts->place[CGROUP_PIDS][0])
		return -ENOENT;
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		_cleanup_close_ int base = -1;

		if (!mounts->place[i][0])
			continue;
		base = open_base(mounts->place[i], i == CGROUP_UNIFIED, "");
		if (base == -ENOENT)
			continue;
		if (base < 0)
			return base;
		h->parent[i] = open_parent(base, i == CGROUP_PIDS);
		if (h->parent[i] < 0)
			return h->parent[i];
	}
	if (h->parent[CGROUP_MEMORY] < 0 && h->parent[CGROUP_PIDS] < 0)
		return -ENOENT;
	h->kind = CGROUP_V1;
	return 0;
}

/* What a host says that gives us no cgroups. Anything else is a failure that must be told. */
static bool is_refusal(int r)
{
	return r == -ENOENT || r == -EACCES || r == -EPERM || r == -EROFS;
}

static void forget(struct hierarchies *h)
{
	*h = (struct hierarchies){ .kind = CGROUP_NONE };
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		h->parent[i] = h->own[i] = -1;
}

static bool open_wanted(struct hierarchies *h, const char *wanted, struct error *err)
{
	bool any = strcmp(wanted, "auto") == 0;
	struct cgroup_mounts mounts;
	int r = -ENOENT;

	if (!read_mounts(&mounts, err))
		return false;
	if (any || strcmp(wanted, "v2") == 0)
		r = open_v2(h, &mounts);
	if (r == -ENOENT && (any || strcmp(wanted, "v1") == 0))
		r = open_v1(h, &mounts);
	if (r == 0)
		return true;
	hierarchies_close(h);
	if (any && is_refusal(r))
		return true;
	return error_set(err, ERR_UNAVAILABLE, -r, "cannot use cgroups (cells.cgroup = %s)",
			 wanted);
}

bool hierarchies_open(struct hierarchies *h, const char *wanted, struct error *err)
{
	forget(h);
	if (strcmp(wanted, "none") == 0)
		return true;
	return open_wanted(h, wanted, err);
}

void hierarchies_close(struct hierarchies *h)
{
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		(void)fd_close(h->parent[i]);
		(void)fd_close(h->own[i]);
	}
	forget(h);
}

static void mark_numbers(int parent, bool ret[INSTANCES_MAX])
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		(void)fd_close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		uint64_t number;

		if (entry->d_type == DT_DIR && parse_uint64(entry->d_name, &number) == 0 &&
		    number < INSTANCES_MAX)
			ret[number] = true;
	}
	closedir(dir);
}

void hierarchies_numbers(const struct hierarchies *h, bool ret[INSTANCES_MAX])
{
	memset(ret, 0, INSTANCES_MAX * sizeof(*ret));
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
		if (h->parent[i] >= 0)
			mark_numbers(h->parent[i], ret);
}

static int make_own(struct hierarchies *h, size_t i, const char *name)
{
	/* EEXIST: cpu and cpuacct in one hierarchy. */
	if (mkdirat(h->parent[i], name, 0755) < 0 && errno != EEXIST)
		return -errno;
	h->own[i] = openat(h->parent[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return h->own[i] < 0 ? -errno : 0;
}

/* The hierarchy whose directory says that the instance lives: as long as the command or the warden has
 * it open, it is locked. The lock files tell the same, but only to those who see the same run directory;
 * containers may share their host's cgroups and not that. */
static size_t lock_place(const struct hierarchies *h)
{
	size_t i = 0;

	while (i < CGROUP_CONTROLLER_COUNT && h->parent[i] < 0)
		i++;
	return i;
}

static bool is_anothers(const struct hierarchies *h, unsigned number, const char *name)
{
	size_t i = lock_place(h);
	_cleanup_close_ int fd = -1;

	if (i == CGROUP_CONTROLLER_COUNT || (h->own[i] >= 0 && h->number == number))
		return false;
	fd = openat(h->parent[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

bool hierarchies_make(struct hierarchies *h, unsigned number, struct error *err)
{
	size_t place = lock_place(h);
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		int r = h->parent[i] < 0 ? 0 : make_own(h, i, name);

		if (r < 0)
			return error_set(err, ERR_UNAVAILABLE, -r,
					 "cannot make the cgroup hotcell/%s", name);
	}
	h->number = number;
	if (place < CGROUP_CONTROLLER_COUNT && flock(h->own[place], LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERR_UNAVAILABLE, errno, "cannot lock the cgroup hotcell/%s",
				 name);
	h->controllers = 0;
	if (h->kind == CGROUP_V2)
		h->controllers = enable_controllers(h->own[CGROUP_UNIFIED]);
	for (size_t i = 0; h->kind == CGROUP_V1 && i < ARRAY_SIZE(limits); i++)
		if (h->own[limits[i].controller] >= 0)
			h->controllers |= 1u << limits[i].controller;
	return true;
}

static int remove_everywhere(const struct hierarchies *h, const char *name, uint64_t wait_ms)
{
	int result = 0;

	for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
		int r = h->parent[i] < 0 ? 0 : cgroup_sweep(h->parent[i], name, wait_ms);

		if (r < 0)
			result = r;
	}
	return result;
}

int hierarchies_remove(const struct hierarchies *h, unsigned number, uint64_t wait_ms)
{
	char name[16];
	int r;

	snprintf(name, sizeof(name), "%u", number);
	if (is_anothers(h, number, name))
		return -EBUSY;
	/* Kill in every hierarchy before waiting in one: what v1's freezer holds dies only when it
	 * is thawed there. */
	r = remove_everywhere(h, name, 0);
	return r < 0 && wait_ms > 0 ? remove_everywhere(h, name, wait_ms) : r;
}
