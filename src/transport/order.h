/*
 * Orders: `hotcell run` at the other end of a socket (wire/order_messages.h), one run at a time.
 *
 * Output goes up as it comes, as far as the command has given credit; then the files it wants, then the
 * result. When the command goes away the run is cancelled.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct core;
struct loop;
struct order;

/* Takes the socket. `ended` is called once, when the command has gone or broken the rules and no run is
 * left; order_free() is due then. */
struct order *order_new(struct loop *loop, struct core *core, int socket, void (*ended)(void *data),
			void *data);
void order_free(struct order *order); /* accepts NULL; before core_free() */

/* No run can be had any more: the next order is told so, and `ended` follows. */
void order_give_up(struct order *order, const struct error *err);

/* Before there is a loop: tells why the front cannot start, and waits a little until the command has
 * gone. False when nobody could be told. */
bool order_refuse(int socket, const struct error *err);
