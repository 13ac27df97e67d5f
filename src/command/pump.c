#include "command/pump.h"

#include <errno.h>
#include <unistd.h>

#include "base/fd.h"

/* How often a job in the background looks whether the terminal is its own now. */
enum { BACKGROUND_MS = 300 };

void pump_start(struct pump *pump, int from, int to)
{
	pump->from = from;
	pump->to = to;
	pump->is_terminal = from >= 0 && isatty(from);
	pump->wait_until_ms = 0;
	pump->at = pump->len = 0;
	/* The program's end is another open file and still blocks, as programs expect. */
	if (from < 0 || fd_set_nonblock(to, true) < 0)
		pump_stop(pump);
}

void pump_stop(struct pump *pump)
{
	pump->to = fd_close(pump->to);
	pump->wait_until_ms = 0;
}

uint64_t pump_deadline_ms(const struct pump *pump)
{
	return pump->wait_until_ms ? pump->wait_until_ms : UINT64_MAX;
}

void pump_prepare(const struct pump *pump, uint64_t now_ms, struct pollfd polls[PUMP_POLLS])
{
	bool is_full = pump->at < pump->len;
	bool may_read = pump->to >= 0 && !is_full && now_ms >= pump->wait_until_ms;

	polls[0] = (struct pollfd){ .fd = may_read ? pump->from : -1, .events = POLLIN };
	/* Without an event asked for, poll still tells that the program's end was closed. */
	polls[1] = (struct pollfd){ .fd = pump->to, .events = is_full ? POLLOUT : 0 };
}

/* A background job that reads from its terminal is stopped, or gets EIO. */
static bool is_in_background(const struct pump *pump)
{
	pid_t foreground = pump->is_terminal ? tcgetpgrp(pump->from) : -1;

	return foreground > 0 && foreground != getpgrp();
}

static void fill(struct pump *pump, uint64_t now_ms)
{
	ssize_t n;

	if (is_in_background(pump)) {
		pump->wait_until_ms = now_ms + BACKGROUND_MS;
		return;
	}
	pump->wait_until_ms = 0;
	n = read(pump->from, pump->bytes, sizeof(pump->bytes));
	if (n > 0) {
		pump->at = 0;
		pump->len = (size_t)n;
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		pump_stop(pump);
	}
}

static void drain(struct pump *pump)
{
	while (pump->to >= 0 && pump->at < pump->len) {
		ssize_t n = write(pump->to, pump->bytes + pump->at, pump->len - pump->at);

		if (n > 0)
			pump->at += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			pump_stop(pump);
	}
}

void pump_move(struct pump *pump, uint64_t now_ms, const struct pollfd polls[PUMP_POLLS])
{
	if (polls[1].revents & (POLLERR | POLLNVAL)) {
		pump_stop(pump);
		return;
	}
	if (polls[0].revents & POLLNVAL)
		pump_stop(pump);
	else if (polls[0].revents)
		fill(pump, now_ms);
	drain(pump);
}
