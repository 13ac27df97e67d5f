/*
 * The native backend: cells made by hotcell-warden, which is at the other end of a socket.
 *
 * The warden is trusted to build cells; it is not trusted to be right: a message that may not come now
 * ends the connection, and with it every cell.
 */
#pragma once

#include "base/error.h"

struct backend;
struct loop;

/* Takes the socket. `lost` is called once if the warden goes or misbehaves; by then every cell has
 * had its `failed`. Cells may be asked for at once; the isolation is known when the first is there. */
struct backend *native_new(struct loop *loop, int socket,
			   void (*lost)(const struct error *err, void *data), void *data);
