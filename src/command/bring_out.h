/*
 * Files that a run made, written into a folder of the user's.
 *
 * Their names and contents are a stranger's. Nothing is written outside the folder, no link in it is
 * followed, and a file is there whole or not at all.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Opens the folder, making it and its parents: an fd, or -1 with err set. */
int bring_out_open(const char *folder, struct error *err);

/* Copies the regular file `from` to `path` in the folder; replaces a file or link of that name. Only
 * the x bit of the mode counts. 0, or a negative errno: -EINVAL for a path that is not plain. */
int bring_out_file(int folder, const char *path, uint32_t mode, int from);
