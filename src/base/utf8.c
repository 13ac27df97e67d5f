#include "base/utf8.h"

#include "base/buf.h"

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* How many bytes a sequence has that begins with c, and the range of its second byte: the range keeps
 * out overlong forms, surrogates and what is past U+10FFFF. */
static size_t sequence_length(unsigned char c, unsigned char *low, unsigned char *high)
{
	static const struct {
		unsigned char first, last, low, high;
		size_t length;
	} leads[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(leads); i++) {
		if (c >= leads[i].first && c <= leads[i].last) {
			*low = leads[i].low;
			*high = leads[i].high;
			return leads[i].length;
		}
	}
	return 0;
}

size_t utf8_sequence(const char *p, size_t len)
{
	const unsigned char *u = (const unsigned char *)p;
	unsigned char low, high;
	size_t need;

	if (len == 0)
		return 0;
	if (u[0] < 0x80)
		return 1;
	need = sequence_length(u[0], &low, &high);
	if (need == 0 || len < need || u[1] < low || u[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++) {
		if (!is_tail(u[i]))
			return 0;
	}
	return need;
}

bool utf8_is_valid(const char *p, size_t len)
{
	while (len > 0) {
		size_t n = utf8_sequence(p, len);

		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

int utf8_repair(struct buf *out, const char *p, size_t len)
{
	while (len > 0) {
		size_t good = 0, n;
		int r;

		while (good < len && (n = utf8_sequence(p + good, len - good)) > 0)
			good += n;
		r = buf_append(out, p, good);
		if (r < 0)
			return r;
		p += good;
		len -= good;
		if (len == 0)
			break;
		r = buf_append(out, "\xef\xbf\xbd", 3);
		if (r < 0)
			return r;
		p++;
		len--;
	}
	return 0;
}

size_t utf8_cut(const char *p, size_t len)
{
	size_t back = 0;

	while (back < 3 && back < len && is_tail((unsigned char)p[len - 1 - back]))
		back++;
	if (back == len || back == 3 || utf8_sequence(p + len - 1 - back, back + 1) > 0)
		return len;
	/* Only an unfinished start is cut off; bytes that are wrong anyway stay for the repair. */
	return (unsigned char)p[len - 1 - back] >= 0xc2 ? len - 1 - back : len;
}
