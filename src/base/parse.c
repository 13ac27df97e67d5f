#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macros.h"

/* Reads digits at *p and moves it on. */
static int read_digits(const char **p, uint64_t *ret)
{
	const char *s = *p;
	uint64_t value = 0;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++) {
		uint64_t digit = (uint64_t)(*s - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}
	*p = s;
	*ret = value;
	return 0;
}

int parse_uint64(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = read_digits(&text, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* Reads "12" or "12.345" at *p as thousandths and moves it on; more than three decimals are refused
 * rather than rounded. */
static int read_milli(const char **p, uint64_t *ret)
{
	uint64_t whole, milli = 0, weight = 100;
	const char *s = *p;
	int r = read_digits(&s, &whole);

	if (r < 0)
		return r;
	if (whole > UINT64_MAX / 1000 - 1)
		return -ERANGE;
	if (*s == '.') {
		s++;
		if (!isdigit((unsigned char)*s))
			return -EINVAL;
		for (; isdigit((unsigned char)*s); s++, weight /= 10) {
			if (weight == 0)
				return -EINVAL;
			milli += weight * (uint64_t)(*s - '0');
		}
	}
	*p = s;
	*ret = whole * 1000 + milli;
	return 0;
}

int parse_milli(const char *text, uint64_t *ret)
{
	uint64_t value;
	int r = read_milli(&text, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;
	*ret = value;
	return 0;
}

int parse_bytes(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMGT";
	uint64_t whole, milli, bytes;
	unsigned shift = 0;
	const char *s = text, *at;
	int r = read_digits(&s, &whole);

	if (r < 0)
		return r;
	/* A fraction is exact only with a unit; "1.5" bytes is a mistake. */
	if (*s == '.') {
		s = text;
		r = read_milli(&s, &milli);
		if (r < 0)
			return r;
		if (!*s)
			return -EINVAL;
		whole = milli / 1000;
		milli %= 1000;
	} else {
		milli = 0;
	}
	at = *s ? strchr(suffixes, toupper((unsigned char)*s)) : NULL;
	if (at) {
		shift = 10 * (unsigned)(at - suffixes + 1);
		s++;
		if (strcasecmp(s, "iB") == 0)
			s += 2;
		else if (strcasecmp(s, "B") == 0)
			s += 1;
	} else if (milli) {
		return -EINVAL;
	}
	if (*s)
		return -EINVAL;
	if (shift && whole > (UINT64_MAX >> shift))
		return -ERANGE;
	bytes = whole << shift;
	if (milli) {
		uint64_t more = (((uint64_t)1 << shift) / 1000) * milli +
				((((uint64_t)1 << shift) % 1000) * milli) / 1000;

		if (bytes > UINT64_MAX - more)
			return -ERANGE;
		bytes += more;
	}
	*ret = bytes;
	return 0;
}

int parse_duration_ms(const char *text, uint64_t *ret)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {
		{ "", 1 }, { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 },
	};
	uint64_t milli;
	int r = read_milli(&text, &milli);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].unit) != 0)
			continue;
		if (milli > UINT64_MAX / units[i].ms)
			return -ERANGE;
		if ((milli * units[i].ms) % 1000)
			return -EINVAL;
		*ret = milli * units[i].ms / 1000;
		return 0;
	}
	return -EINVAL;
}

int parse_bool(const char *text, bool *ret)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "yes", true }, { "true", true },   { "on", true },   { "1", true },
		{ "no", false }, { "false", false }, { "off", false }, { "0", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasecmp(text, words[i].word) == 0) {
			*ret = words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

const char *format_bytes(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "bytes", "KB", "MB", "GB", "TB" };
	double value = (double)bytes;
	size_t i = 0;

	/* Not 1024: what would be printed as "1024 KB" is 1.0 MB. */
	while (value >= 1023.5 && i + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		i++;
	}
	if (i == 0)
		snprintf(text, size, "%" PRIu64 " %s", bytes, bytes == 1 ? "byte" : "bytes");
	else
		snprintf(text, size, value < 10 ? "%.1f %s" : "%.0f %s", value, units[i]);
	return text;
}
