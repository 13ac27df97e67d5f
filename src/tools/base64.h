/* Base64 (RFC 4648, with padding): how a client sends bytes that are not text. json_base64() encodes. */
#pragma once

#include <stddef.h>

/* Strict, but for blanks and line ends, which people's tools put in. The bytes are the caller's to
 * free. 0, or -EINVAL. */
int base64_decode(const char *text, size_t len, void **ret, size_t *ret_len);
