/*
 * The instance's place in every cgroup hierarchy: hotcell/K, made at the start and removed at the end.
 *
 * Root uses the root of each hierarchy; an ordinary user the unified cgroup it is in, if that was
 * delegated. What an instance that died left behind (processes, directories) is swept by the next
 * one that gets its lock. The struct owns its descriptors until hierarchies_close().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/warden_messages.h"

enum { INSTANCES_MAX = 256 };

struct hierarchies {
	enum cgroup_kind kind;
	uint32_t controllers;                /* limits there really are, as in warden_settings */
	int parent[CGROUP_CONTROLLER_COUNT]; /* hotcell, or -1 */
	unsigned number;                     /* K, when own is there */
	int own[CGROUP_CONTROLLER_COUNT];    /* hotcell/K, or -1 */
};

/* Finds the hierarchies and makes hotcell in each. wanted is "auto", "v2", "v1" or "none"; with auto
 * a host that gives nothing is CGROUP_NONE, with the others that is ERR_UNAVAILABLE. */
bool hierarchies_open(struct hierarchies *h, const char *wanted, struct error *err);
void hierarchies_close(struct hierarchies *h);

/* Marks every number that has a directory in some hierarchy. */
void hierarchies_numbers(const struct hierarchies *h, bool ret[INSTANCES_MAX]);

/* Makes hotcell/K everywhere; nothing may be there. */
bool hierarchies_make(struct hierarchies *h, unsigned number, struct error *err);

/* Kills what is in hotcell/K and removes it, waiting at most so long for the dying. 0 when nothing
 * is left, else a negative errno. Only with K's lock held. */
int hierarchies_remove(const struct hierarchies *h, unsigned number, uint64_t wait_ms);
