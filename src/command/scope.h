/*
 * A cgroup of one's own for an ordinary user: a transient scope of his systemd session.
 *
 * systemd gives a user limits only below a unit that is delegated to him. hotcell asks for such a
 * scope by itself, moves into it and makes its cells' cgroups there; systemd removes it when the last
 * process has gone, so nothing is left even after a kill -9.
 */
#pragma once

#include <stdbool.h>

/* Moves this process into a new delegated scope. False when there is no systemd session, or it does
 * not answer in time: then nothing has changed. */
bool scope_enter(void);
