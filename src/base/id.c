#include "base/id.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

int id_make(char text[ID_SIZE])
{
	/* Crockford's base 32: no i, l, o, u, so an id read aloud or copied by hand stays right. */
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	uint8_t bytes[17] = { 0 }; /* 128 bits, and a zero byte for the last 5-bit group */
	unsigned bits = 0;

	if (getrandom(bytes, 16, 0) != 16)
		return -EIO;
	for (unsigned i = 0; i < ID_LENGTH; i++, bits += 5) {
		unsigned pair = (unsigned)bytes[bits / 8] << 8 | bytes[bits / 8 + 1];

		text[i] = digits[(pair >> (11 - bits % 8)) & 31];
	}
	text[ID_LENGTH] = '\0';
	return 0;
}
