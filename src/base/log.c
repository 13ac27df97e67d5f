#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

/* A line longer than this is cut: a log line is never as long as what a stranger sent. */
enum { LOG_LINE_MAX = 4096 };

static const char *const level_names[_LOG_LEVEL_COUNT] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

static enum log_level current = LOG_WARN;
static const char *program = "hotcell";

bool log_set_level(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			current = (enum log_level)i;
			return true;
		}
	}
	return false;
}

enum log_level log_level(void)
{
	return current;
}

void log_set_program(const char *name)
{
	program = name;
}

static void append_value(struct buf *b, const char *value)
{
	(void)buf_append(b, "\"", 1);
	for (const unsigned char *p = (const unsigned char *)value; *p; p++) {
		if (*p == '"' || *p == '\\')
			(void)buf_printf(b, "\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			(void)buf_printf(b, "\\x%02x", *p);
		else
			(void)buf_append(b, p, 1);
	}
	(void)buf_append(b, "\"", 1);
}

void log_event(enum log_level level, const char *event, ...)
{
	_cleanup_buf_ struct buf line;
	struct timespec ts = { 0 };
	struct tm tm;
	char stamp[32];
	const char *key;
	va_list args;

	buf_init(&line, LOG_LINE_MAX);
	if (level > current)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gmtime_r(&ts.tv_sec, &tm);
	(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)buf_printf(&line, "%s.%03ldZ %s %s %s", stamp, ts.tv_nsec / 1000000,
			 level_names[level], program, event);
	va_start(args, event);
	while ((key = va_arg(args, const char *))) {
		const char *value = va_arg(args, const char *);

		if (!value)
			continue;
		(void)buf_printf(&line, " %s=", key);
		append_value(&line, value);
	}
	va_end(args);
	if (buf_append(&line, "\n", 1) < 0)
		line.data[line.len - 1] = '\n';
	/* One write a line, so that the lines of several programs do not mix. */
	if (write(STDERR_FILENO, line.data, line.len) < 0) {
		/* A log that cannot be written is not worth a failure. */
	}
}
