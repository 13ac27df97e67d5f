/*
 * Which instance numbers are in use: one locked file each in the run directory.
 *
 * The lock lives as long as any process that has its descriptor: the command and the warden. A free
 * lock beside existing cgroups means that the instance died. The files themselves stay.
 */
#pragma once

#include "base/error.h"

/* Opens the run directory (/run/hotcell, or a user's own), making it: an fd, or -1 with err set. */
int locks_open(struct error *err);

/* The descriptor that holds the lock (close-on-exec), -EWOULDBLOCK when someone else does. */
int locks_take(int folder, unsigned number);
