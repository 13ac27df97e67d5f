#include "command/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "wire/verdict.h"

enum {
	STATUS_TIMEOUT = 124,
	STATUS_CANCELLED = 130, /* as after Ctrl-C */
	STATUS_MEMORY = 137,
	STATUS_OUTPUT = 153, /* 128 + SIGXFSZ */
	SUMMARY_FILES_MAX = 20,
	NAME_SHOWN_MAX = 200,
};

int report_status(const struct order_result *result)
{
	bool is_status = result->exit_code > 0 && result->exit_code <= 255;

	switch (result->verdict) {
	case VERDICT_EXIT:
		return result->exit_code & 0xff;
	case VERDICT_TIMEOUT:
		return STATUS_TIMEOUT;
	case VERDICT_MEMORY:
		return STATUS_MEMORY;
	case VERDICT_OUTPUT:
		return is_status ? result->exit_code : STATUS_OUTPUT;
	case VERDICT_CANCELLED:
		return STATUS_CANCELLED;
	default:
		return is_status ? result->exit_code : 1;
	}
}

void report_sentence(const struct order_result *result, char *text, size_t size)
{
	int signal = result->exit_code - 128;
	const char *name = signal > 0 && signal < 65 ? sigdescr_np(signal) : NULL;
	char limit[32];

	(void)format_bytes(result->limit, limit, sizeof(limit));
	text[0] = '\0';
	switch (result->verdict) {
	case VERDICT_SIGNAL:
		snprintf(text, size, "the program was ended by signal %d%s%s%s", signal,
			 name ? " (" : "", name ? name : "", name ? ")" : "");
		break;
	case VERDICT_TIMEOUT:
		snprintf(text, size, "the program was stopped after %" PRIu64 " ms (--timeout)",
			 result->limit);
		break;
	case VERDICT_MEMORY:
		snprintf(text, size,
			 "the program was stopped: it needed more than %s of memory (--memory)",
			 limit);
		break;
	case VERDICT_OUTPUT:
		snprintf(text, size, "the program was stopped: it printed more than %s", limit);
		break;
	case VERDICT_BLOCKED:
		snprintf(text, size, "the program was stopped: it did what its policy forbids");
		break;
	default:
		break;
	}
}

int report_json(const char *json, size_t len)
{
	json_t *value = isatty(STDOUT_FILENO) ? json_loadb(json, len, 0, NULL) : NULL;
	char *pretty = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
	int r;

	while (len > 0 && json[len - 1] == '\n')
		len--;
	r = pretty ? fd_write_all(STDOUT_FILENO, pretty, strlen(pretty))
		   : fd_write_all(STDOUT_FILENO, json, len);
	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, "\n", 1);
	free(pretty);
	json_decref(value);
	return r;
}

/* A stranger's name for a terminal: no control characters, not too long. */
static void print_name(const char *name)
{
	size_t len = utf8_cut(name, MIN(strlen(name), (size_t)NAME_SHOWN_MAX));

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		/* U+0080 to U+009F are control characters too: C2 80 to C2 9F. */
		bool is_c1 = c == 0xc2 && i + 1 < len && (unsigned char)name[i + 1] < 0xa0;

		if (c < 0x20 || c == 0x7f || is_c1) {
			fputc('?', stderr);
			i += is_c1;
		} else {
			fputc(c, stderr);
		}
	}
}

static uint64_t number_of(const json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static void print_usage(const json_t *usage)
{
	char memory[32];

	(void)format_bytes(number_of(usage, "memory_peak_bytes"), memory, sizeof(memory));
	fprintf(stderr, "  time       %.1f ms, CPU %.1f ms\n",
		json_number_value(json_object_get(usage, "wall_ms")),
		json_number_value(json_object_get(usage, "cpu_ms")));
	fprintf(stderr, "  memory     %s at most\n", memory);
	fprintf(stderr, "  processes  %" PRIu64 " at most\n", number_of(usage, "processes_peak"));
}

static void print_isolation(const json_t *result)
{
	const json_t *isolation = json_object_get(result, "isolation");

	if (json_is_object(isolation))
		fprintf(stderr, "  isolation  %s (%s), policy %s\n", text_of(isolation, "level"),
			text_of(isolation, "backend"), text_of(result, "policy"));
	else
		fprintf(stderr, "  isolation  %s (%s), policy %s\n", text_of(result, "isolation"),
			text_of(result, "backend"), text_of(result, "policy"));
}

static void print_files(const json_t *files)
{
	size_t n = json_array_size(files);

	for (size_t i = 0; i < n && i < SUMMARY_FILES_MAX; i++) {
		const json_t *file = json_array_get(files, i);
		char size[32];

		(void)format_bytes(number_of(file, "size"), size, sizeof(size));
		fputs(i == 0 ? "  files      " : "             ", stderr);
		print_name(text_of(file, "path"));
		fprintf(stderr, " (%s, %s)\n", size, text_of(file, "change"));
	}
	if (n > SUMMARY_FILES_MAX)
		fprintf(stderr, "             and %zu more\n", n - SUMMARY_FILES_MAX);
}

bool report_note(const char *json, size_t len)
{
	json_t *value = json_loadb(json, len, 0, NULL);
	const char *note = json_string_value(json_object_get(value, "note"));

	if (note)
		fprintf(stderr, "hotcell: %s\n", note);
	json_decref(value);
	return note != NULL;
}

void report_summary(const struct order_result *result, const char *json, size_t len)
{
	json_t *value = json_loadb(json, len, 0, NULL);

	fprintf(stderr, "hotcell: %s, exit status %d\n", run_verdict_name(result->verdict),
		report_status(result));
	if (value) {
		print_usage(json_object_get(value, "usage"));
		print_isolation(value);
		print_files(json_object_get(value, "files"));
	}
	json_decref(value);
}
