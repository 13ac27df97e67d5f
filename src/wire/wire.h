/*
 * Private messages between hotcell's own programs: one datagram on a SEQPACKET socket, a header, a
 * fixed layout, and file descriptors beside it.
 *
 * Both ends run on one machine and come from one build, so layouts are plain structs. Whatever does
 * not fit exactly (size, type, number of fds, a message that may not come now) is -EPROTO, and the
 * receiver ends the connection: no peer of ours sends such a thing unless it was taken over. Nothing
 * here allocates: init uses it too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	WIRE_MAX_BYTES = 16 * 1024,
	WIRE_MAX_FDS = 16,
};

struct wire_header {
	uint16_t type;
	uint16_t reserved; /* zero */
	uint32_t size;     /* of the whole message, header included */
};

/* Received descriptors. Whoever has the struct owns them: take with wire_take_fd(), and let
 * wire_close_fds() close the rest. */
struct wire_fds {
	size_t n;
	int fd[WIRE_MAX_FDS];
};

/* Sends one message; its header must say its size. The fds stay the caller's. -EAGAIN when the
 * socket is full and does not block. */
int wire_send(int socket, const void *message, const int *fds, size_t n_fds);

/* Receives one message into message (max bytes). Returns its size, 0 when the peer has gone,
 * -EAGAIN, or -EPROTO for anything that is not exactly one whole message. */
ssize_t wire_recv(int socket, void *message, size_t max, struct wire_fds *ret_fds);

int wire_take_fd(struct wire_fds *fds, size_t i);
void wire_close_fds(struct wire_fds *fds);
#define _cleanup_fds_ __attribute__((cleanup(wire_close_fds)))

/* A message of type t, named m, all zero but for its header. */
#define WIRE_MESSAGE(type_, m, t) \
	struct type_ m = { .header = { .type = (t), .size = sizeof(struct type_) } }

/* Which message may come when, how large it is and how many fds ride on it. */
struct wire_rule {
	uint32_t states;   /* bits: 1u << state */
	uint32_t size;     /* exactly, or at least min_size when that is set */
	uint32_t min_size; /* 0: size is exact */
	uint8_t min_fds, max_fds;
};

/* 0 if the message that was received may come in this state, else -EPROTO. */
int wire_check(const struct wire_rule *rules, size_t n_rules, unsigned state,
	       const struct wire_header *header, size_t n_fds);
