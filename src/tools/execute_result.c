#include "tools/execute_result.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "json/json.h"
#include "protocol/jsonrpc.h"
#include "tools/clip.h"

enum {
	FILES_IN_TEXT_MAX = 20,
	FILES_IN_STRUCTURE_MAX = 100,
	FILE_NAME_SHOWN_MAX = 120,
	BYTES_TEXT_MAX = 32,
};

/* Shares of the limit, in sixteenths: together it is never passed. */
enum { SHARE_STREAMS = 10, SHARE_RESULT = 2, SHARE_OUTPUTS = 3, SHARES = 16 };

/* What goes into an answer, cut and repaired. */
struct pieces {
	struct buf out, err, result, shown;
	bool out_is_whole, err_is_whole;
};

/* ---- what was shown: images, tables ---- */

static bool is_image(const struct run_output *output)
{
	static const struct {
		const char *mime, *magic;
		size_t len;
	} kinds[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8 },
		{ "image/jpeg", "\xff\xd8\xff", 3 },
	};

	/* A model's service refuses a whole conversation for one image that is none. */
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(output->mime, kinds[i].mime))
			return output->len >= kinds[i].len &&
			       !memcmp(output->data, kinds[i].magic, kinds[i].len);
	return false;
}

static bool is_text(const char *mime)
{
	return !strncmp(mime, "text/", 5) || !strcmp(mime, "application/json");
}

/* What a model reads without effort; the other forms of a value only stand in for these. */
static bool is_readable(const char *mime)
{
	return !strcmp(mime, "text/plain") || !strcmp(mime, "text/markdown");
}

static bool has_readable(const struct run_result *result)
{
	if (result->result)
		return true;
	for (size_t i = 0; i < result->n_outputs; i++)
		if (is_readable(result->outputs[i].mime))
			return true;
	return false;
}

/* A name that a program chose: one line, valid, not too long. */
static void append_name(struct buf *text, const char *name)
{
	size_t start = text->len;
	size_t len = strlen(name);
	size_t cut = len > FILE_NAME_SHOWN_MAX ? utf8_cut(name, FILE_NAME_SHOWN_MAX) : len;

	(void)utf8_repair(text, name, cut);
	for (size_t i = start; i < text->len; i++)
		if (text->data[i] < 0x20 || text->data[i] == 0x7f)
			text->data[i] = '?';
	if (cut < len)
		(void)buf_append_string(text, "…");
}

static void end_line(struct buf *text)
{
	if (text->len > 0 && text->data[text->len - 1] != '\n')
		(void)buf_append_string(text, "\n");
}

static bool append_clipped(struct buf *to, const void *data, size_t len, size_t max)
{
	const struct clip_source source = { .head = data, .head_len = len, .total = len };

	return clip_append(to, &source, max);
}

static void append_output(struct buf *text, const struct run_output *output, bool readable,
			  size_t max)
{
	char size[BYTES_TEXT_MAX];

	if (is_text(output->mime) && is_readable(output->mime) == readable) {
		(void)append_clipped(text, output->data, output->len,
				     max > text->len ? max - text->len : 0);
		end_line(text);
	} else if (!is_text(output->mime) && !is_image(output)) {
		(void)buf_append_string(text, "[");
		append_name(text, output->mime);
		(void)buf_printf(text, " of %s, not shown here]\n",
				 format_bytes(output->len, size, sizeof(size)));
	}
}

/* ---- cutting ---- */

static struct clip_source stream_source(const struct run_stream *stream)
{
	return (struct clip_source){
		.head = stream->head,
		.head_len = stream->head_len,
		.tail = stream->tail,
		.tail_len = stream->tail_len,
		.total = stream->total,
	};
}

static void make_streams(struct pieces *pieces, const struct run_result *result, size_t max)
{
	struct clip_source out = stream_source(&result->out);
	struct clip_source err = stream_source(&result->err);
	/* Each gets what the other leaves; a quarter is stderr's in any case. */
	size_t for_err = max - (size_t)MIN(out.total, max - max / 4);

	pieces->err_is_whole = clip_append(&pieces->err, &err, for_err);
	pieces->out_is_whole = clip_append(&pieces->out, &out, max - MIN(pieces->err.len, max));
}

