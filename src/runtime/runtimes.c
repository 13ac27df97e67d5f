#include "runtime/runtime.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "config/closest.h"
#include "runtime/runtime_ini.h"

enum {
	RUNTIMES_MAX = 128,
	PROBLEMS_MAX = 64,
	SHEBANG_MAX = 256, /* the kernel looks no further either */
	NAME_SHOWN_MAX = 40,
};

struct runtimes {
	struct runtime_file *files[RUNTIMES_MAX]; /* by name */
	size_t n;
	char *problems[PROBLEMS_MAX];
	size_t n_problems;
};

static void add_problem(struct runtimes *r, const char *text)
{
	if (r->n_problems < PROBLEMS_MAX)
		r->problems[r->n_problems++] = xstrdup(text);
}

/* Puts it in its place by name; one of the same name is replaced. */
static void insert(struct runtimes *r, struct runtime_file *file)
{
	size_t i = 0;

	while (i < r->n && strcmp(r->files[i]->runtime.name, file->runtime.name) < 0)
		i++;
	if (i < r->n && strcmp(r->files[i]->runtime.name, file->runtime.name) == 0) {
		runtime_file_free(r->files[i]);
		r->files[i] = file;
		return;
	}
	if (r->n == RUNTIMES_MAX) {
		add_problem(r, "there are more than 128 languages; the rest is left out");
		runtime_file_free(file);
		return;
	}
	memmove(&r->files[i + 1], &r->files[i], (r->n - i) * sizeof(r->files[0]));
	r->files[i] = file;
	r->n++;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void load_folder(struct runtimes *r, const char *folder)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, not_hidden, alphasort);
	struct error err;

	if (n < 0) {
		if (errno != ENOENT) {
			error_set(&err, ERR_INPUT, errno, "cannot read the folder %.300s", folder);
			add_problem(r, err.message);
		}
		return;
	}
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", folder, entries[i]->d_name);
		_cleanup_free_ char *ini = xasprintf("%s/runtime.ini", path);
		struct runtime_file *file;

		free(entries[i]);
		/* A folder without the file is not a language: a README, a half-made one. */
		if (access(ini, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		file = runtime_file_read(path, &err);
		if (file)
			insert(r, file);
		else
			add_problem(r, err.message);
	}
	free(entries);
}

bool runtimes_load(struct runtimes **ret, const char *const *folders, struct error *err)
{
	struct runtimes *r = xcalloc(1, sizeof(*r));

	for (size_t i = 0; folders[i]; i++)
		load_folder(r, folders[i]);
	if (r->n == 0) {
		if (r->n_problems > 0)
			error_set(err, ERR_NOT_FOUND, 0, "no language could be loaded: %s",
				  r->problems[0]);
		else
			error_set(err, ERR_NOT_FOUND, 0, "there are no languages in %.300s",
				  folders[0] ? folders[0] : "(no folder)");
		runtimes_free(r);
		return false;
	}
	*ret = r;
	return true;
}

void runtimes_free(struct runtimes *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		runtime_file_free(r->files[i]);
	for (size_t i = 0; i < r->n_problems; i++)
		free(r->problems[i]);
	free(r);
}

size_t runtimes_count(const struct runtimes *r)
{
	return r->n;
}

const struct runtime *runtimes_at(const struct runtimes *r, size_t i)
{
	return i < r->n ? &r->files[i]->runtime : NULL;
}

const char *runtimes_problem(const struct runtimes *r, size_t i)
{
	return i < r->n_problems ? r->problems[i] : NULL;
}

void runtimes_probe(struct runtimes *r)
{
	for (size_t i = 0; i < r->n; i++)
		runtime_file_probe(r->files[i]);
}

/* ---- finding ---- */

static bool list_has(const char *const *list, const char *word, size_t len)
{
	for (; *list; list++) {
		if (strlen(*list) == len && strncasecmp(*list, word, len) == 0)
			return true;
	}
	return false;
}

/* A name goes before an alias, so that an alias cannot take a language's place. */
static const struct runtime_file *lookup(const struct runtimes *r, const char *word, size_t len)
{
	for (size_t i = 0; i < r->n; i++) {
		const char *name = r->files[i]->runtime.name;

		if (strlen(name) == len && strncasecmp(name, word, len) == 0)
			return r->files[i];
	}
	for (size_t i = 0; i < r->n; i++) {
		if (list_has(r->files[i]->runtime.aliases, word, len))
			return r->files[i];
	}
	return NULL;
}

