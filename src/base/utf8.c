#include "base/utf8.h"

#include "base/buf.h"

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

size_t utf8_sequence(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		need = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		need = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		need = 4;
	else
		return 0;
	if (len < need)
		return 0;
	/* The second byte's range keeps out overlong forms, surrogates and > U+10FFFF. */
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++) {
		if (!is_tail(p[i]))
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
