/*
 * The template: the small file system from which every cell's root is made, and the warden's own root.
 *
 * It is made from an empty tmpfs while the command tells what belongs into it, then the warden moves
 * into it: from then on neither the warden nor a cell can name a file of the host. Inside it:
 *
 *   /root     what cells see as their root (links, generated /etc, drivers, empty mount points)
 *   /trees/N  directories of the host (/usr, ...), each mounted into cells by an overlay of their own
 *   /dev      null zero full random urandom and the usual links
 *   /proc     the host's, for the warden's own use; a cell mounts its own
 *   /new      where a cell puts its root together;  /empty  the second layer an overlay needs
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/cell_spec.h"

struct template
{
	int root;       /* the tmpfs */
	uint32_t trees; /* bits: which are there */
	int tree_fds[CELL_TREES_MAX];
	char places[CELL_TREES_MAX][128];
	bool bind_trees;
};

int template_open(struct template *t);
void template_done(struct template *t);

/* place: absolute inside the cell. Parents are made. */
int template_add_tree(struct template *t, uint32_t index, const char *place, int dir);
int template_add_file(struct template *t, const char *place, uint32_t mode, int fd);
int template_add_link(struct template *t, const char *place, const char *target);

/* Moves this process into it for good; the host's root is detached. */
int template_enter(struct template *t);

/* True for an absolute path of plain components. */
bool template_place_is_valid(const char *place, size_t size);
