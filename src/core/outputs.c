#include "core/outputs.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

enum { RECORD_RESULT = 1, RECORD_DISPLAY = 2, RECORD_HEADER = 3 * sizeof(uint32_t) };

void outputs_init(struct outputs *outputs)
{
	*outputs = (struct outputs){ 0 };
	buf_init(&outputs->raw, OUTPUTS_BYTES_MAX);
}

void outputs_done(struct outputs *outputs)
{
	buf_done(&outputs->raw);
	free(outputs->result);
	outputs->result = NULL;
	outputs->n = 0;
}

void outputs_add(struct outputs *outputs, const void *data, size_t len)
{
	size_t fits = outputs->ignored ? 0 : MIN(len, buf_room(&outputs->raw));

	(void)buf_append(&outputs->raw, data, fits);
	outputs->ignored += len - fits;
}

static uint32_t read_u32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return le32toh(value);
}

/* "type/subtype" with optional parameters: printable, and nothing that could end a header line. */
static bool mime_is_valid(const uint8_t *mime, size_t len)
{
	if (len == 0 || len > OUTPUTS_MIME_MAX || !memchr(mime, '/', len))
		return false;
	for (size_t i = 0; i < len; i++)
		if (mime[i] < ' ' || mime[i] > '~')
			return false;
	return true;
}

static bool add_display(struct outputs *outputs, const uint8_t *mime, size_t mime_len,
			const uint8_t *data, size_t len)
{
	char *name;

	if (outputs->n >= OUTPUTS_RECORDS_MAX || !mime_is_valid(mime, mime_len))
		return false;
	name = outputs->mimes[outputs->n];
	memcpy(name, mime, mime_len);
	name[mime_len] = '\0';
	outputs->list[outputs->n++] = (struct run_output){ .mime = name, .data = data, .len = len };
	return true;
}

void outputs_parse(struct outputs *outputs)
{
	const uint8_t *p = outputs->raw.data;
	size_t left = outputs->raw.len;

	while (left >= RECORD_HEADER) {
		uint32_t kind = read_u32(p);
		size_t mime_len = read_u32(p + sizeof(uint32_t));
		size_t len = read_u32(p + 2 * sizeof(uint32_t));
		const uint8_t *mime = p + RECORD_HEADER;

		left -= RECORD_HEADER;
		if (mime_len > OUTPUTS_MIME_MAX || mime_len > left || len > left - mime_len)
			return;
		if (kind == RECORD_RESULT) {
			free(outputs->result);
			outputs->result = xstrndup((const char *)mime + mime_len, len);
		} else if (kind != RECORD_DISPLAY ||
			   !add_display(outputs, mime, mime_len, mime + mime_len, len)) {
			return;
		}
		p = mime + mime_len + len;
		left -= mime_len + len;
	}
}
