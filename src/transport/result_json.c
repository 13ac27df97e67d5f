#include "transport/result_json.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "core/run.h"
#include "json/json.h"

enum { CUT_NOTE_MAX = 64 };

/* Bytes at the start of a tail that belong to a character cut in two. */
static size_t split_bytes(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static json_t *stream_json(const struct run_stream *stream)
{
	_cleanup_buf_ struct buf text = { 0 };
	size_t head = stream->head_len, skip = 0;

	if (stream->tail_len == 0)
		return json_text(stream->head, head);
	buf_init(&text, stream->head_len + stream->tail_len + CUT_NOTE_MAX);
	if (stream->truncated) {
		head = utf8_cut(stream->head, head);
		skip = split_bytes(stream->tail, stream->tail_len);
	}
	(void)buf_append(&text, stream->head, head);
	if (stream->truncated)
		(void)buf_printf(&text, "\n… %" PRIu64 " bytes left out …\n",
				 stream->total - head - (stream->tail_len - skip));
	(void)buf_append(&text, stream->tail + skip, stream->tail_len - skip);
	return json_text(buf_string(&text), text.len);
}

static json_t *output_json(const struct run_output *output)
{
	json_t *object = json_object();
	bool is_text = !strncmp(output->mime, "text/", 5) || strstr(output->mime, "json") ||
		       strstr(output->mime, "xml");

	json_put(object, "mime", json_string(output->mime));
	if (is_text) {
		json_put(object, "data", json_text(output->data, output->len));
	} else {
		json_put(object, "encoding", json_string("base64"));
		json_put(object, "data", json_base64(output->data, output->len));
	}
	return object;
}

static json_t *file_json(const struct run_file *file)
{
	json_t *object = json_object();

	json_put(object, "path", json_text(file->path, strlen(file->path)));
	json_put(object, "size", json_integer((json_int_t)file->size));
	json_put(object, "change", json_string(file->change));
	if (file->sha256[0])
		json_put(object, "sha256", json_string(file->sha256));
	return object;
}

static json_t *usage_json(const struct run_usage *usage)
{
	json_t *object = json_object();

	json_put(object, "cpu_ms", json_milli(usage->cpu_us));
	json_put(object, "wall_ms", json_milli(usage->wall_us));
	json_put(object, "memory_peak_bytes", json_integer((json_int_t)usage->memory_peak_bytes));
	json_put(object, "processes_peak", json_integer((json_int_t)usage->processes_peak));
	return object;
}

static json_t *outputs_json(const struct run_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->n_outputs; i++)
		json_add(array, output_json(&result->outputs[i]));
	return array;
}

static json_t *files_json(const struct run_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->n_files; i++)
		json_add(array, file_json(&result->files[i]));
	return array;
}

static json_t *truncated_json(const struct run_result *result)
{
	json_t *object = json_object();

	json_put(object, "stdout", json_boolean(result->out.truncated));
	json_put(object, "stderr", json_boolean(result->err.truncated));
	return object;
}

static json_t *isolation_json(const struct run_result *result)
{
	json_t *object = json_object();

	json_put(object, "level", json_string(isolation_name(result->isolation)));
	json_put(object, "backend", json_string(result->backend));
	return object;
}

static void put_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_put(object, key, json_text(text, strlen(text)));
}

char *result_json(const struct run_result *result, size_t *ret_len)
{
	json_t *object = json_object();
	char *text;

	json_put(object, "stdout", stream_json(&result->out));
	json_put(object, "stderr", stream_json(&result->err));
	json_put(object, "exitCode", json_integer(result->exit_code));
	json_put(object, "duration", json_milli(result->usage.wall_us));
	json_put(object, "verdict", json_string(run_verdict_name(result->verdict)));
	if (result->signal)
		json_put(object, "signal", json_integer(result->signal));
	put_text(object, "reason", result->reason);
	put_text(object, "note", result->note);
	json_put(object, "truncated", truncated_json(result));
	put_text(object, "result", result->result);
	json_put(object, "outputs", outputs_json(result));
	json_put(object, "files", files_json(result));
	if (result->files_total > result->n_files)
		json_put(object, "filesTotal", json_integer((json_int_t)result->files_total));
	json_put(object, "usage", usage_json(&result->usage));
	json_put(object, "isolation", isolation_json(result));
	json_put(object, "policy", json_string(result->policy));
	json_put(object, "pool", json_string(result->pool_hit ? "hit" : "miss"));
	json_put(object, "language", json_string(result->language));
	text = json_to_text(object, ret_len);
	json_decref(object);
	return text;
}
