/*
 * One datagram of a peer that was taken over: the first byte says how many descriptors ride on it, the
 * rest is what it sends. No descriptor may stay behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "wire/wire.h"

enum { FDS_SENT_MAX = 24 };

static void send_raw(int socket, const uint8_t *data, size_t size, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FDS_SENT_MAX)];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &socket,
			       sizeof(socket));
	}
	if (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0)
		abort();
}

static void receive(int socket)
{
	static const struct wire_rule rules[] = {
		[1] = { .states = 1, .size = sizeof(struct wire_header) },
		[2] = { .states = 3, .size = 64, .min_size = 12, .max_fds = 2 },
		[3] = { .states = 2, .size = 64, .min_fds = 1, .max_fds = WIRE_MAX_FDS },
	};
	union {
		struct wire_header header;
		uint8_t bytes[4096];
	} message;
	struct wire_fds fds;
	ssize_t n = wire_recv(socket, &message, sizeof(message), &fds);

	if (n > 0) {
		if (message.header.size != (size_t)n || fds.n > WIRE_MAX_FDS)
			abort();
		for (unsigned state = 0; state < 2; state++)
			(void)wire_check(rules, ARRAY_SIZE(rules), state, &message.header, fds.n);
		(void)fd_close(wire_take_fd(&fds, 1));
	} else if (fds.n != 0) {
		abort();
	}
	wire_close_fds(&fds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int sockets[2], before, after;

	if (size < 1 || size > 8192)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	/* The lowest free number: it is the same afterwards unless a descriptor leaked. */
	before = dup(sockets[0]);
	(void)close(before);
	send_raw(sockets[0], data + 1, size - 1, data[0] % (FDS_SENT_MAX + 1));
	receive(sockets[1]);
	after = dup(sockets[0]);
	if (after != before)
		abort();
	(void)close(after);
	(void)close(sockets[0]);
	(void)close(sockets[1]);
	return 0;
}
