/* What the warden may be asked, by whom, when, and why it is safe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/macros.h"
#include "warden/privileges.h"
#include "warden/warden.h"

#define IN(state) (1u << WARDEN_##state)

typedef int request_fn(struct warden *w, const void *message, struct wire_fds *fds);

static int on_settings(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_settings *s = message;
	int r;

	if (w->init_exe >= 0 || s->uid_mode > UID_SINGLE || s->slots == 0 || s->slots > SLOTS_MAX ||
	    s->uid_base > UINT32_MAX - 2 * SLOTS_MAX)
		return -EPROTO;
	w->settings = *s;
	w->init_exe = wire_take_fd(fds, 0);
	w->files_exe = wire_take_fd(fds, 1);
	slots_init(&w->slots, s->uid_base, s->slots);
	r = template_open(&w->template);
	w->template.bind_trees = s->bind_trees != 0;
	return r;
}

static int on_cgroup(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_cgroup *m = message;

	if (m->controller >= CGROUP_CONTROLLER_COUNT || w->cgroups.dirs[m->controller] >= 0)
		return -EPROTO;
	w->cgroups.dirs[m->controller] = wire_take_fd(fds, 0);
	return 0;
}

static int on_tree(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_tree *m = message;

	if (w->init_exe < 0 || !template_place_is_valid(m->place, sizeof(m->place)))
		return -EPROTO;
	return template_add_tree(&w->template, m->index, m->place, fds->fd[0]);
}

static int on_file(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_file *m = message;

	if (w->init_exe < 0 || !template_place_is_valid(m->place, sizeof(m->place)))
		return -EPROTO;
	return template_add_file(&w->template, m->place, m->mode, fds->fd[0]);
}

static int on_link(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_link *m = message;

	(void)fds;
	if (w->init_exe < 0 || !template_place_is_valid(m->place, sizeof(m->place)) ||
	    !memchr(m->target, '\0', sizeof(m->target)))
		return -EPROTO;
	return template_add_link(&w->template, m->place, m->target);
}

static int on_start(struct warden *w, const void *message, struct wire_fds *fds)
{
	int r;

	(void)message;
	(void)fds;
	if (w->init_exe < 0)
		return -EPROTO;
	r = cgroups_start(&w->cgroups, w->settings.cgroup_kind, w->settings.controllers);
	if (r == 0)
		r = template_enter(&w->template);
	if (r == 0 && w->settings.uid_mode == UID_SLOTS)
		r = privileges_drop();
	if (r < 0)
		return r;
	w->state = WARDEN_SERVING;
	warden_refill(w);
	return 0;
}

static int on_create(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_create *m = message;
	WIRE_MESSAGE(warden_failed, failed, WARDEN_FAILED);
	uint32_t step = STEP_SPEC;
	int errnum = EINVAL;
	struct cell *cell;

	(void)fds;
	/* The front checks before it asks, so a bad spec is a front that was taken over or has a
	 * bug; the cell is refused either way. */
	if (cell_spec_check(&m->spec, NULL) == 0 && !(m->spec.trees & ~w->template.trees)) {
		cell = warden_take_spare(w, &step, &errnum);
		if (cell) {
			cell_assign(w, cell, m);
			warden_refill(w);
			return 0;
		}
	}
	failed.cookie = m->cookie;
	failed.step = step;
	failed.errnum = errnum;
	warden_send(w, &failed, NULL, 0);
	return 0;
}

static struct cell *find(const struct warden *w, uint64_t number)
{
	for (struct cell *cell = w->cells; cell; cell = cell->next) {
		if (cell->number == number && cell->created && !cell->doomed)
			return cell;
	}
	return NULL;
}

static int on_destroy(struct warden *w, const void *message, struct wire_fds *fds)
{
	struct cell *cell = find(w, ((const struct warden_destroy *)message)->cell);

	(void)fds;
	/* Not there: it failed while the request was on its way. */
	if (cell)
		cell_destroy(w, cell);
	return 0;
}

