/*
 * Where the cgroup hierarchies are mounted and which cgroup we are in: the texts of
 * /proc/self/mountinfo and /proc/self/cgroup, read strictly. A line that is not of their form is an
 * error, not a guess: it decides where limits are set.
 */
#pragma once

#include <stdint.h>

#include "wire/warden_messages.h"

enum { CGROUP_PLACE_MAX = 512 };

struct cgroup_mounts {
	/* Mount point of each hierarchy, "" where there is none. cpu and cpuacct may be one mount. */
	char place[CGROUP_CONTROLLER_COUNT][CGROUP_PLACE_MAX];
};

/* 0, or -EINVAL for a malformed text. Of several mounts of one hierarchy the whole one ("/" of it)
 * wins, then the latest, because a later mount hides an earlier one. */
int mountinfo_parse(const char *text, struct cgroup_mounts *ret);

/* Our own path in the unified hierarchy ("/" and more), or "" when there is none. 0 or -EINVAL. */
int own_cgroup_parse(const char *text, char ret[CGROUP_PLACE_MAX]);
