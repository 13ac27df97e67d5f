#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "wire/wire.h"

struct note {
	struct wire_header header;
	uint32_t value;
};

struct pair {
	int a, b;
};

static int set_up(void **state)
{
	static struct pair p;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0)
		return -1;
	p = (struct pair){ sockets[0], sockets[1] };
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	fd_close(p->a);
	fd_close(p->b);
	return 0;
}

/* How many descriptors this process has: none may stay behind. */
static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_round_trip(void **state)
{
	const struct pair *p = *state;
	WIRE_MESSAGE(note, sent, 7);
	struct note got = { 0 };
	struct wire_fds fds;

	sent.value = 42;
	assert_int_equal(sent.header.size, sizeof(sent));
	assert_int_equal(wire_send(p->a, &sent, NULL, 0), 0);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), sizeof(got));
	assert_memory_equal(&got, &sent, sizeof(got));
	assert_int_equal(fds.n, 0);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), -EAGAIN);
}

/* Descriptors arrive in their order, close on exec, and close with whoever has them. */
static void test_fds(void **state)
{
	const struct pair *p = *state;
	WIRE_MESSAGE(note, sent, 1);
	int before, ours[WIRE_MAX_FDS], taken;
	struct wire_fds fds;
	struct note got;

	for (size_t i = 0; i < WIRE_MAX_FDS; i++)
		ours[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	before = open_fds();
	assert_int_equal(wire_send(p->a, &sent, ours, WIRE_MAX_FDS), 0);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), sizeof(got));
	assert_int_equal(fds.n, WIRE_MAX_FDS);
	assert_int_equal(open_fds(), before + WIRE_MAX_FDS);
	for (size_t i = 0; i < fds.n; i++)
		assert_int_equal(fcntl(fds.fd[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	taken = wire_take_fd(&fds, 3);
	assert_true(taken >= 0);
	assert_int_equal(wire_take_fd(&fds, 3), -1);
	assert_int_equal(wire_take_fd(&fds, WIRE_MAX_FDS), -1);
	assert_int_equal(wire_take_fd(&fds, SIZE_MAX), -1);
	wire_close_fds(&fds);
	wire_close_fds(&fds);
	assert_int_equal(open_fds(), before + 1);
	fd_close(taken);
	for (size_t i = 0; i < WIRE_MAX_FDS; i++)
		fd_close(ours[i]);
}

static void test_send_refuses(void **state)
{
	const struct pair *p = *state;
	static char bytes[WIRE_MAX_BYTES + 8];
	struct wire_header *header = (struct wire_header *)bytes;
	static const int too_many[WIRE_MAX_FDS + 1];
	static const struct {
		uint32_t size;
		size_t n_fds;
		int expect;
	} cases[] = {
		{ sizeof(struct wire_header), 0, 0 },
		{ WIRE_MAX_BYTES, 0, 0 },
		{ WIRE_MAX_BYTES + 1, 0, -EMSGSIZE },
		{ UINT32_MAX, 0, -EMSGSIZE },
		{ sizeof(struct wire_header) - 1, 0, -EMSGSIZE },
		{ 0, 0, -EMSGSIZE },
		{ sizeof(struct wire_header), WIRE_MAX_FDS + 1, -EMSGSIZE },
		{ sizeof(struct wire_header), SIZE_MAX, -EMSGSIZE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		header->size = cases[i].size;
		assert_int_equal(wire_send(p->a, bytes, too_many, cases[i].n_fds), cases[i].expect);
	}
}

/* Sends raw bytes with n descriptors of /dev/null, as a peer that was taken over would. */
static void send_raw(int socket, const void *bytes, size_t len, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds > 0) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		struct cmsghdr *cmsg = &control.align;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		for (size_t i = 0; i < n_fds; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(fd));
		assert_int_equal(sendmsg(socket, &msg, 0), len);
		fd_close(fd);
		return;
	}
	assert_int_equal(sendmsg(socket, &msg, 0), len);
}

/* Whatever is not exactly one message is refused, and its descriptors are gone. */
static void test_recv_refuses(void **state)
{
	const struct pair *p = *state;
	static const struct {
		struct note note;
		size_t len, n_fds;
		ssize_t expect;
	} cases[] = {
		{ { { 1, 0, 12 }, 5 }, 12, 0, 12 },
		{ { { 1, 0, 12 }, 5 }, 12, 2, 12 },
		{ { { 1, 0, 8 }, 0 }, 8, 0, 8 },
		{ { { 1, 0, 8 }, 0 }, 7, 0, -EPROTO }, /* less than a header */
		{ { { 1, 0, 8 }, 0 }, 1, 3, -EPROTO },
		{ { { 1, 0, 13 }, 5 }, 12, 0, -EPROTO }, /* says more than came */
		{ { { 1, 0, 11 }, 5 }, 12, 1, -EPROTO }, /* says less */
		{ { { 1, 0, 0 }, 5 }, 12, 0, -EPROTO },
		{ { { 1, 0, UINT32_MAX }, 5 }, 12, 0, -EPROTO },
		{ { { 1, 1, 12 }, 5 }, 12, 4, -EPROTO }, /* reserved */
		{ { { 1, 0, 12 }, 5 }, 12, WIRE_MAX_FDS + 1, -EPROTO },
		{ { { 1, 0, 12 }, 5 }, 12, 60, -EPROTO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int before = open_fds();
		struct wire_fds fds;
		struct note got;

		print_message("case %zu\n", i);
		send_raw(p->a, &cases[i].note, cases[i].len, cases[i].n_fds);
		assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), cases[i].expect);
		if (cases[i].expect < 0)
			assert_int_equal(fds.n, 0);
		assert_int_equal(open_fds(), before + (int)fds.n);
		wire_close_fds(&fds);
		assert_int_equal(open_fds(), before);
	}
}

