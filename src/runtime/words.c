#include "runtime/words.h"

#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

enum {
	LANGUAGE_MAX = 32,
	FILE_NAME_MAX = 48, /* wire/cell_spec.h: /tmp/NAME fits CELL_CODE_PATH_MAX */
	EXPANDED_MAX = 8192,
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word at *p into b; moves *p on. False for an open quote. */
static bool next_word(const char **p, struct buf *b)
{
	char quote = '\0';
	const char *s = *p;

	buf_clear(b);
	for (; *s && (quote || !is_blank(*s)); s++) {
		if (quote ? *s == quote : (*s == '"' || *s == '\''))
			quote = quote ? '\0' : *s;
		else
			(void)buf_append(b, s, 1);
	}
	*p = s;
	return !quote;
}

const char *const *words_split(struct keep *keep, const char *text, size_t max, struct error *err)
{
	const char **list = keep_zeroed(keep, max + 1, sizeof(*list));
	_cleanup_buf_ struct buf word;
	size_t n = 0;

	buf_init(&word, strlen(text));
	for (;;) {
		while (is_blank(*text))
			text++;
		if (!*text)
			return list;
		if (n == max) {
			error_set(err, ERR_INPUT, 0, "there are more than %zu words", max);
			return NULL;
		}
		if (!next_word(&text, &word)) {
			error_set(err, ERR_INPUT, 0, "a quotation mark is not closed");
			return NULL;
		}
		list[n++] = keep_text(keep, buf_string(&word), word.len);
	}
}

bool word_is_language(const char *word)
{
	size_t len = strlen(word);

	if (len > LANGUAGE_MAX || !islower((unsigned char)word[0]))
		return false;
	return strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789+-#._") == len;
}

bool word_is_variable(const char *word)
{
	if (isdigit((unsigned char)word[0]) || !word[0])
		return false;
	for (; *word; word++) {
		if (!isalnum((unsigned char)*word) && *word != '_')
			return false;
	}
	return true;
}

bool word_is_file(const char *word)
{
	size_t len = strlen(word);

	return len > 0 && len <= FILE_NAME_MAX && word[0] != '.' && !strchr(word, '/');
}

/* The length of "{letters}" at p, or 0. */
static size_t placeholder_length(const char *p)
{
	size_t n = 1;

	if (p[0] != '{')
		return 0;
	while (islower((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n > 1 && p[n] == '}' ? n + 1 : 0;
}

static const char *placeholder_value(const struct placeholders *p, const char *text, size_t len)
{
	if (strncmp(text, "{program}", len) == 0 && p->program)
		return p->program;
	if (strncmp(text, "{place}", len) == 0)
		return p->place;
	if (strncmp(text, "{file}", len) == 0 && p->file)
		return "{file}";
	return NULL;
}

const char *placeholders_expand(struct keep *keep, const struct placeholders *p, const char *text,
				struct error *err)
{
	_cleanup_buf_ struct buf out;
	int r = 0;

	buf_init(&out, EXPANDED_MAX);
	for (size_t n; *text && r == 0; text += n) {
		const char *value;

		n = placeholder_length(text);
		if (n == 0) {
			n = 1;
			r = buf_append(&out, text, n);
			continue;
		}
		value = placeholder_value(p, text, n);
		if (!value) {
			error_set(err, ERR_INPUT, 0,
				  "%.*s cannot be used here; there are {program}, {place}%s",
				  (int)MIN(n, (size_t)40), text, p->file ? ", {file}" : "");
			return NULL;
		}
		r = buf_append_string(&out, value);
	}
	if (r < 0) {
		error_set(err, ERR_INPUT, 0, "it is longer than %d bytes", EXPANDED_MAX);
		return NULL;
	}
	return keep_text(keep, buf_string(&out), out.len);
}
