#include "tools/execute_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "core/run.h"
#include "json/json.h"

enum { BYTES_TEXT_MAX = 32 };

/* "python (also py, python3), bash (also sh)" */
static void append_languages(struct buf *to, const struct execute_config *config)
{
	for (size_t i = 0; i < config->n_languages; i++) {
		const struct execute_language *language = &config->languages[i];

		(void)buf_printf(to, "%s%s", i ? ", " : "", language->name);
		for (size_t k = 0; language->aliases && language->aliases[k]; k++)
			(void)buf_printf(to, "%s%s", k ? ", " : " (also ", language->aliases[k]);
		if (language->aliases && language->aliases[0])
			(void)buf_append_string(to, ")");
	}
}

char *execute_description(const struct execute_config *config)
{
	_cleanup_buf_ struct buf text = { 0 };
	char memory[BYTES_TEXT_MAX];

	buf_init(&text, (size_t)64 << 10);
	(void)buf_append_string(
		&text,
		"Run a program in a fresh, isolated sandbox and get back what it prints. Use it to compute, "
		"parse or analyse data, draw plots, or check that code really works, instead of predicting "
		"its output.\n\n"
		"Example: {\"language\": \"python\", \"code\": \"import math\\nprint(math.factorial(30))\"}\n\n"
		"Returns stdout, stderr and the exit code. In Python the value of the last expression is "
		"returned too, and matplotlib figures and PIL images come back as images without saving them.\n\n"
		"Languages: ");
	append_languages(&text, config);
	(void)buf_printf(
		&text,
		".\n\nLimits: every call starts fresh, so send the complete program; nothing is kept between "
		"calls. The working directory /workspace is writable; files written there are listed in the "
		"result and then deleted, so print what you need. Put input in `files` or `stdin`. No network. "
		"%s of memory and %" PRIu64
		" seconds unless `limits` and `timeout` ask for more; an answer "
		"shows the beginning and the end of long output.",
		format_bytes(config->memory_bytes, memory, sizeof(memory)),
		config->timeout_ms / 1000);
	return xstrdup(buf_string(&text));
}

static json_t *language_schema(const struct execute_config *config)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *names = json_array();

	buf_init(&text, (size_t)64 << 10);
	(void)buf_append_string(&text, "Language of the program: ");
	append_languages(&text, config);
	(void)buf_append_string(&text, ".");
	for (size_t i = 0; i < config->n_languages; i++)
		json_add(names, json_string(config->languages[i].name));
	return json_pack("{s:s, s:o, s:s}", "type", "string", "enum", names, "description",
			 buf_string(&text));
}

/* A text like "256M". A plain number is taken as well (execute_request.c), but several clients refuse
 * a tool with a parameter of two types. */
static json_t *bytes_schema(const char *description)
{
	return json_pack("{s:s, s:s}", "type", "string", "description", description);
}

static json_t *limits_schema(void)
{
	json_t *properties = json_object();

	json_put(properties, "memory", bytes_schema("Memory, like \"256M\" or \"1G\"."));
	json_put(properties, "cpus",
		 json_pack("{s:s, s:f, s:i, s:s}", "type", "number", "minimum", 0.01, "maximum",
			   1024, "description", "CPUs' worth of time."));
	json_put(properties, "processes",
		 json_pack("{s:s, s:i, s:i, s:s}", "type", "integer", "minimum", 1, "maximum",
			   32768, "description", "Processes and threads at once."));
	json_put(properties, "disk",
		 bytes_schema("Space in /workspace, like \"64M\"; at most half of the memory."));
	json_put(properties, "output",
		 bytes_schema("Output after which the program is ended, like \"8M\"."));
	return json_pack("{s:s, s:s, s:o, s:b}", "type", "object", "description",
			 "Limits that differ from the policy's.", "properties", properties,
			 "additionalProperties", 0);
}

static json_t *files_schema(void)
{
	json_t *item = json_pack(
		"{s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s, s:[s, s], s:s}, s:{s:s, s:s}}, s:[s, s], s:b}",
		"type", "object", "properties", "path", "type", "string", "description",
		"Relative to /workspace; folders are made.", "content", "type", "string",
		"description", "The text, or base64 with encoding base64.", "encoding", "type",
		"string", "enum", "utf8", "base64", "default", "utf8", "executable", "type",
		"boolean", "description", "Whether it may be executed.", "required", "path",
		"content", "additionalProperties", 0);

	return json_pack("{s:s, s:s, s:i, s:o}", "type", "array", "description",
			 "Files put into /workspace before the program starts.", "maxItems", 256,
			 "items", item);
}

char *execute_schema(const struct execute_config *config)
{
	json_t *properties = json_object();
	json_t *schema;
	char *text;

	json_put(properties, "language", language_schema(config));
	json_put(properties, "code",
		 json_pack("{s:s, s:s}", "type", "string", "description", "The complete program."));
	json_put(properties, "timeout",
		 json_pack("{s:s, s:i, s:I, s:I, s:s}", "type", "integer", "minimum", 1, "maximum",
			   (json_int_t)config->timeout_max_ms, "default",
			   (json_int_t)config->timeout_ms, "description",
			   "Milliseconds after which the program is stopped."));
	json_put(properties, "stdin",
		 json_pack("{s:s, s:s}", "type", "string", "description",
			   "What the program reads from its standard input."));
	json_put(properties, "args",
		 json_pack("{s:s, s:{s:s}, s:i, s:s}", "type", "array", "items", "type", "string",
			   "maxItems", 256, "description", "Arguments of the program."));
	json_put(properties, "env",
		 json_pack("{s:s, s:{s:s}, s:s}", "type", "object", "additionalProperties", "type",
			   "string", "description", "Environment variables, by name."));
	json_put(properties, "files", files_schema());
	json_put(properties, "limits", limits_schema());
	json_put(properties, "policy",
		 json_pack("{s:s, s:[s, s, s], s:s}", "type", "string", "enum", "strict",
			   "standard", "permissive", "description",
			   "Set of limits; standard unless the server is configured otherwise."));
	schema = json_pack("{s:s, s:o, s:[s, s], s:b}", "type", "object", "properties", properties,
			   "required", "language", "code", "additionalProperties", 0);
	text = json_dumps(schema, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(schema);
	return text;
}