static void make_pieces(struct pieces *pieces, const struct run_result *result, size_t limit)
{
	bool readable = has_readable(result);

	*pieces = (struct pieces){ 0 };
	buf_init(&pieces->out, SIZE_MAX);
	buf_init(&pieces->err, SIZE_MAX);
	buf_init(&pieces->result, SIZE_MAX);
	buf_init(&pieces->shown, SIZE_MAX);
	make_streams(pieces, result, limit / SHARES * SHARE_STREAMS);
	if (result->result)
		(void)append_clipped(&pieces->result, result->result, strlen(result->result),
				     limit / SHARES * SHARE_RESULT);
	for (size_t i = 0; i < result->n_outputs; i++)
		append_output(&pieces->shown, &result->outputs[i], readable,
			      limit / SHARES * SHARE_OUTPUTS);
}

static void pieces_done(struct pieces *pieces)
{
	buf_done(&pieces->out);
	buf_done(&pieces->err);
	buf_done(&pieces->result);
	buf_done(&pieces->shown);
}

/* ---- the text ---- */

static void append_piece(struct buf *text, const char *title, const struct buf *piece)
{
	if (piece->len == 0)
		return;
	end_line(text);
	(void)buf_append_string(text, title);
	(void)buf_append(text, piece->data, piece->len);
	end_line(text);
}

static void append_files(struct buf *text, const struct run_result *result)
{
	size_t n = MIN(result->n_files, (size_t)FILES_IN_TEXT_MAX);
	char size[BYTES_TEXT_MAX];

	if (result->n_files == 0)
		return;
	end_line(text);
	(void)buf_append_string(text, "Files in /workspace (gone after this call): ");
	for (size_t i = 0; i < n; i++) {
		const struct run_file *file = &result->files[i];

		(void)buf_append_string(text, i ? ", " : "");
		append_name(text, file->path);
		(void)buf_printf(text, " (%s, %s)", format_bytes(file->size, size, sizeof(size)),
				 file->change);
	}
	if (result->files_total > n)
		(void)buf_printf(text, ", and %" PRIu64 " more", result->files_total - n);
	(void)buf_append_string(text, "\n");
}

static void append_facts(struct buf *text, const struct run_result *result)
{
	char memory[BYTES_TEXT_MAX];
	const char *signal_name = result->signal ? sigabbrev_np(result->signal) : NULL;

	end_line(text);
	if (result->verdict == VERDICT_EXIT)
		(void)buf_printf(text, "exit %d", result->exit_code);
	else if (result->verdict == VERDICT_SIGNAL)
		(void)buf_printf(text, "signal %d%s%s", result->signal, signal_name ? " SIG" : "",
				 signal_name ? signal_name : "");
	else
		(void)buf_append_string(text, run_verdict_name(result->verdict));
	(void)buf_printf(text, " · %.*f ms · %s · %s · %s", result->usage.wall_us < 10000 ? 1 : 0,
			 (double)result->usage.wall_us / 1000,
			 format_bytes(result->usage.memory_peak_bytes, memory, sizeof(memory)),
			 result->language, isolation_name(result->isolation));
}

/* is_short: for structured content that holds the long parts in fields of their own. */
static void make_text(struct buf *text, const struct run_result *result,
		      const struct pieces *pieces, bool is_short)
{
	if (is_short) {
		(void)buf_append_string(text,
					"(The output is in stdout, stderr, result and outputs.)\n");
	} else {
		append_piece(text, "", &pieces->out);
		append_piece(text, "[stderr]\n", &pieces->err);
		append_piece(text, "", &pieces->shown);
		append_piece(text, "Value of the last expression: ", &pieces->result);
		if (text->len == 0 && result->n_outputs == 0)
			(void)buf_append_string(text, "(no output)\n");
	}
	if (result->reason)
		(void)buf_printf(text, "%s\n", result->reason);
	if (result->note)
		(void)buf_printf(text, "%s\n", result->note);
	append_files(text, result);
	append_facts(text, result);
}

/* ---- blocks ---- */

static json_t *text_block(const struct buf *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text",
			 json_text((const char *)text->data, text->len));
}

static json_t *image_block(const struct run_output *output)
{
	return json_pack("{s:s, s:o, s:s}", "type", "image", "data",
			 json_base64(output->data, output->len), "mimeType", output->mime);
}

/* ---- structured content ---- */

static json_t *buf_json(const struct buf *text)
{
	return json_text(text->data ? (const char *)text->data : "", text->len);
}

static void set_text(json_t *object, const char *name, const char *text)
{
	if (text)
		json_put(object, name, json_text(text, strlen(text)));
}