static int on_files(struct warden *w, const void *message, struct wire_fds *fds)
{
	const struct warden_files *m = message;
	struct cell *cell = find(w, m->cell);
	WIRE_MESSAGE(warden_files_ready, ready, WARDEN_FILES_READY);
	_cleanup_close_ int socket = -1;
	int r = cell ? cell_start_files(w, cell, &socket) : -ENOENT;

	(void)fds;
	ready.cell = m->cell;
	ready.errnum = -r;
	warden_send(w, &ready, &socket, r == 0 ? 1 : 0);
	return 0;
}

static const struct request {
	struct wire_rule rule;
	request_fn *run;
	const char *doing;
} from_command[WARDEN_MESSAGE_COUNT] = {
	/* Safe: the command is as privileged as the warden and has read only trusted files. Once the
	 * front is served the command has nothing more to say, so nothing is accepted from it. */
	[WARDEN_SETTINGS] = { { IN(SETUP), sizeof(struct warden_settings), 0, 2, 2 }, on_settings,
		"take the settings" },
	[WARDEN_CGROUP] = { { IN(SETUP), sizeof(struct warden_cgroup), 0, 1, 1 }, on_cgroup,
		"take a cgroup" },
	[WARDEN_TREE] = { { IN(SETUP), sizeof(struct warden_tree), 0, 1, 1 }, on_tree,
		"add a directory of the host to the cells' root" },
	[WARDEN_FILE] = { { IN(SETUP), sizeof(struct warden_file), 0, 1, 1 }, on_file,
		"add a file to the cells' root" },
	[WARDEN_LINK] = { { IN(SETUP), sizeof(struct warden_link), 0, 0, 0 }, on_link,
		"add a link to the cells' root" },
	[WARDEN_START] = { { IN(SETUP), sizeof(struct warden_start), 0, 0, 0 }, on_start,
		"move into the cells' template root" },
}, from_front[WARDEN_MESSAGE_COUNT] = {
	/* Safe: only makes new namespaces; cell_spec_check() has bounded every field, and the spec
	 * names nothing of the host. */
	[WARDEN_CREATE] = { { IN(SERVING), sizeof(struct warden_create), 0, 0, 0 }, on_create,
		"make a cell" },
	/* Safe: the number is looked up among the cells that this warden made. */
	[WARDEN_DESTROY] = { { IN(SERVING), sizeof(struct warden_destroy), 0, 0, 0 }, on_destroy,
		"end a cell" },
	/* Safe: starts one fixed program with no more rights than the cell's own uid has. */
	[WARDEN_FILES] = { { IN(SERVING), sizeof(struct warden_files), 0, 0, 0 }, on_files,
		"serve files" },
};

static int receive(struct warden *w, int socket, const struct request *table)
{
	static _Alignas(8) char message[WIRE_MAX_BYTES];
	struct wire_rule rules[WARDEN_MESSAGE_COUNT];
	_cleanup_fds_ struct wire_fds fds;
	const struct wire_header *header = (const void *)message;
	ssize_t n = wire_recv(socket, message, sizeof(message), &fds);

	w->doing = "receive a message";
	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return n == 0 ? -ECONNRESET : (int)n;
	for (size_t i = 0; i < WARDEN_MESSAGE_COUNT; i++)
		rules[i] = table[i].rule;
	w->doing = "accept a message that may not come now";
	if (wire_check(rules, WARDEN_MESSAGE_COUNT, w->state, header, fds.n) < 0)
		return -EPROTO;
	w->doing = table[header->type].doing;
	return table[header->type].run(w, message, &fds);
}

int requests_from_command(struct warden *w)
{
	return receive(w, WARDEN_FD_COMMAND, from_command);
}

int requests_from_front(struct warden *w)
{
	return receive(w, WARDEN_FD_FRONT, from_front);
}
