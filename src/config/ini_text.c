#include "config/ini_text.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"

static const char blanks[] = " \t";

/* The state of one reading. inih asks us for a line, then tells us what is in it; since one call gives
 * exactly one line, we know its number. */
struct reading {
	const char *at, *end;
	unsigned line;
	const struct ini_reader *reader;
	struct error *err;
	bool failed;
};

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

bool ini_value_check(const char *value, struct error *err)
{
	size_t len = strlen(value);

	if (len > INI_VALUE_MAX)
		return error_set(err, ERR_INPUT, 0, "the value is longer than %d bytes",
				 INI_VALUE_MAX);
	for (size_t i = 0; i < len; i++) {
		if (is_control(value[i]))
			return error_set(err, ERR_INPUT, 0,
					 "the value contains a control character (byte 0x%02x)",
					 (unsigned char)value[i]);
	}
	if (len > 0 && (strchr(blanks, value[0]) || strchr(blanks, value[len - 1])))
		return error_set(err, ERR_INPUT, 0, "the value begins or ends with a blank");
	return true;
}

static bool check_bytes(const char *line, size_t len, struct error *err)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\0')
			return error_set(err, ERR_INPUT, 0,
					 "there is a NUL byte; this is not a text file");
		if (is_control(line[i]))
			return error_set(err, ERR_INPUT, 0,
					 "there is a control character (byte 0x%02x)",
					 (unsigned char)line[i]);
	}
	return true;
}

/* "[name]" with its blanks off; tells the reader that a section begins. */
static bool begin_section(struct reading *r, const char *line, size_t len)
{
	const char *close = memchr(line, ']', len);
	char name[INI_NAME_MAX + 1];
	struct ini_entry entry = { .section = name, .line = r->line };

	if (!close)
		return error_set(r->err, ERR_INPUT, 0, "the section's name is not closed by ']'");
	if (close + 1 < line + len)
		return error_set(r->err, ERR_INPUT, 0,
				 "there is text after ']'; put it on a line of its own");
	len = (size_t)(close - line) - 1;
	if (len == 0 || len > INI_NAME_MAX)
		return error_set(r->err, ERR_INPUT, 0, "a section's name has 1 to %d letters",
				 INI_NAME_MAX);
	memcpy(name, line + 1, len);
	name[len] = '\0';
	return r->reader->entry(&entry, r->reader->data, r->err);
}

static bool check_pair(const char *line, size_t len, struct error *err)
{
	size_t key = strcspn(line, "=:");

	if (key < len && line[key] == ':')
		return error_set(err, ERR_INPUT, 0, "write 'key = value', with '=' and not ':'");
	if (key >= len)
		return error_set(err, ERR_INPUT, 0,
				 "expected 'key = value', a [section] or a comment, not '%.40s'",
				 line);
	while (key > 0 && strchr(blanks, line[key - 1]))
		key--;
	if (key == 0 || key > INI_NAME_MAX)
		return error_set(err, ERR_INPUT, 0, "a key has 1 to %d letters before its '='",
				 INI_NAME_MAX);
	return true;
}

/* Everything about a line that inih would let pass. */
static bool check_line(struct reading *r, const char *text, size_t len)
{
	char line[INI_LINE_MAX + 1];
	size_t from = 0;

	if (len > INI_LINE_MAX)
		return error_set(r->err, ERR_INPUT, 0, "the line is longer than %d bytes",
				 INI_LINE_MAX);
	if (!check_bytes(text, len, r->err))
		return false;
	while (len > 0 && strchr(blanks, text[len - 1]))
		len--;
	while (from < len && strchr(blanks, text[from]))
		from++;
	memcpy(line, text + from, len - from);
	len -= from;
	line[len] = '\0';
	if (len == 0 || line[0] == ';' || line[0] == '#')
		return true;
	return line[0] == '[' ? begin_section(r, line, len) : check_pair(line, len, r->err);
}

/* fgets() for inih: the next line, or NULL at the end and after a failure. */
static char *next_line(char *to, int size, void *stream)
{
	struct reading *r = stream;
	const char *newline;
	size_t len, next;

	if (r->failed || r->at == r->end)
		return NULL;
	newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	len = (size_t)((newline ? newline : r->end) - r->at);
	next = newline ? len + 1 : len;
	r->line++;
	if (len > 0 && r->at[len - 1] == '\r')
		len--;
	if (!check_line(r, r->at, len)) {
		r->failed = true;
		return NULL;
	}
	/* A build of inih with a smaller buffer than ours must not cut the line. */
	if (size < 2 || len > (size_t)size - 2) {
		error_set(r->err, ERR_INPUT, 0, "the line is longer than %d bytes", size - 2);
		r->failed = true;
		return NULL;
	}
	memcpy(to, r->at, len);
	to[len] = '\n';
	to[len + 1] = '\0';
	r->at += next;
	return to;
}

static int on_pair(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;
	const struct ini_entry entry = {
		.section = section,
		.key = key,
		.value = value,
		.line = r->line,
	};

	if (!section[0])
		r->failed = !error_set(r->err, ERR_INPUT, 0,
				       "'%.40s' stands before the first [section]", key);
	else
		r->failed = !r->reader->entry(&entry, r->reader->data, r->err);
	return !r->failed;
}

bool ini_read_text(const char *name, const char *text, size_t len, const struct ini_reader *reader,
		   struct error *err)
{
	struct reading r = { .at = text, .end = text + len, .reader = reader, .err = err };
	int broken;

	if (len > INI_TEXT_MAX)
		return error_set(err, ERR_INPUT, 0, "%s: the file is larger than %d bytes", name,
				 INI_TEXT_MAX);
	/* inih's settings are variables of the library; we are the only ones who use it. */
	ini_use_stack = false;
	ini_max_line = ini_initial_alloc = INI_LINE_MAX + 3;
	ini_allow_multiline = false;
	ini_allow_inline_comments = false;
	ini_allow_no_value = false;
	ini_stop_on_first_error = true;
	/* A byte order mark would otherwise be taken for the start of a key by check_line(). */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	broken = ini_parse_stream(next_line, &r, on_pair, &r);
	if (broken != 0 && !r.failed)
		r.failed = !error_set(err, ERR_INPUT, 0, "the line cannot be read");
	return r.failed ? error_prefix(err, "%s:%u", name, r.line) : true;
}

bool ini_read_file(const char *path, bool optional, const struct ini_reader *reader,
		   struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct buf text;
	int r;

	buf_init(&text, INI_TEXT_MAX);
	if (fd < 0 && optional && (errno == ENOENT || errno == ENOTDIR))
		return true;
	if (fd < 0)
		return error_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_INPUT, errno,
				 "cannot read %.300s", path);
	r = fd_read_all(fd, &text);
	if (r == -ENOBUFS)
		return error_set(err, ERR_INPUT, 0, "%.300s is larger than %d bytes", path,
				 INI_TEXT_MAX);
	if (r < 0)
		return error_set(err, ERR_INPUT, -r, "cannot read %.300s", path);
	return ini_read_text(path, buf_string(&text), text.len, reader, err);
}