/* A message that is longer than the receiver's room is refused, not cut. */
static void test_recv_too_long(void **state)
{
	const struct pair *p = *state;
	char bytes[64] = { 0 };
	struct wire_header header = { .type = 1, .size = 12 };
	struct wire_fds fds;
	struct note got;

	/* Its header even says what fits. */
	memcpy(bytes, &header, sizeof(header));
	send_raw(p->a, bytes, sizeof(bytes), 1);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), -EPROTO);
	assert_int_equal(fds.n, 0);
}

static void test_peer_gone(void **state)
{
	struct pair *p = *state;
	WIRE_MESSAGE(note, sent, 1);
	struct wire_fds fds;
	struct note got;

	/* It left something unread in its own end: still the end, not an error. */
	assert_int_equal(wire_send(p->b, &sent, NULL, 0), 0);
	p->a = fd_close(p->a);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), 0);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), 0);
	/* No SIGPIPE. */
	assert_int_equal(wire_send(p->b, &sent, NULL, 0), -EPIPE);
}

/* The kernel tells the reset first; the peer's last words must not be lost behind it. */
static void test_last_words_of_a_peer_that_did_not_read(void **state)
{
	struct pair *p = *state;
	WIRE_MESSAGE(note, sent, 7);
	struct note got = { 0 };
	struct wire_fds fds;

	assert_int_equal(wire_send(p->b, &sent, NULL, 0), 0); /* which a never reads */
	sent.value = 42;
	assert_int_equal(wire_send(p->a, &sent, NULL, 0), 0);
	p->a = fd_close(p->a);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), sizeof(got));
	assert_int_equal(got.value, 42);
	assert_int_equal(wire_recv(p->b, &got, sizeof(got), &fds), 0);
}

static void test_full_socket(void **state)
{
	const struct pair *p = *state;
	WIRE_MESSAGE(note, sent, 1);
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = wire_send(p->a, &sent, NULL, 0);
	assert_int_equal(r, -EAGAIN);
}

static void test_check(void **state)
{
	enum { IDLE, BUSY };
	static const struct wire_rule rules[] = {
		[1] = { .states = 1u << IDLE, .size = 12 },
		[2] = { .states = 1u << IDLE | 1u << BUSY,
			.size = 100,
			.min_size = 8,
			.min_fds = 1,
			.max_fds = 2 },
	};
	static const struct {
		uint16_t type;
		uint32_t size;
		unsigned state;
		size_t n_fds;
		int expect;
	} cases[] = {
		{ 1, 12, IDLE, 0, 0 },           { 1, 12, BUSY, 0, -EPROTO },
		{ 1, 11, IDLE, 0, -EPROTO },     { 1, 13, IDLE, 0, -EPROTO },
		{ 1, 12, IDLE, 1, -EPROTO },     { 2, 8, IDLE, 1, 0 },
		{ 2, 100, BUSY, 2, 0 },          { 2, 7, IDLE, 1, -EPROTO },
		{ 2, 101, IDLE, 1, -EPROTO },    { 2, 50, IDLE, 0, -EPROTO },
		{ 2, 50, IDLE, 3, -EPROTO },     { 0, 0, IDLE, 0, -EPROTO },
		{ 0, 12, IDLE, 0, -EPROTO },     { 3, 12, IDLE, 0, -EPROTO },
		{ 65535, 12, IDLE, 0, -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct wire_header header = { .type = cases[i].type, .size = cases[i].size };

		print_message("case %zu\n", i);
		assert_int_equal(wire_check(rules, ARRAY_SIZE(rules), cases[i].state, &header,
					    cases[i].n_fds),
				 cases[i].expect);
	}
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_round_trip),
		PAIR_TEST(test_fds),
		PAIR_TEST(test_send_refuses),
		PAIR_TEST(test_recv_refuses),
		PAIR_TEST(test_recv_too_long),
		PAIR_TEST(test_peer_gone),
		PAIR_TEST(test_full_socket),
		PAIR_TEST(test_last_words_of_a_peer_that_did_not_read),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
