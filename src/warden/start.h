/*
 * The warden's forks: the process that becomes a cell, and hotcell-files.
 *
 * A cell takes two: the starter, still with rights on the host, enters the cgroup, takes the cell's uid
 * and makes the namespaces; its child (and the warden's, by CLONE_PARENT) goes on in build.c.
 */
#pragma once

#include <sys/types.h>

struct cell;
struct warden;

/* Forks the starter; it tells everything else through sync. */
int start_cell(struct warden *w, const struct cell *cell, int sync, pid_t *ret_starter);

/* Writes the uid and gid maps of the cell's init. */
int start_write_maps(const struct warden *w, const struct cell *cell);

/* Forks hotcell-files into the cell's user namespace, rooted in its workspace. */
int start_files(struct warden *w, const struct cell *cell, int socket, pid_t *ret_pid);
