#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { BUF_FIRST_SIZE = 256 };

/* "No limit" must not overflow when sizes are doubled. */
#define BUF_LARGEST (SIZE_MAX / 4)

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = MIN(max, BUF_LARGEST) };
}

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

/* One byte more than asked for is always allocated, for the NUL of buf_string(). */
static void grow(struct buf *b, size_t need)
{
	size_t size = b->size ? b->size : BUF_FIRST_SIZE;

	if (need + 1 <= b->size)
		return;
	while (size < need + 1)
		size *= 2;
	if (size > b->max + 1)
		size = b->max + 1;
	b->data = xrealloc(b->data, size);
	b->size = size;
}

uint8_t *buf_reserve(struct buf *b, size_t len)
{
	if (len > buf_room(b))
		return NULL;
	grow(b, b->len + len);
	return b->data + b->len;
}

void buf_commit(struct buf *b, size_t len)
{
	b->len += len;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	uint8_t *to = buf_reserve(b, len);

	if (!to)
		return -ENOBUFS;
	if (len)
		memcpy(to, data, len);
	b->len += len;
	return 0;
}

int buf_append_string(struct buf *b, const char *s)
{
	return buf_append(b, s, strlen(s));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return buf_append(b, text, (size_t)n);
}

void buf_consume(struct buf *b, size_t len)
{
	if (len >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
}

const char *buf_string(struct buf *b)
{
	grow(b, b->len);
	b->data[b->len] = '\0';
	return (const char *)b->data;
}
