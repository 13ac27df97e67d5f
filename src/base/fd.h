/* File descriptors: closed by scope, always close-on-exec, read and written whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct buf;

/* Closes fd if it is one; keeps errno; returns -1, so that `fd = fd_close(fd)` reads well. */
int fd_close(int fd);
void cleanup_closep(int *fd);
#define _cleanup_close_ _cleanup_(cleanup_closep)

/* Write everything or return a negative errno. EINTR is retried. */
int fd_write_all(int fd, const void *data, size_t len);

/* Reads up to the end of file into b (which bounds it): -ENOBUFS when there is more than fits. */
int fd_read_all(int fd, struct buf *b);

/* Reads a small kernel text file (cgroup, proc) from its beginning into text, NUL-terminated.
 * Returns its length, -ENOBUFS when it does not fit. Works again and again on one open fd. */
ssize_t fd_read_text(int fd, char *text, size_t size);

/* Opens name beneath dir, writes text in one write(2), closes. For cgroup and proc files. */
int fd_write_file_at(int dir, const char *name, const char *text);

/* Rewinds a memfd and makes sure that nobody changes it any more. */
int fd_seal(int fd);

/* A sealed, read-only memfd with these bytes; a negative errno when it cannot be made. */
int fd_from_bytes(const char *name, const void *data, size_t len);

int fd_set_nonblock(int fd, bool on);

/* Moves fd to exactly the number `to` and clears close-on-exec there. */
int fd_move_to(int fd, int to);
