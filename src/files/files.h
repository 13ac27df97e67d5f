/* What hotcell-files does with its root, the workspace. */
#pragma once

#include "wire/files_messages.h"

/* Sends an ENTRY for everything below root, then END. */
void walk_send(int socket, int root, uint32_t max);

/* Writes the bytes of `from` to a new file that takes the place of path, all or nothing. */
int put_file(int root, const char *path, uint32_t mode, int from);