/* What a stranger typed, fit for a sentence. */
static void printable(const char *text, char shown[NAME_SHOWN_MAX + 1])
{
	size_t n = 0;

	for (; n < NAME_SHOWN_MAX && text[n]; n++)
		shown[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
	shown[n] = '\0';
}

static bool not_found(const struct runtimes *r, const char *name, struct error *err)
{
	char shown[NAME_SHOWN_MAX + 1];
	_cleanup_buf_ struct buf list;
	struct closest near;

	/* The sentence has room for this much of it; the rest is left out. */
	buf_init(&list, 320);
	closest_init(&near, name);
	for (size_t i = 0; i < r->n; i++) {
		const struct runtime *rt = &r->files[i]->runtime;

		closest_try(&near, rt->name);
		for (size_t j = 0; rt->aliases[j]; j++)
			closest_try(&near, rt->aliases[j]);
		(void)buf_printf(&list, "%s%s%s", list.len ? ", " : "", rt->name,
				 rt->program ? "" : " (not installed)");
	}
	printable(name, shown);
	return error_set(err, ERR_NOT_FOUND, 0, "there is no language '%s'%s There are: %s", shown,
			 closest_hint(&near), buf_string(&list));
}

bool runtimes_find(const struct runtimes *r, const char *name, const struct runtime **ret,
		   struct error *err)
{
	const struct runtime_file *file = lookup(r, name, strlen(name));

	if (!file)
		return not_found(r, name, err);
	if (!file->runtime.program)
		return error_set(err, ERR_NOT_FOUND, 0,
				 "%s is not installed here (there is no %.100s)%s%s",
				 file->runtime.title, file->find[0],
				 file->runtime.install ? "; to install it: " : "",
				 file->runtime.install ? file->runtime.install : "");
	*ret = &file->runtime;
	return true;
}

/* ---- guessing ---- */

static const struct runtime *by_extension(const struct runtimes *r, const char *file_name)
{
	const char *slash = strrchr(file_name, '/');
	const char *name = slash ? slash + 1 : file_name;
	const char *dot = strrchr(name, '.');

	/* ".bashrc" has no extension. */
	if (!dot || dot == name || !dot[1])
		return NULL;
	for (size_t i = 0; i < r->n; i++) {
		if (list_has(r->files[i]->runtime.extensions, dot + 1, strlen(dot + 1)))
			return &r->files[i]->runtime;
	}
	return NULL;
}

/* The last component of the next word of a "#!" line; moves *p past it. */
static const char *next_component(const char **p, size_t *ret_len)
{
	const char *word = *p + strspn(*p, " \t");
	size_t len = strcspn(word, " \t");
	const char *slash = memrchr(word, '/', len);

	*p = word + len;
	if (slash) {
		len -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	*ret_len = len;
	return word;
}

/* The interpreter's name on a "#!" line: python3 of "#!/usr/bin/env -S python3 -u". */
static const char *interpreter(const char *line, size_t *ret_len)
{
	const char *p = line, *word = next_component(&p, ret_len);

	if (*ret_len != 3 || strncmp(word, "env", 3) != 0)
		return word;
	/* "env -S python3 -u", "env -i A=b python3" */
	do
		word = next_component(&p, ret_len);
	while (*ret_len > 0 && (word[0] == '-' || memchr(word, '=', *ret_len)));
	return word;
}

static const struct runtime *by_shebang(const struct runtimes *r, const char *code, size_t code_len)
{
	_cleanup_free_ char *line = NULL;
	const char *word;
	size_t len;

	if (code_len < 2 || code[0] != '#' || code[1] != '!')
		return NULL;
	line = xstrndup(code + 2, MIN(code_len - 2, (size_t)SHEBANG_MAX));
	line[strcspn(line, "\r\n")] = '\0';
	/* python3.11 is a python: digits and dots are taken off its end until it is known. */
	for (word = interpreter(line, &len); len > 0; len--) {
		const struct runtime_file *file = lookup(r, word, len);

		if (file)
			return &file->runtime;
		if (!isdigit((unsigned char)word[len - 1]) && word[len - 1] != '.')
			return NULL;
	}
	return NULL;
}

const struct runtime *runtimes_guess(const struct runtimes *r, const char *file_name,
				     const char *code, size_t code_len)
{
	const struct runtime *rt = file_name ? by_extension(r, file_name) : NULL;

	return rt || !code ? rt : by_shebang(r, code, code_len);
}
