/*
 * What the warden is told before it serves: the root that every cell gets.
 *
 * /usr and what stands beside it come from the host as trees; /etc is generated; a runtime's own
 * files are copied to their place. setup_open() finds and opens what has a path on the host (it
 * needs no warden yet); setup_send() tells it all.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "wire/warden_messages.h"

struct runtime;
struct runtimes;

enum { SETUP_TREES_MAX = 16 };

struct setup {
	size_t n_trees;
	struct setup_tree {
		int fd;
		char place[WARDEN_PLACE_MAX];
	} trees[SETUP_TREES_MAX];
};

bool setup_open(struct setup *ret, struct error *err);
void setup_done(struct setup *setup);

/* A bit for each tree, as cell_spec.trees has them. */
uint32_t setup_trees(const struct setup *setup);

/* Trees, links, files; with `only` just that runtime's files, else every installed one's. */
bool setup_send(const struct setup *setup, int warden, const struct runtimes *runtimes,
		const struct runtime *only, struct error *err);
