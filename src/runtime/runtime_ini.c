#include "runtime/runtime_ini.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "config/closest.h"
#include "config/ini_text.h"
#include "runtime/words.h"

#define CELL_PLACE "/opt/hotcell/"

enum {
	LIST_MAX = 32,
	ARGV_MAX = 32,
	ENV_MAX = 48,           /* of wire/cell_spec.h's 64; the rest is the front's */
	STRINGS_MAX = 6 * 1024, /* argv and environment, of its 8 KiB */
	EXAMPLE_MAX = 64 * 1024,
};

/* The same in every language; [env] may give another value. */
static const struct runtime_string common_env[] = {
	{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
	{ "HOME", "/workspace" },
	{ "LANG", "C.UTF-8" },
	{ "TMPDIR", "/tmp" },
	{ "USER", "cell" },
};

/* In the order of enum cell_profile (wire/cell_spec.h); a unit test compares them. */
static const char *const profiles[] = {
	"python", "bash", "node", "go", "compile", "binary", "install",
};

/* A file being read: what stands where, then what it means. */
struct draft {
	struct runtime_file *file;
	const char *path; /* of the runtime.ini, for errors */
	int folder;       /* -1: nothing is looked up */
	const char *value[16];
	unsigned line[16];
	struct runtime_string *env;
	unsigned env_line[ENV_MAX];
	size_t n_env;
};

static struct keep *keep_of(struct draft *d)
{
	return &d->file->keep;
}

/* ---- one function per kind of value ---- */

static bool build_name(struct draft *d, const char *value, struct error *err)
{
	if (strcmp(value, d->file->runtime.name) != 0)
		return error_set(
			err, ERR_INPUT, 0,
			"the language is called '%.40s' but its folder '%.40s'; they must agree",
			value, d->file->runtime.name);
	return true;
}

static bool build_title(struct draft *d, const char *value, struct error *err)
{
	if (!*value || strlen(value) > 64)
		return error_set(err, ERR_INPUT, 0, "a title has 1 to 64 letters");
	d->file->runtime.title = value;
	return true;
}

static bool build_aliases(struct draft *d, const char *value, struct error *err)
{
	const char *const *list = words_split(keep_of(d), value, LIST_MAX, err);

	for (size_t i = 0; list && list[i]; i++) {
		if (!word_is_language(list[i]))
			return error_set(
				err, ERR_INPUT, 0,
				"'%.40s' is not a name: lower-case letters, digits and + - # . _, "
				"beginning with a letter, at most 32",
				list[i]);
	}
	d->file->runtime.aliases = list;
	return list != NULL;
}

static bool build_extensions(struct draft *d, const char *value, struct error *err)
{
	const char *const *list = words_split(keep_of(d), value, LIST_MAX, err);

	for (size_t i = 0; list && list[i]; i++) {
		if (!word_is_file(list[i]) || strlen(list[i]) > 16)
			return error_set(err, ERR_INPUT, 0,
					 "'%.40s' is not an extension; write it without its dot",
					 list[i]);
	}
	d->file->runtime.extensions = list;
	return list != NULL;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool build_find(struct draft *d, const char *value, struct error *err)
{
	const char *const *list = words_split(keep_of(d), value, LIST_MAX, err);

	if (!list)
		return false;
	if (!list[0])
		return error_set(err, ERR_INPUT, 0,
				 "name at least one place, such as /usr/bin/python3");
	for (size_t i = 0; list[i]; i++) {
		if (list[i][0] != '/' || strlen(list[i]) > PATH_MAX_NAME)
			return error_set(err, ERR_INPUT, 0, "'%.40s' is not an absolute path",
					 list[i]);
	}
	d->file->find = list;
	for (size_t i = 0; list[i] && !d->file->runtime.program; i++) {
		if (is_program(list[i]))
			d->file->runtime.program = list[i];
	}
	return true;
}

/* Words with their placeholders put in. */
static const char *const *build_argv(struct draft *d, const char *value, bool file,
				     struct error *err)
{
	const char *const *words = words_split(keep_of(d), value, ARGV_MAX, err);
	const struct runtime *rt = &d->file->runtime;
	const struct placeholders p = {
		.program = rt->program     ? rt->program
			   : d->file->find ? d->file->find[0]
					   : NULL,
		.place = rt->place,
		.file = file,
	};
	const char **argv;

	if (!words)
		return NULL;
	argv = keep_zeroed(keep_of(d), ARGV_MAX + 1, sizeof(*argv));
	for (size_t i = 0; words[i]; i++) {
		argv[i] = placeholders_expand(keep_of(d), &p, words[i], err);
		if (!argv[i])
			return NULL;
	}
	if (!argv[0] || argv[0][0] != '/') {
		error_set(err, ERR_INPUT, 0,
			  "the first word is the program: {program} or an absolute path");
		return NULL;
	}
	return argv;
}

static bool build_version(struct draft *d, const char *value, struct error *err)
{
	d->file->version_argv = build_argv(d, value, false, err);
	return d->file->version_argv != NULL;
}

static bool build_install(struct draft *d, const char *value, struct error *err)
{
	if (strlen(value) > 256)
		return error_set(err, ERR_INPUT, 0, "it is longer than 256 bytes");
	d->file->runtime.install = value;
	return true;
}

static bool build_driver(struct draft *d, const char *value, struct error *err)
{
	d->file->runtime.kind = RUNTIME_DRIVER;
	d->file->runtime.argv = build_argv(d, value, false, err);
	return d->file->runtime.argv != NULL;
}

static bool build_command(struct draft *d, const char *value, struct error *err)
{
	if (d->file->runtime.argv)
		return error_set(err, ERR_INPUT, 0, "give either 'driver' or 'command', not both");
	if (!strstr(value, "{file}"))
		return error_set(err, ERR_INPUT, 0, "{file}, the code's path, is not in it");
	d->file->runtime.kind = RUNTIME_COMMAND;
	d->file->runtime.argv = build_argv(d, value, true, err);
	return d->file->runtime.argv != NULL;
}

static bool build_file(struct draft *d, const char *value, struct error *err)
{
	if (!word_is_file(value))
		return error_set(
			err, ERR_INPUT, 0,
			"'%.60s' is not a file's name: no '/', no '.' at its start, at most 48 letters",
			value);
	d->file->runtime.code_file = value;
	return true;
}

static bool check_folder_file(const struct draft *d, const char *name, struct error *err)
{
	struct stat st;

	if (!path_is_plain(name) || strlen(name) > 64)
		return error_set(err, ERR_INPUT, 0,
				 "'%.60s' is not the name of a file in this folder", name);
	if (d->folder < 0)
		return true;
	if (fstatat(d->folder, name, &st, 0) < 0)
		return error_set(err, ERR_INPUT, errno, "'%.60s', beside this file", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INPUT, 0,
				 "'%.60s', beside this file, is not a regular file", name);
	return true;
}

static bool build_files(struct draft *d, const char *value, struct error *err)
{
	const char *const *list = words_split(keep_of(d), value, LIST_MAX, err);

	for (size_t i = 0; list && list[i]; i++) {
		/* A pattern stands for what may be made out of the others, or not. */
		if (strpbrk(list[i], "*?[")) {
			if (!path_is_plain(list[i]))
				return error_set(err, ERR_INPUT, 0, "'%.60s' leaves this folder",
						 list[i]);
		} else if (!check_folder_file(d, list[i], err)) {
			return false;
		}
	}
	d->file->runtime.files = list;
	return list != NULL;
}

static bool build_profile(struct draft *d, const char *value, struct error *err)
{
	struct closest near;

	closest_init(&near, value);
	for (uint32_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		if (strcmp(value, profiles[i]) == 0) {
			d->file->runtime.profile = i;
			return true;
		}
		closest_try(&near, profiles[i]);
	}
	return error_set(
		err, ERR_INPUT, 0,
		"there is no profile '%.40s'%s There are: python, bash, node, go, compile, "
		"binary, install",
		value, closest_hint(&near));
}

static bool build_loopback(struct draft *d, const char *value, struct error *err)
{
	if (parse_bool(value, &d->file->runtime.loopback) < 0)
		return error_set(err, ERR_INPUT, 0, "'%.40s' is neither yes nor no", value);
	return true;
}

static bool build_example(struct draft *d, const char *value, struct error *err)
{
	(void)err;
	d->file->runtime.example = value;
	return true;
}

static bool build_example_file(struct draft *d, const char *value, struct error *err)
{
	_cleanup_close_ int fd = -1;
	_cleanup_buf_ struct buf text;
	int r;

	buf_init(&text, EXAMPLE_MAX);
	if (d->file->runtime.example)
		return error_set(err, ERR_INPUT, 0, "give either 'code' or 'file', not both");
	if (!check_folder_file(d, value, err))
		return false;
	if (d->folder < 0)
		return true;
	fd = openat(d->folder, value, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : fd_read_all(fd, &text);
	if (r < 0)
		return error_set(err, ERR_INPUT, -r, "cannot read '%.60s'", value);
	d->file->runtime.example = keep_text(keep_of(d), buf_string(&text), text.len);
	return true;
}

/* ---- the table ---- */

enum { OPTIONAL, REQUIRED };

/* Built in this order: what comes later may use what came before. */
static const struct field {
	const char *section, *key;
	bool (*build)(struct draft *d, const char *value, struct error *err);
	int required;
} fields[] = {
	{ "runtime", "name", build_name, OPTIONAL },
	{ "runtime", "title", build_title, OPTIONAL },
	{ "runtime", "aliases", build_aliases, OPTIONAL },
	{ "runtime", "extensions", build_extensions, OPTIONAL },
	{ "toolchain", "find", build_find, REQUIRED },
	{ "toolchain", "version", build_version, OPTIONAL },
	{ "toolchain", "install", build_install, OPTIONAL },
	{ "run", "driver", build_driver, OPTIONAL },
	{ "run", "command", build_command, OPTIONAL },
	{ "run", "file", build_file, OPTIONAL },
	{ "run", "files", build_files, OPTIONAL },
	{ "cell", "profile", build_profile, REQUIRED },
	{ "cell", "loopback", build_loopback, OPTIONAL },
	{ "example", "code", build_example, OPTIONAL },
	{ "example", "file", build_example_file, OPTIONAL },
};
_Static_assert(ARRAY_SIZE(fields) <= ARRAY_SIZE(((struct draft *)0)->value), "draft is too small");

/* ---- reading ---- */

static void add_name(struct closest *near, char *names, size_t size, const char *name)
{
	size_t used = strlen(names);

	closest_try(near, name);
	snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

/* The sentence for a section or key that the table does not have. */
static bool unknown_entry(const struct ini_entry *entry, bool section_known, struct error *err)
{
	char names[256] = "";
	struct closest near;

	closest_init(&near, section_known ? entry->key : entry->section);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		bool first = i == 0 || strcmp(fields[i].section, fields[i - 1].section) != 0;

		if (section_known && strcmp(fields[i].section, entry->section) == 0)
			add_name(&near, names, sizeof(names), fields[i].key);
		else if (!section_known && first)
			add_name(&near, names, sizeof(names), fields[i].section);
	}
	if (section_known)
		return error_set(err, ERR_INPUT, 0, "[%s] has no '%.40s'%s There are: %s",
				 entry->section, entry->key, closest_hint(&near), names);
	add_name(&near, names, sizeof(names), "env");
	return error_set(err, ERR_INPUT, 0, "there is no section [%.40s]%s There are: %s",
			 entry->section, closest_hint(&near), names);
}

static bool add_env(struct draft *d, const struct ini_entry *entry, struct error *err)
{
	if (!entry->key)
		return true;
	if (!word_is_variable(entry->key))
		return error_set(
			err, ERR_INPUT, 0,
			"'%.40s' is not a variable's name: letters, digits and _, not beginning with a digit",
			entry->key);
	for (size_t i = 0; i < d->n_env; i++) {
		if (strcmp(d->env[i].name, entry->key) == 0)
			return error_set(err, ERR_INPUT, 0, "%.40s was already given in line %u",
					 entry->key, d->env_line[i]);
	}
	if (d->n_env == ENV_MAX)
		return error_set(err, ERR_INPUT, 0, "there are more than %d variables", ENV_MAX);
	d->env[d->n_env] = (struct runtime_string){
		.name = keep_text(keep_of(d), entry->key, strlen(entry->key)),
		.value = keep_text(keep_of(d), entry->value, strlen(entry->value)),
	};
	d->env_line[d->n_env++] = entry->line;
	return true;
}

static bool on_entry(const struct ini_entry *entry, void *data, struct error *err)
{
	struct draft *d = data;
	bool section_known = false;

	if (strcmp(entry->section, "env") == 0)
		return add_env(d, entry, err);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcmp(fields[i].section, entry->section) != 0)
			continue;
		section_known = true;
		if (!entry->key)
			return true;
		if (strcmp(fields[i].key, entry->key) != 0)
			continue;
		if (d->value[i])
			return error_set(err, ERR_INPUT, 0, "'%s' was already given in line %u",
					 entry->key, d->line[i]);
		d->value[i] = keep_text(keep_of(d), entry->value, strlen(entry->value));
		d->line[i] = entry->line;
		return true;
	}
	return unknown_entry(entry, section_known, err);
}

/* ---- meaning ---- */

static bool build_fields(struct draft *d, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		if (!d->value[i]) {
			if (f->required)
				return error_set(err, ERR_INPUT, 0, "%s: '%s' is missing in [%s]",
						 d->path, f->key, f->section);
			continue;
		}
		if (!f->build(d, d->value[i], err))
			return error_prefix(err, "%s:%u: %s", d->path, d->line[i], f->key);
	}
	if (!d->file->runtime.argv)
		return error_set(err, ERR_INPUT, 0, "%s: [run] needs 'driver' or 'command'",
				 d->path);
	if (d->file->runtime.kind == RUNTIME_COMMAND && !d->file->runtime.code_file)
		return error_set(err, ERR_INPUT, 0,
				 "%s: [run] needs 'file', the name the code is saved under",
				 d->path);
	return true;
}

