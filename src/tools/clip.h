/*
 * Text that fits: the beginning and the end of what a program wrote, as UTF-8, with a note of how much is
 * missing between them. What is not UTF-8 is replaced by U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* A text in two pieces; `total` is more than their sum when bytes between them are gone already. */
struct clip_source {
	const char *head;
	size_t head_len;
	const char *tail;
	size_t tail_len;
	uint64_t total;
};

/* Appends at most about max bytes (the note comes on top). True when all of it is there. */
bool clip_append(struct buf *to, const struct clip_source *source, size_t max);
