/*
 * A port: one end of a message socket in the loop.
 *
 * It says when a message can be received, and keeps, in order, what could not be sent yet because the
 * socket was full. How a message is sent is the owner's business (wire_send() fits), so that this room
 * knows no message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct loop;
struct port;

struct port_config {
	/* 0, -EAGAIN when the socket is full, or another negative errno. */
	int (*send)(int socket, const void *message, const int *fds, size_t n_fds);
	/* Receive one message now; comes again while there are more. */
	void (*readable)(void *data);
	/* Nothing waits to be sent any more; optional. */
	void (*drained)(void *data);
	void *data;
	size_t queue_max; /* bytes that may wait; -ENOBUFS beyond */
};

/* Takes the socket. NULL when it cannot be watched (it is closed then). */
struct port *port_new(struct loop *loop, int socket, const struct port_config *config);
struct port *port_free(struct port *port); /* closes the socket; accepts NULL; returns NULL */

int port_socket(const struct port *port);

/* Sends now or keeps a copy of the message (size bytes) and of the fds until it can. 0, or a negative
 * errno: the peer has gone or does not read. */
int port_send(struct port *port, const void *message, size_t size, const int *fds, size_t n_fds);

bool port_is_drained(const struct port *port);

/* Stops and resumes `readable`. */
void port_read(struct port *port, bool on);
