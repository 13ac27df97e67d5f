#include "warden/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "warden/warden.h"

enum {
	STATUS_MAX = 4096,
	CHILDREN_MAX = 64 * 1024, /* text of one thread's children: some 8000 pids */
	TREE_MAX = 4096,          /* processes looked at in one cell; RLIMIT_NPROC is far below */
};

bool watch_is_needed(const struct warden *w)
{
	if (w->cgroups.controllers & (1u << CGROUP_MEMORY))
		return false;
	for (const struct cell *cell = w->cells; cell; cell = cell->next) {
		if (cell->state == CELL_RUNNING && !cell->doomed)
			return true;
	}
	return false;
}

uint64_t watch_status_bytes(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return strtoull(line + len + 1, NULL, 10) * 1024;
	}
	return 0;
}

static ssize_t read_proc(const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_read_text(fd, text, size);
}

/* What only this process holds and what it shares by memory files; not the pages of programs, which
 * are in the page cache anyway. */
static uint64_t process_bytes(pid_t pid)
{
	char path[48], text[STATUS_MAX] = "";
	ssize_t r;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	r = read_proc(path, text, sizeof(text));
	if (r == -ENOENT || r == -ESRCH)
		return 0; /* it has ended */
	/* What cannot be counted is over any limit. */
	if (r < 0)
		return UINT64_MAX / TREE_MAX;
	return watch_status_bytes(text, "RssAnon") + watch_status_bytes(text, "RssShmem");
}

/* Appends the children of every thread of pid to the list. */
static void append_children(pid_t pid, pid_t *list, size_t *n)
{
	static char text[CHILDREN_MAX];
	char path[sizeof("/proc//task//children") + 32];
	const struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while ((entry = readdir(tasks))) {
		long tid = strtol(entry->d_name, NULL, 10);

		snprintf(path, sizeof(path), "/proc/%d/task/%ld/children", pid, tid);
		if (tid <= 0 || read_proc(path, text, sizeof(text)) < 0)
			continue;
		for (char *p = text, *end; *n < TREE_MAX; p = end) {
			long child = strtol(p, &end, 10);

			if (end == p)
				break;
			list[(*n)++] = (pid_t)child;
		}
	}
	closedir(tasks);
}

uint64_t watch_tree_bytes(pid_t root)
{
	static pid_t list[TREE_MAX];
	uint64_t bytes = 0;
	size_t n = 1;

	/* Orphans become children of init, so everything in a cell is below it. */
	list[0] = root;
	for (size_t i = 0; i < n; i++) {
		bytes += process_bytes(list[i]);
		append_children(list[i], list, &n);
	}
	return bytes;
}

void watch_look(struct warden *w)
{
	for (struct cell *cell = w->cells; cell; cell = cell->next) {
		if (cell->state != CELL_RUNNING || cell->doomed || cell->init <= 0)
			continue;
		if (watch_tree_bytes(cell->init) <= cell->memory_limit)
			continue;
		cell->over_memory = true;
		cell_kill(w, cell);
	}
}
