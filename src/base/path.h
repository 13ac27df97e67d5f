/* Names given by strangers: checked as text, opened by openat2 and never outside their root. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PATH_MAX_BYTES = 1024, /* whole relative path */
	PATH_MAX_DEPTH = 32,   /* components */
	PATH_MAX_NAME = 255,
};

/* True for a relative path of 1 to PATH_MAX_DEPTH ordinary components: no "", ".", "..", no leading
 * or trailing slash, nothing too long. Any byte but NUL and '/' may be in a component. */
bool path_is_plain(const char *path);

/* openat2 with RESOLVE_BENEATH | NO_SYMLINKS | NO_MAGICLINKS | NO_XDEV. flags get O_CLOEXEC, O_NOCTTY
 * and O_NONBLOCK, so that a FIFO cannot block us. Returns an fd or a negative errno. */
int path_open_beneath(int dir, const char *path, uint64_t flags, mode_t mode);

/* The same, and -EISDIR, -ENXIO (FIFO, socket, device) unless it is a regular file. */
int path_open_regular(int dir, const char *path, uint64_t flags);

/* Makes every parent directory of path beneath dir (mode 0755), as path_open_beneath resolves. */
int path_make_parents(int dir, const char *path);
