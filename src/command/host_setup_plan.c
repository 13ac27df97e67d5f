/* What this host needs, found by looking. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/parse.h"
#include "command/doctor.h"
#include "command/host_setup.h"
#include "command/privilege.h"

enum {
	RANGE_FIRST = 100000, /* SUB_UID_MIN of login.defs */
	RANGE_COUNT = 65536,
	RANGE_LAST = 1800000000, /* cells.uid_base is above */
	FILE_MAX = 1 << 20,
};

static const char drop_in[] = "/etc/systemd/system/user@.service.d/hotcell.conf";
static const char profile[] = "/etc/apparmor.d/hotcell";

/* ---- parts ---- */

void host_profile_text(const char *program, char *text, size_t size)
{
	snprintf(
		text, size,
		HOST_SETUP_MARKER
		"\n"
		"# Leaves user namespaces to hotcell, whose sandboxes are made of them, where AppArmor takes\n"
		"# their rights from everybody else (kernel.apparmor_restrict_unprivileged_userns = 1).\n"
		"abi <abi/4.0>,\n"
		"include <tunables/global>\n"
		"\n"
		"profile hotcell \"%s\" flags=(unconfined) {\n"
		"  userns,\n"
		"\n"
		"  include if exists <local/hotcell>\n"
		"}\n",
		program);
}

/* "name:first:count"; false when it makes no sense. */
static bool parse_range(const char *line, size_t len, uint64_t *ret_first, uint64_t *ret_count)
{
	char text[256], *rest = text;
	const char *first;

	if (len >= sizeof(text))
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	(void)strsep(&rest, ":");
	first = strsep(&rest, ":");
	return first && rest && parse_uint64(first, ret_first) == 0 &&
	       parse_uint64(rest, ret_count) == 0 && *ret_first <= UINT32_MAX &&
	       *ret_count <= UINT32_MAX;
}

/* Moves *first behind every range of the text that it would overlap. */
static bool skip_ranges(const char *text, uint64_t *first)
{
	bool moved = false;

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		uint64_t from, count;

		if (parse_range(line, len, &from, &count) && from < *first + RANGE_COUNT &&
		    from + count > *first) {
			*first = from + count;
			moved = true;
		}
		line += len + (line[len] == '\n');
	}
	return moved;
}

uint32_t host_free_range(const char *subuid, const char *subgid)
{
	uint64_t first = RANGE_FIRST;

	while (skip_ranges(subuid, &first) || skip_ranges(subgid, &first))
		if (first > RANGE_LAST)
			return 0;
	return (uint32_t)first;
}

unsigned host_controllers(const char *words)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = { { "cpu", DELEGATES_CPU },
		      { "memory", DELEGATES_MEMORY },
		      { "pids", DELEGATES_PIDS } };
	unsigned found = 0;

	for (const char *p = words; *p;) {
		size_t len;

		p += strspn(p, " \t");
		len = strcspn(p, " \t\n");
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(known[i].name) == len && strncmp(p, known[i].name, len) == 0)
				found |= known[i].bit;
		p += len;
		if (*p == '\n')
			break;
	}
	return found;
}

static unsigned delegate_value(const char *value)
{
	static const char *const all[] = { "yes", "true", "on", "1" };
	size_t len = strcspn(value, " \t\n");

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strlen(all[i]) == len && strncmp(value, all[i], len) == 0)
			return DELEGATES_ALL;
	return host_controllers(value);
}

unsigned host_delegated(const char *unit, bool *ret_found)
{
	static const char key[] = "Delegate=";
	unsigned given = 0;

	*ret_found = false;
	for (const char *line = unit; *line;) {
		size_t len = strcspn(line, "\n");

		if (strncmp(line, key, strlen(key)) == 0) {
			given = delegate_value(line + strlen(key));
			*ret_found = true;
		}
		line += len + (line[len] == '\n');
	}
	return given;
}

bool host_drop_line(char *text, const char *line)
{
	size_t len = strlen(line);

	for (char *p = text; (p = strstr(p, line)); p += len) {
		bool begins = p == text || p[-1] == '\n';
		char *end = p + len;

		if (!begins || (*end != '\n' && *end != '\0'))
			continue;
		end += *end == '\n';
		memmove(p, end, strlen(end) + 1);
		return true;
	}
	return false;
}

/* ---- looking ---- */

/* The file below root as a string in b; "" when it is not there. */
static const char *read_file(const char *root, const char *path, struct buf *b)
{
	char full[PATH_MAX];
	_cleanup_close_ int fd = -1;

	buf_clear(b);
	snprintf(full, sizeof(full), "%s%s", root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_read_all(fd, b) < 0)
		buf_clear(b);
	return buf_string(b);
}