static struct runtime_string *env_find(struct runtime_string *env, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(env[i].name, name) == 0)
			return &env[i];
	}
	return NULL;
}

/* The common environment, then the file's own. */
static bool build_env(struct draft *d, struct error *err)
{
	struct runtime *rt = &d->file->runtime;
	const struct placeholders p = { .program = rt->program ? rt->program : d->file->find[0],
					.place = rt->place };
	struct runtime_string *env = keep_zeroed(keep_of(d), ARRAY_SIZE(common_env) + d->n_env,
						 sizeof(*env));
	size_t n = ARRAY_SIZE(common_env), bytes = 0;

	memcpy(env, common_env, sizeof(common_env));
	for (size_t i = 0; i < d->n_env; i++) {
		struct runtime_string *to = env_find(env, n, d->env[i].name);

		if (!to)
			to = &env[n++];
		to->name = d->env[i].name;
		to->value = placeholders_expand(keep_of(d), &p, d->env[i].value, err);
		if (!to->value)
			return error_prefix(err, "%s:%u: %s", d->path, d->env_line[i], to->name);
	}
	for (size_t i = 0; i < n; i++)
		bytes += strlen(env[i].name) + strlen(env[i].value) + 2;
	for (size_t i = 0; rt->argv[i]; i++)
		bytes += strlen(rt->argv[i]) + 1;
	if (bytes > STRINGS_MAX)
		return error_set(err, ERR_INPUT, 0,
				 "%s: command and environment are %zu bytes long; %d are allowed",
				 d->path, bytes, STRINGS_MAX);
	rt->env = env;
	rt->n_env = n;
	return true;
}

