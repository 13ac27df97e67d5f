#include "tools/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	const char *at = c ? memchr(letters, c, sizeof(letters) - 1) : NULL;

	return at ? (int)(at - letters) : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A decoder in the middle of a text: letters so far in this group of four, and padding. */
struct group {
	uint32_t bits;
	unsigned n, padding;
	bool ended;
};

/* Returns the number of bytes that this letter completed (0 or 1 to 3), or -EINVAL. */
static int take_letter(struct group *group, char c)
{
	int value = value_of(c);

	if (group->ended || (c == '=' && group->n < 2) ||
	    (c != '=' && (value < 0 || group->padding)))
		return -EINVAL;
	group->padding += c == '=';
	group->bits = group->bits << 6 | (c == '=' ? 0 : (uint32_t)value);
	if (++group->n < 4)
		return 0;
	/* Bits that no byte takes must be zero, or two texts would say the same. */
	if ((group->padding == 1 && (group->bits & 0xff)) ||
	    (group->padding == 2 && (group->bits & 0xffff)))
		return -EINVAL;
	return 3 - (int)group->padding;
}

int base64_decode(const char *text, size_t len, void **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *data = xmalloc(len / 4 * 3 + 3);
	struct group group = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int r;

		if (is_blank(text[i]))
			continue;
		r = take_letter(&group, text[i]);
		if (r < 0)
			return r;
		for (int k = 0; k < r; k++)
			data[n++] = (uint8_t)(group.bits >> (16 - 8 * k));
		if (group.n == 4)
			group = (struct group){ .ended = group.padding > 0 };
	}
	if (group.n != 0)
		return -EINVAL;
	*ret = TAKE_PTR(data);
	*ret_len = n;
	return 0;
}