static json_t *list_outputs(const struct run_result *result, size_t max)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->n_outputs; i++) {
		const struct run_output *output = &result->outputs[i];
		json_t *entry = json_object();

		set_text(entry, "mime", output->mime);
		json_put(entry, "size", json_integer((json_int_t)output->len));
		if (is_text(output->mime)) {
			_cleanup_buf_ struct buf text = { 0 };

			buf_init(&text, SIZE_MAX);
			(void)append_clipped(&text, output->data, output->len, max);
			max -= MIN(text.len, max);
			json_put(entry, "data", buf_json(&text));
		}
		json_add(list, entry);
	}
	return list;
}

static json_t *list_files(const struct run_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->n_files && i < FILES_IN_STRUCTURE_MAX; i++) {
		const struct run_file *file = &result->files[i];
		json_t *entry = json_object();

		set_text(entry, "path", file->path);
		json_put(entry, "size", json_integer((json_int_t)file->size));
		set_text(entry, "change", file->change);
		if (file->sha256[0])
			set_text(entry, "sha256", file->sha256);
		json_add(list, entry);
	}
	return list;
}

static json_t *usage_json(const struct run_usage *usage)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "cpu_ms", json_milli(usage->cpu_us), "wall_ms",
			 json_milli(usage->wall_us), "memory_peak_bytes",
			 (json_int_t)usage->memory_peak_bytes, "processes_peak",
			 (json_int_t)usage->processes_peak);
}

static json_t *structured_content(const struct run_result *result, const struct pieces *pieces,
				  size_t limit)
{
	json_t *object = json_object();
	size_t long_parts = pieces->out.len + pieces->err.len + pieces->result.len +
			    pieces->shown.len;
	_cleanup_buf_ struct buf text = { 0 };

	json_put(object, "stdout", buf_json(&pieces->out));
	json_put(object, "stderr", buf_json(&pieces->err));
	json_put(object, "exitCode", json_integer(result->exit_code));
	json_put(object, "duration", json_milli(result->usage.wall_us));
	set_text(object, "verdict", run_verdict_name(result->verdict));
	if (result->signal)
		json_put(object, "signal", json_integer(result->signal));
	set_text(object, "reason", result->reason);
	set_text(object, "note", result->note);
	json_put(object, "truncated",
		 json_pack("{s:b, s:b}", "stdout", !pieces->out_is_whole, "stderr",
			   !pieces->err_is_whole));
	if (result->result)
		json_put(object, "result", buf_json(&pieces->result));
	json_put(object, "outputs", list_outputs(result, limit / SHARES * SHARE_OUTPUTS));
	json_put(object, "files", list_files(result));
	if (result->files_total > FILES_IN_STRUCTURE_MAX)
		json_put(object, "filesTotal", json_integer((json_int_t)result->files_total));
	json_put(object, "usage", usage_json(&result->usage));
	json_put(object, "isolation",
		 json_pack("{s:s, s:s}", "level", isolation_name(result->isolation), "backend",
			   result->backend));
	set_text(object, "policy", result->policy);
	set_text(object, "pool", result->pool_hit ? "hit" : "miss");
	set_text(object, "language", result->language);
	buf_init(&text, SIZE_MAX);
	make_text(&text, result, pieces, long_parts > limit / 2);
	json_put(object, "text", buf_json(&text));
	return object;
}

void execute_answer_make(struct execute_answer *answer, const struct run_result *result,
			 size_t result_limit)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_(pieces_done) struct pieces pieces;

	buf_init(&text, SIZE_MAX);
	make_pieces(&pieces, result, result_limit);
	make_text(&text, result, &pieces, false);
	*answer = (struct execute_answer){
		.content = json_array(),
		.structured = structured_content(result, &pieces, result_limit),
		.is_error = result->verdict != VERDICT_EXIT || result->exit_code != 0,
	};
	json_add(answer->content, text_block(&text));
	for (size_t i = 0; i < result->n_outputs; i++) {
		if (!is_image(&result->outputs[i]))
			continue;
		json_add(answer->content, image_block(&result->outputs[i]));
		answer->has_media = true;
	}
}

bool client_is_listed(const char *list, const char *client)
{
	static const char separators[] = " ,\t";

	for (const char *word = list; *word;) {
		size_t len;

		word += strspn(word, separators);
		len = strcspn(word, separators);
		if (len > 0 && !strncasecmp(client, word, len) &&
		    !isalnum((unsigned char)client[len]))
			return true;
		word += len;
	}
	return false;
}
