/*
 * The front gives up everything it does not need, before it reads the first byte of an order.
 *
 * Afterwards it has no capability and never will, opens no file, starts no program, talks to nobody new,
 * and dies with its parent. Every step is checked; one that fails must end the program.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct lockdown {
	uid_t uid; /* to become, when started as root */
	bool has_uid;
	bool keeps_uid; /* it is root only in a user namespace with no other uid than the user's */
	pid_t parent;   /* as it was at the start: who must still be there at the end */
	int first_free; /* every descriptor from this one on is closed */
};

bool lockdown(const struct lockdown *how, struct error *err);
