/*
 * A growable byte buffer that is born with its maximum.
 *
 * The owner calls buf_done(). An append that would pass the maximum changes nothing and returns
 * -ENOBUFS: the caller decides whether that is an error, a truncation or the end of the peer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct buf {
	uint8_t *data;
	size_t len;
	size_t size; /* allocated */
	size_t max;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);
#define _cleanup_buf_ _cleanup_(buf_done)

int buf_append(struct buf *b, const void *data, size_t len);
int buf_append_string(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);

/* Makes room for at least len more bytes and returns where they go; NULL when that would pass the
 * maximum. buf_commit() then says how many were written. */
uint8_t *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);

/* Drops len bytes from the front. */
void buf_consume(struct buf *b, size_t len);
void buf_clear(struct buf *b);

/* The content as a C string; the terminating NUL is not part of len. Never NULL. */
const char *buf_string(struct buf *b);
static inline size_t buf_room(const struct buf *b)
{
	return b->max - b->len;
}
