/* UTF-8 as strangers write it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Length of the valid sequence at p (1 to 4), 0 when there is none: overlong forms, surrogates and
 * values past U+10FFFF are not valid. */
size_t utf8_sequence(const char *p, size_t len);
bool utf8_is_valid(const char *p, size_t len);

/* Appends the text with every byte that is not part of a valid sequence replaced by U+FFFD. */
int utf8_repair(struct buf *out, const char *p, size_t len);

/* The largest n <= len at which the text can be cut without splitting a sequence. */
size_t utf8_cut(const char *p, size_t len);
