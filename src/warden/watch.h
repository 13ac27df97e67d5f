/*
 * The watcher: stands in for the memory cgroup where the host gives none.
 *
 * It looks at every running cell a few times a second, adds up what its processes hold, and kills a
 * cell that is over its limit. It is late by up to one look, and pages shared after a fork count twice:
 * that is why such a host's isolation is called weak.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct warden;

enum { WATCH_INTERVAL_MS = 20 };

/* True when there is a cell to be watched: then watch_look() wants to be called in time. */
bool watch_is_needed(const struct warden *w);
void watch_look(struct warden *w);

/* Memory of the process and everything below it, in bytes. */
uint64_t watch_tree_bytes(pid_t root);

/* The number behind "name:" in the text of /proc/PID/status, in bytes (it is given in kB); 0: none. */
uint64_t watch_status_bytes(const char *text, const char *name);