static void add_note(struct host_plan *plan, const char *fmt, ...) _printf_(2, 3);
static void add_note(struct host_plan *plan, const char *fmt, ...)
{
	va_list args;

	if (plan->n_notes == HOST_NOTES_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(plan->notes[plan->n_notes++], HOST_WHY_MAX, fmt, args);
	va_end(args);
}

static struct host_action *add_action(struct host_plan *plan, enum host_action_kind kind,
				      const char *path, const char *why)
{
	struct host_action *action = &plan->actions[plan->n_actions++];

	*action = (struct host_action){ .kind = kind };
	snprintf(action->path, sizeof(action->path), "%s", path);
	snprintf(action->why, sizeof(action->why), "%s", why);
	return action;
}

static void plan_apparmor(const struct host_request *request, struct host_plan *plan)
{
	_cleanup_buf_ struct buf text;
	struct host_action *action;
	char value[32], wanted[HOST_TEXT_MAX];
	struct stat st;

	buf_init(&text, FILE_MAX);
	if (!read_fact(request->root, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		       value, sizeof(value)) ||
	    strcmp(value, "1") != 0)
		return;
	host_profile_text(request->program, wanted, sizeof(wanted));
	if (strcmp(read_file(request->root, profile, &text), wanted) == 0)
		return;
	if (text.len > 0 && !strstr(buf_string(&text), HOST_SETUP_MARKER)) {
		add_note(plan, "%s is there and not ours: it stays as it is", profile);
		return;
	}
	action = add_action(
		plan, HOST_FILE, profile,
		"AppArmor takes all rights from user namespaces; this profile leaves them "
		"to hotcell");
	snprintf(action->text, sizeof(action->text), "%s", wanted);
	action->after[0] = "apparmor_parser";
	action->after[1] = "-r";
	action->after[2] = profile;
	if (stat(request->program, &st) == 0 && (st.st_uid != 0 || st.st_mode & 022))
		add_note(
			plan,
			"%.150s can be changed by others than root, who then have the right as well",
			request->program);
}

static bool find_user(const struct host_request *request, uid_t *ret)
{
	char path[PATH_MAX], strings[4096];
	struct passwd entry, *user = NULL;
	FILE *file;

	if (!request->root[0]) {
		(void)getpwnam_r(request->user, &entry, strings, sizeof(strings), &user);
	} else {
		snprintf(path, sizeof(path), "%s/etc/passwd", request->root);
		file = fopen(path, "re");
		while (file && fgetpwent_r(file, &entry, strings, sizeof(strings), &user) == 0 &&
		       strcmp(user->pw_name, request->user) != 0)
			user = NULL;
		if (file)
			fclose(file);
	}
	if (user)
		*ret = user->pw_uid;
	return user != NULL;
}

static void plan_range(struct host_plan *plan, const char *path, const char *user, uint32_t first)
{
	struct host_action *action = add_action(plan, HOST_LINE, path,
						"ids of their own for the cells of this user");

	snprintf(action->text, sizeof(action->text), "%s:%u:%d", user, first, RANGE_COUNT);
}

static bool plan_subuids(const struct host_request *request, struct host_plan *plan,
			 struct error *err)
{
	_cleanup_buf_ struct buf uids, gids;
	uint32_t first, count, range;
	bool has_uids, has_gids;
	uid_t uid;

	buf_init(&uids, FILE_MAX);
	buf_init(&gids, FILE_MAX);
	if (!request->user) {
		add_note(plan, "no user named (--user NAME): nobody gets subordinate ids");
		return true;
	}
	if (!find_user(request, &uid))
		return error_set(err, ERR_INPUT, 0, "there is no user '%.60s'", request->user);
	if (uid == 0)
		return true;
	(void)read_file(request->root, "/etc/subuid", &uids);
	(void)read_file(request->root, "/etc/subgid", &gids);
	has_uids = subuid_find(buf_string(&uids), request->user, uid, &first, &count);
	has_gids = subuid_find(buf_string(&gids), request->user, uid, &first, &count);
	if (has_uids && has_gids)
		return true;
	range = host_free_range(buf_string(&uids), buf_string(&gids));
	if (range == 0)
		return error_set(err, ERR_LIMIT, 0, "/etc/subuid has no room for 65536 more ids");
	if (!has_uids)
		plan_range(plan, "/etc/subuid", request->user, range);
	if (!has_gids)
		plan_range(plan, "/etc/subgid", request->user, range);
	if (!has_path(request->root, "/usr/bin/newuidmap"))
		add_note(plan,
			 "newuidmap is not installed, without which these ids cannot be used: "
			 "apt-get install uidmap");
	return true;
}

/* The unit as distributed, then every drop-in. */
static unsigned delegated_by_units(const char *root)
{
	static const char *const units[] = { "/usr/lib/systemd/system/user@.service",
					     "/lib/systemd/system/user@.service" };
	static const char *const folders[] = { "/usr/lib/systemd/system/user@.service.d",
					       "/etc/systemd/system/user@.service.d" };
	_cleanup_buf_ struct buf text;
	char path[PATH_MAX];
	unsigned given = 0;
	bool found;

	buf_init(&text, FILE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		given |= host_delegated(read_file(root, units[i], &text), &found);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		DIR *dir;

		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		dir = opendir(path);
		for (struct dirent *entry; dir && (entry = readdir(dir));) {
			snprintf(path, sizeof(path), "%s/%s", folders[i], entry->d_name);
			/* Several drop-ins add up. */
			if (strstr(entry->d_name, ".conf"))
				given |= host_delegated(read_file(root, path, &text), &found);
		}
		if (dir)
			closedir(dir);
	}
	return given;
}

static void plan_delegation(const struct host_request *request, struct host_plan *plan)
{
	struct host_action *action;

	/* Without systemd there is nobody to delegate, without v2 nothing. */
	if (!has_path(request->root, "/run/systemd/system") ||
	    !has_path(request->root, "/sys/fs/cgroup/cgroup.controllers") ||
	    delegated_by_units(request->root) == DELEGATES_ALL)
		return;
	action = add_action(
		plan, HOST_FILE, drop_in,
		"sessions of ordinary users get limits for CPU, memory and processes, from "
		"their next login on");
	snprintf(action->text, sizeof(action->text),
		 HOST_SETUP_MARKER "\n[Service]\nDelegate=cpu cpuset io memory pids\n");
	action->after[0] = "systemctl";
	action->after[1] = "daemon-reload";
}

bool host_plan_make(const struct host_request *request, struct host_plan *ret, struct error *err)
{
	*ret = (struct host_plan){ 0 };
	plan_apparmor(request, ret);
	if (!plan_subuids(request, ret, err))
		return false;
	plan_delegation(request, ret);
	return true;
}
