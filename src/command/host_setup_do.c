/* Carrying a plan out, and undoing what was done. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "command/host_setup.h"

enum { FILE_MAX = 1 << 20 };

static const char *const kind_names[] = { [HOST_FILE] = "file", [HOST_LINE] = "line" };

/* ---- commands ---- */

static void print_command(const char *const *argv)
{
	for (size_t i = 0; argv[i]; i++)
		printf("%s%s", i ? " " : "", argv[i]);
}

static bool run_command(const char *root, const char *const *argv, struct error *err)
{
	int status = -1, r;
	pid_t child;

	if (!argv[0] || root[0])
		return true;
	r = posix_spawnp(&child, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
	if (r != 0)
		return error_set(err, ERR_SYSTEM, r, "cannot start %s", argv[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(err, ERR_SYSTEM, 0, "%s failed", argv[0]);
	return true;
}

/* ---- files ---- */

/* Replaces the file as a whole, with the mode and owner it has. */
static int replace_file(const char *path, const char *text)
{
	_cleanup_free_ char *draft = xasprintf("%s.hotcell", path);
	_cleanup_close_ int fd = -1;
	struct stat st;
	bool is_old = stat(path, &st) == 0;
	int r;

	(void)unlink(draft);
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, strlen(text));
	if (r == 0 && fchmod(fd, is_old ? st.st_mode & 07777 : 0644) < 0)
		r = -errno;
	if (r == 0 && is_old && (st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    fchown(fd, st.st_uid, st.st_gid) < 0)
		r = -errno;
	if (r == 0 && (fsync(fd) < 0 || rename(draft, path) < 0))
		r = -errno;
	if (r < 0)
		(void)unlink(draft);
	return r;
}

static int read_text(const char *path, struct buf *to)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd_read_all(fd, to);
}

/* Makes the folders of the path that are missing and lists them, outermost first. */
static int make_folders(const char *root, const char *path, json_t *made)
{
	char part[PATH_MAX], full[PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if ((size_t)snprintf(full, sizeof(full), "%s%s", root, part) >= sizeof(full))
			return -ENAMETOOLONG;
		if (mkdir(full, 0755) == 0)
			(void)json_array_append_new(made, json_string(part));
		else if (errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int add_line(const char *path, const char *line)
{
	_cleanup_buf_ struct buf text;
	int r;

	buf_init(&text, FILE_MAX);
	r = read_text(path, &text);
	if (r < 0 && r != -ENOENT)
		return r;
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		(void)buf_append_string(&text, "\n");
	r = buf_printf(&text, "%s\n", line);
	return r < 0 ? r : replace_file(path, buf_string(&text));
}

static int remove_line(const char *path, const char *line)
{
	_cleanup_buf_ struct buf text;
	_cleanup_free_ char *copy = NULL;
	int r;

	buf_init(&text, FILE_MAX);
	r = read_text(path, &text);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	copy = xstrdup(buf_string(&text));
	return host_drop_line(copy, line) ? replace_file(path, copy) : 0;
}

/* Only what still carries our marker: somebody may have made it his own. */
static int remove_file(const char *path, bool *ret_kept)
{
	_cleanup_buf_ struct buf text;
	int r;

	*ret_kept = false;
	buf_init(&text, FILE_MAX);
	r = read_text(path, &text);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*ret_kept = !strstr(buf_string(&text), HOST_SETUP_MARKER);
	if (*ret_kept)
		return 0;
	return unlink(path) < 0 ? -errno : 0;
}

/* ---- the state ---- */

static json_t *load_state(const char *root, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s%s", root, HOST_SETUP_STATE);
	_cleanup_buf_ struct buf text;
	json_t *state;
	int r;

	buf_init(&text, FILE_MAX);
	r = read_text(path, &text);
	if (r == -ENOENT)
		return json_pack("{s:i, s:[], s:[]}", "version", 1, "actions", "folders");
	if (r < 0) {
		(void)error_set(err, ERR_SYSTEM, -r, "cannot read %s", path);
		return NULL;
	}
	state = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (json_is_array(json_object_get(state, "actions")) &&
	    json_is_array(json_object_get(state, "folders")))
		return state;
	json_decref(state);
	(void)error_set(err, ERR_SYSTEM, 0, "cannot make sense of %s: look at it, then remove it",
			path);
	return NULL;
}

static bool save_state(const char *root, const json_t *state, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s%s", root, HOST_SETUP_STATE);
	_cleanup_free_ char *text = json_dumps(state, JSON_INDENT(2));
	_cleanup_free_ char *lines = xasprintf("%s\n", text ? text : "");
	int r = text ? replace_file(path, lines) : -ENOMEM;

	return r < 0 ? error_set(err, ERR_SYSTEM, -r, "cannot write %s", path) : true;
}

static bool same_text(const json_t *object, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && strcmp(value, text) == 0;
}

/* A file is listed once, however often it was written. */
static void note_action(json_t *state, const struct host_action *action)
{
	json_t *actions = json_object_get(state, "actions");
	const char *line = action->kind == HOST_LINE ? action->text : NULL;

	for (size_t i = 0; i < json_array_size(actions); i++) {
		const json_t *old = json_array_get(actions, i);

		if (same_text(old, "path", action->path) && (!line || same_text(old, "line", line)))
			return;
	}
	(void)json_array_append_new(actions,
				    json_pack("{s:s, s:s, s:s*}", "kind", kind_names[action->kind],
					      "path", action->path, "line", line));
}

/* ---- doing ---- */

void host_plan_show(const struct host_plan *plan, const char *root)
{
	for (size_t i = 0; i < plan->n_actions; i++) {
		const struct host_action *action = &plan->actions[i];

		printf("%zu. %s\n", i + 1, action->why);
		if (action->kind == HOST_LINE)
			printf("   add to %s%s: %s\n", root, action->path, action->text);
		else
			printf("   write %s%s:\n", root, action->path);
		for (const char *p = action->text; action->kind == HOST_FILE && *p;) {
			size_t len = strcspn(p, "\n");

			printf("     | %.*s\n", (int)len, p);
			p += len + (p[len] == '\n');
		}
		if (action->after[0]) {
			printf("   run ");
			print_command(action->after);
			putchar('\n');
		}
	}
	for (size_t i = 0; i < plan->n_notes; i++)
		printf("Note: %s.\n", plan->notes[i]);
}

static bool do_action(const struct host_action *action, const char *root, json_t *state,
		      struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s%s", root, action->path);
	int r = make_folders(root, action->path, json_object_get(state, "folders"));

	/* Listed before it is done: undoing what was not done is nothing. */
	note_action(state, action);
	if (!save_state(root, state, err))
		return false;
	if (r == 0)
		r = action->kind == HOST_FILE ? replace_file(path, action->text)
					      : add_line(path, action->text);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot write %s", path);
	return run_command(root, action->after, err);
}

bool host_plan_do(const struct host_plan *plan, const char *root, struct error *err)
{
	json_t *state = load_state(root, err);
	bool ok = state != NULL;
	int r;

	if (!ok)
		return false;
	r = make_folders(root, HOST_SETUP_STATE, json_object_get(state, "folders"));
	if (r < 0)
		ok = error_set(err, ERR_SYSTEM, -r, "cannot make the folder of %s",
			       HOST_SETUP_STATE);
	for (size_t i = 0; ok && i < plan->n_actions; i++)
		ok = do_action(&plan->actions[i], root, state, err);
	json_decref(state);
	return ok;
}

/* ---- undoing ---- */

/* What must run when a file of ours goes; by where it is. */
static const struct {
	const char *folder;
	const char *before[4], *after[4];
} goodbyes[] = {
	{ "/etc/apparmor.d/", { "apparmor_parser", "-R", "/etc/apparmor.d/hotcell" }, { NULL } },
	{ "/etc/systemd/system/", { NULL }, { "systemctl", "daemon-reload" } },
};

static bool undo_file(const char *root, const char *name, const char *path, struct error *err)
{
	const char *const nothing[] = { NULL };
	const char *const *before = nothing, *const *after = nothing;
	struct error ignored;
	bool kept;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(goodbyes); i++) {
		if (strncmp(name, goodbyes[i].folder, strlen(goodbyes[i].folder)) != 0)
			continue;
		before = goodbyes[i].before;
		after = goodbyes[i].after;
	}
	/* It may never have been loaded. */
	if (access(path, F_OK) == 0)
		(void)run_command(root, before, &ignored);
	r = remove_file(path, &kept);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot remove %s", path);
	printf(kept ? "kept %s: it is not as hotcell wrote it\n" : "removed %s\n", path);
	return run_command(root, after, err);
}

static bool undo_action(const char *root, const json_t *action, bool dry, struct error *err)
{
	const char *name = json_string_value(json_object_get(action, "path"));
	const char *line = json_string_value(json_object_get(action, "line"));
	_cleanup_free_ char *path = xasprintf("%s%s", root, name ? name : "");
	int r;

	if (!name || name[0] != '/' || strstr(name, "/../"))
		return error_set(err, ERR_SYSTEM, 0, "%s names no file", HOST_SETUP_STATE);
	if (dry) {
		printf(line ? "would take the line %s%sfrom %s\n" : "would remove %s%s%s\n",
		       line ? line : "", line ? " " : "", path);
		return true;
	}
	if (!line)
		return undo_file(root, name, path, err);
	r = remove_line(path, line);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot change %s", path);
	printf("took the line %s from %s\n", line, path);
	return true;
}

static void remove_folders(const char *root, const json_t *folders)
{
	for (size_t i = json_array_size(folders); i-- > 0;) {
		const char *name = json_string_value(json_array_get(folders, i));
		_cleanup_free_ char *path = xasprintf("%s%s", root, name ? name : "/nonexistent");

		/* Not when somebody has put something into it since. */
		(void)rmdir(path);
	}
}

bool host_undo(const char *root, bool dry, size_t *ret_n, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s%s", root, HOST_SETUP_STATE);
	json_t *state = load_state(root, err);
	const json_t *actions = json_object_get(state, "actions");
	bool ok = state != NULL;

	*ret_n = json_array_size(actions);
	for (size_t i = *ret_n; ok && i-- > 0;)
		ok = undo_action(root, json_array_get(actions, i), dry, err);
	if (ok && !dry) {
		if (unlink(path) < 0 && errno != ENOENT)
			ok = error_set(err, ERR_SYSTEM, errno, "cannot remove %s", path);
		else
			remove_folders(root, json_object_get(state, "folders"));
	}
	json_decref(state);
	return ok;
}
