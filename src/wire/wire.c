#include "wire/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * WIRE_MAX_FDS)];
};

int wire_send(int socket, const void *message, const int *fds, size_t n_fds)
{
	const struct wire_header *header = message;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = header->size };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds > WIRE_MAX_FDS || header->size < sizeof(*header) || header->size > WIRE_MAX_BYTES)
		return -EMSGSIZE;
	if (n_fds > 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Collects every descriptor that arrived, also those that are too many, so that none leaks. */
static int collect_fds(struct msghdr *msg, struct wire_fds *fds)
{
	int r = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n, i;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			r = -EPROTO;
			continue;
		}
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds->n < WIRE_MAX_FDS) {
				fds->fd[fds->n++] = fd;
			} else {
				(void)fd_close(fd);
				r = -EPROTO;
			}
		}
	}
	return r;
}

ssize_t wire_recv(int socket, void *message, size_t max, struct wire_fds *ret_fds)
{
	struct iovec iov = { .iov_base = message, .iov_len = max };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct wire_header header;
	ssize_t n;
	int r;

	ret_fds->n = 0;
	/* ECONNRESET: the peer closed without having read everything. It is told once and before
	 * whatever the peer had still sent, so that must be asked for again. */
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	r = collect_fds(&msg, ret_fds);
	if (n == 0 && ret_fds->n == 0 && r == 0)
		return 0;
	if (r < 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)n < sizeof(header)) {
		wire_close_fds(ret_fds);
		return -EPROTO;
	}
	memcpy(&header, message, sizeof(header));
	if (header.size != (size_t)n || header.reserved != 0) {
		wire_close_fds(ret_fds);
		return -EPROTO;
	}
	return n;
}

int wire_take_fd(struct wire_fds *fds, size_t i)
{
	return i < fds->n ? TAKE_FD(fds->fd[i]) : -1;
}

void wire_close_fds(struct wire_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		(void)fd_close(fds->fd[i]);
	fds->n = 0;
}

int wire_check(const struct wire_rule *rules, size_t n_rules, unsigned state,
	       const struct wire_header *header, size_t n_fds)
{
	const struct wire_rule *rule;

	if (header->type >= n_rules)
		return -EPROTO;
	rule = &rules[header->type];
	if (!(rule->states & (1u << state)))
		return -EPROTO;
	if (rule->min_size) {
		if (header->size < rule->min_size || header->size > rule->size)
			return -EPROTO;
	} else if (header->size != rule->size) {
		return -EPROTO;
	}
	if (n_fds < rule->min_fds || n_fds > rule->max_fds)
		return -EPROTO;
	return 0;
}