static const char *const nothing[] = { NULL };

static void set_defaults(struct runtime_file *file, const char *folder)
{
	const char *slash = strrchr(folder, '/');
	const char *name = slash ? slash + 1 : folder;
	_cleanup_free_ char *place = xasprintf(CELL_PLACE "%s", name);
	struct runtime *rt = &file->runtime;

	rt->name = rt->title = keep_text(&file->keep, name, strlen(name));
	rt->folder = keep_text(&file->keep, folder, strlen(folder));
	rt->place = keep_text(&file->keep, place, strlen(place));
	rt->aliases = rt->extensions = rt->files = nothing;
}

/* text NULL: the folder's runtime.ini. */
static struct runtime_file *read_draft(const char *folder, const char *text, size_t len,
				       struct error *err)
{
	struct runtime_file *file = xcalloc(1, sizeof(*file));
	_cleanup_free_ char *path = xasprintf("%s/runtime.ini", folder);
	_cleanup_close_ int fd = text ? -1 : open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct draft d = { .file = file, .path = path, .folder = fd };
	const struct ini_reader reader = { .entry = on_entry, .data = &d };
	bool ok;

	set_defaults(file, folder);
	d.env = keep_zeroed(&file->keep, ENV_MAX, sizeof(*d.env));
	if (!word_is_language(file->runtime.name))
		ok = error_set(
			err, ERR_INPUT, 0,
			"%s: the folder's name is not a language's: lower-case letters, digits and "
			"+ - # . _, beginning with a letter, at most 32",
			folder);
	else if (text)
		ok = ini_read_text(path, text, len, &reader, err);
	else
		ok = ini_read_file(path, false, &reader, err);
	if (ok && build_fields(&d, err) && build_env(&d, err))
		return file;
	runtime_file_free(file);
	return NULL;
}

struct runtime_file *runtime_file_read(const char *folder, struct error *err)
{
	return read_draft(folder, NULL, 0, err);
}

struct runtime_file *runtime_file_parse(const char *folder, const char *text, size_t len,
					struct error *err)
{
	return read_draft(folder, text, len, err);
}

void runtime_file_free(struct runtime_file *file)
{
	if (!file)
		return;
	keep_done(&file->keep);
	free(file);
}
