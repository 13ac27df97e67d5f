#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

enum {
	REPLACEMENT_BYTES = 3, /* U+FFFD for each bad byte */
	REAL_DIGITS = 15,      /* enough for thousandths, few enough to print 0.1 as 0.1 */
};

static _Noreturn void out_of_memory(void)
{
	fputs("out of memory\n", stderr);
	abort();
}

static json_t *must(json_t *value)
{
	if (!value)
		out_of_memory();
	return value;
}

json_t *json_text(const char *text, size_t len)
{
	_cleanup_buf_ struct buf repaired = { 0 };

	if (utf8_is_valid(text, len))
		return must(json_stringn_nocheck(text, len));
	buf_init(&repaired, len * REPLACEMENT_BYTES);
	(void)utf8_repair(&repaired, text, len);
	return must(json_stringn_nocheck(buf_string(&repaired), repaired.len));
}

json_t *json_base64(const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	_cleanup_free_ char *text = xmalloc((len + 2) / 3 * 4 + 1);
	char *to = text;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned a = p[i], b = left > 1 ? p[i + 1] : 0, c = left > 2 ? p[i + 2] : 0;

		*to++ = digits[a >> 2];
		*to++ = digits[(a & 3) << 4 | b >> 4];
		*to++ = left > 1 ? digits[(b & 15) << 2 | c >> 6] : '=';
		*to++ = left > 2 ? digits[c & 63] : '=';
	}
	return must(json_stringn_nocheck(text, (size_t)(to - text)));
}

json_t *json_milli(uint64_t thousandths)
{
	if (thousandths % 1000 == 0)
		return must(json_integer((json_int_t)(thousandths / 1000)));
	return must(json_real((double)thousandths / 1000.0));
}

void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new_nocheck(object, key, must(value)) < 0)
		out_of_memory();
}

void json_add(json_t *array, json_t *value)
{
	if (json_array_append_new(array, must(value)) < 0)
		out_of_memory();
}

char *json_to_text(const json_t *value, size_t *ret_len)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));

	if (!text)
		out_of_memory();
	*ret_len = strlen(text);
	return text;
}
