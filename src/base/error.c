#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *err, enum error_code code, int errnum, const char *fmt, ...)
{
	va_list args;
	size_t used;

	if (!err)
		return false;
	err->code = code;
	err->errnum = errnum;
	va_start(args, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, args);
	va_end(args);
	used = strlen(err->message);
	if (errnum)
		snprintf(err->message + used, sizeof(err->message) - used, ": %s",
			 strerror(errnum));
	return false;
}

bool error_prefix(struct error *err, const char *fmt, ...)
{
	char rest[sizeof(err->message)];
	va_list args;
	size_t used;

	if (!err)
		return false;
	memcpy(rest, err->message, sizeof(rest));
	va_start(args, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, args);
	va_end(args);
	used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", rest);
	return false;
}

const char *error_code_name(enum error_code code)
{
	static const char *const names[_ERR_COUNT] = {
		[ERR_NONE] = "none",           [ERR_INPUT] = "input",
		[ERR_NOT_FOUND] = "not_found", [ERR_LIMIT] = "limit",
		[ERR_BUSY] = "busy",           [ERR_UNAVAILABLE] = "sandbox_unavailable",
		[ERR_SYSTEM] = "system",
	};

	return code < _ERR_COUNT ? names[code] : "unknown";
}
