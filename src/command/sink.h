/*
 * stdout or stderr as a place that may be slow: what it does not take at once waits, and nobody
 * blocks. Its flags are not changed, because others share it.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/order_messages.h"

struct sink {
	int fd;
	size_t step; /* so much never blocks once poll says POLLOUT */
	int errnum;  /* not 0: it takes no more, and why */
	size_t at, len;
	uint8_t bytes[ORDER_OUTPUT_MAX];
};

void sink_init(struct sink *sink, int fd);

/* True while bytes wait; sink_put() may then not be called. */
bool sink_is_full(const struct sink *sink);

/* Takes a copy of len bytes (at most ORDER_OUTPUT_MAX) and writes what it can. */
void sink_put(struct sink *sink, const void *data, size_t len);

/* Writes on as far as it goes without blocking. */
void sink_flush(struct sink *sink);
