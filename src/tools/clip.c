#include "tools/clip.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/utf8.h"

enum { REPLACEMENT_BYTES = 3 };

/* The step over one character, or over one byte that is none; *ret_out is what it takes in the result. */
static size_t step(const char *p, size_t len, size_t *ret_out)
{
	size_t n = utf8_sequence(p, len);

	*ret_out = n ? n : REPLACEMENT_BYTES;
	return n ? n : 1;
}

static size_t repaired_size(const char *p, size_t len)
{
	size_t size = 0, out;

	for (size_t i = 0; i < len; size += out)
		i += step(p + i, len - i, &out);
	return size;
}

/* How many bytes from the start fit into max. */
static size_t prefix(const char *p, size_t len, size_t max)
{
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		size_t out, n = step(p + i, len - i, &out);

		if (used + out > max)
			return i;
		used += out;
		i += n;
	}
	return len;
}

/* How many bytes from the end fit into max. */
static size_t suffix(const char *p, size_t len, size_t max)
{
	/* Nothing takes less in the result than here, so what comes before this cannot fit. */
	size_t at = len > max ? len - max : 0;
	size_t left, out;

	/* Not in the middle of a character. */
	for (unsigned i = 0; i < 3 && at > 0 && at < len && ((unsigned char)p[at] & 0xc0) == 0x80;
	     i++)
		at++;
	left = repaired_size(p + at, len - at);
	while (left > max) {
		at += step(p + at, len - at, &out);
		left -= out;
	}
	return len - at;
}

/* The two pieces are neighbours: they are looked at as one, or a character on the seam would be lost. */
static bool append_joined(struct buf *to, const struct clip_source *source, size_t max)
{
	_cleanup_buf_ struct buf both = { 0 };
	struct clip_source one = { 0 };

	buf_init(&both, source->head_len + source->tail_len);
	(void)buf_append(&both, source->head, source->head_len);
	(void)buf_append(&both, source->tail, source->tail_len);
	one.head = (const char *)both.data;
	one.head_len = one.total = both.len;
	return clip_append(to, &one, max);
}

bool clip_append(struct buf *to, const struct clip_source *source, size_t max)
{
	bool has_tail = source->tail_len > 0;
	const char *end = has_tail ? source->tail : source->head;
	size_t end_len = has_tail ? source->tail_len : source->head_len;
	bool is_whole = source->total <= (uint64_t)source->head_len + source->tail_len;
	size_t first, last;

	if (is_whole && has_tail)
		return append_joined(to, source, max);
	if (is_whole && repaired_size(source->head, source->head_len) <= max) {
		(void)utf8_repair(to, source->head, source->head_len);
		return true;
	}
	first = prefix(source->head, source->head_len, max / 2);
	last = suffix(end, end_len, max - max / 2);
	if (!has_tail)
		last = MIN(last, source->head_len - first);
	(void)utf8_repair(to, source->head, first);
	(void)buf_printf(to, "\n[... %" PRIu64 " bytes left out ...]\n",
			 source->total - first - last);
	(void)utf8_repair(to, end + end_len - last, last);
	return false;
}
