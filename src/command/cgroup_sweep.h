/* Kills and removes a cgroup directory with everything below it; v1 and v2 alike. */
#pragma once

#include <stdint.h>

/* Removes `name` of the directory `parent`: kills what is in it, waits at most wait_ms for the dying.
 * 0 when it is gone (or was never there), -EBUSY when something would not die in time. */
int cgroup_sweep(int parent, const char *name, uint64_t wait_ms);
