/*
 * The mounts of a cell, made by the process that becomes its init; see build.c for their order. Each
 * returns 0 or a negative errno. Sources are fixed names inside the template, never anybody's input.
 */
#pragma once

#include <stdint.h>

#include "warden/template.h"

int mounts_make_private(void);
int mounts_root(const struct template *t);
int mounts_trees(const struct template *t, uint32_t trees);
int mounts_proc(void);
int mounts_dev(void);
int mounts_tmp(uint64_t bytes);
int mounts_workspace(int workspace);
int mounts_pivot(void);

/* The options of the overlay for one tree (index < 0: the root); plain text, for tests too. */
int mounts_overlay_options(int index, char *text, size_t size);
