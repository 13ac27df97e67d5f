/* What the warden may do, said once, and dropped to. */
#pragma once

#include <stdint.h>

/* Keeps exactly these capabilities (bits 1 << CAP_...) effective and permitted; none inheritable. */
int privileges_keep(uint64_t capabilities);

/* The warden's own: drops every capability that it does not need from all its sets, the bounding set
 * first, and can gain none by executing a file. Not for the rootless warden: its capabilities are only
 * those of its own user namespace. */
int privileges_drop(void);
