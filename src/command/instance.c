#include "command/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "command/hierarchies.h"
#include "command/installation.h"
#include "command/locks.h"
#include "command/privilege.h"
#include "command/setup.h"
#include "command/spawn.h"
#include "config/config.h"
#include "wire/order_messages.h"
#include "wire/warden_messages.h"

enum {
	UIDS_PER_INSTANCE = 1024,
	FRONT_UID = UIDS_PER_INSTANCE - 1, /* the block's last; each cell has two from its start */
	SLOTS_MAX = FRONT_UID / 2,
	/* How long what a dead instance left may take to die before its number is passed over. */
	LEFTOVER_WAIT_MS = 500,
	REMOVE_WAIT_MS = 1000,
	FRONT_ARGS_MAX = INSTALLATION_FOLDERS_MAX + 8,
};

struct instance {
	struct identity identity;
	unsigned number;
	int locks; /* the run directory */
	int lock;
	struct hierarchies hierarchies;
	struct setup setup;
	int warden; /* our end of the warden's command socket */
	int orders; /* our end of the front's orders socket */
	struct child warden_child, front_child;
};

/* Finds the first free number, clears what its last owner left, and locks it. */
static bool take_number(struct instance *i, const bool left[INSTANCES_MAX], struct error *err)
{
	for (unsigned k = 0; k < INSTANCES_MAX; k++) {
		_cleanup_close_ int lock = locks_take(i->locks, k);

		if (lock == -EWOULDBLOCK)
			continue;
		if (lock < 0)
			return error_set(err, ERR_SYSTEM, -lock, "cannot lock instance %u", k);
		if (left[k] && hierarchies_remove(&i->hierarchies, k, LEFTOVER_WAIT_MS) < 0)
			continue;
		i->number = k;
		i->lock = TAKE_FD(lock);
		return true;
	}
	return error_set(err, ERR_BUSY, 0, "%d instances of hotcell are running: stop one first",
			 INSTANCES_MAX);
}

/* The dead leave directories, at worst processes; whoever comes next clears them away. */
static void sweep_others(struct instance *i, const bool left[INSTANCES_MAX])
{
	for (unsigned k = 0; k < INSTANCES_MAX; k++) {
		_cleanup_close_ int lock = -1;

		if (!left[k] || k == i->number)
			continue;
		lock = locks_take(i->locks, k);
		if (lock >= 0)
			(void)hierarchies_remove(&i->hierarchies, k, 0);
	}
}

/* The first uid of this instance's block, as its own user namespace counts. */
static uint32_t uid_block(const struct instance *i, const struct config *config)
{
	uint32_t base = i->identity.privilege == PRIVILEGE_ROOT ? (uint32_t)config->cells_uid_base
								: 1;

	return base + i->number * UIDS_PER_INSTANCE;
}

static bool check_uids(const struct instance *i, const struct config *config, struct error *err)
{
	if (config->cells_uid_base == 0 ||
	    config->cells_uid_base > INT32_MAX - (uint64_t)INSTANCES_MAX * UIDS_PER_INSTANCE)
		return error_set(err, ERR_INPUT, 0,
				 "cells.uid_base = %" PRIu64 " leaves no room for cells",
				 config->cells_uid_base);
	if (i->identity.privilege == PRIVILEGE_SUBUIDS &&
	    uid_block(i, config) + UIDS_PER_INSTANCE > i->identity.uid_count)
		return error_set(
			err, ERR_BUSY, 0,
			"instance %u needs more uids than the %u that /etc/subuid gives you: stop "
			"another instance of hotcell, or have the range made larger",
			i->number, i->identity.uid_count);
	return true;
}

static bool start_program(const struct instance_request *request, const char *name,
			  struct child_request child, struct child *ret, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", request->installation->programs, name);
	int r;

	child.path = path;
	r = child_start(&child, ret);
	return r < 0 ? error_set(err, ERR_SYSTEM, -r, "cannot start %s", path) : true;
}

static bool start_front(struct instance *i, const struct instance_request *request, int warden,
			int orders, struct error *err)
{
	_cleanup_free_ char *text = config_to_text(request->config);
	_cleanup_close_ int settings = fd_from_bytes("settings", text, strlen(text));
	const int fds[] = { warden, orders, settings };
	const char *argv[FRONT_ARGS_MAX] = { "hotcell-front", request->mode };
	char uid[16], trees[16];
	size_t n = 2;

	if (settings < 0)
		return error_set(err, ERR_SYSTEM, -settings, "cannot make the front's settings");
	if (i->identity.privilege != PRIVILEGE_ONE_UID) {
		snprintf(uid, sizeof(uid), "%u", uid_block(i, request->config) + FRONT_UID);
		argv[n++] = "--uid";
		argv[n++] = uid;
	} else {
		argv[n++] = "--keep-uid";
		argv[n++] = "1";
	}
	snprintf(trees, sizeof(trees), "%u", setup_trees(&i->setup));
	argv[n++] = "--trees";
	argv[n++] = trees;
	for (size_t f = 0; request->installation->runtimes[f]; f++)
		argv[n++] = request->installation->runtimes[f];
	return start_program(request, "hotcell-front",
			     (struct child_request){ .argv = argv,
						     .fds = fds,
						     .n_fds = ARRAY_SIZE(fds),
						     .has_client = request->has_client },
			     &i->front_child, err);
}

static bool make_pair(int ret[2], struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot make a socket pair");
	return true;
}

static void close_pair(int pair[2])
{
	pair[0] = fd_close(pair[0]);
	pair[1] = fd_close(pair[1]);
}

/* Both programs load at the same time, and while we go on. */
static bool start_programs(struct instance *i, const struct instance_request *request,
			   struct error *err)
{
	static const char *const argv[] = { "hotcell-warden", NULL };
	int command[2] = { -1, -1 }, between[2] = { -1, -1 }, orders[2] = { -1, -1 };
	bool ok = make_pair(command, err) && make_pair(between, err) && make_pair(orders, err);
	const int fds[] = { command[1], between[0], i->lock };

	ok = ok && start_program(request, "hotcell-warden",
				 (struct child_request){
					 .argv = argv, .fds = fds, .n_fds = ARRAY_SIZE(fds) },
				 &i->warden_child, err);
	ok = ok && start_front(i, request, between[1], orders[1], err);
	if (ok) {
		i->warden = TAKE_FD(command[0]);
		i->orders = TAKE_FD(orders[0]);
	}
	close_pair(command);
	close_pair(between);
	close_pair(orders);
	return ok;
}

static int open_program(const struct instance_request *request, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", request->installation->programs, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int send_settings(struct instance *i, const struct instance_request *request)
{
	_cleanup_close_ int init = open_program(request, "hotcell-init");
	_cleanup_close_ int files = open_program(request, "hotcell-files");
	const int fds[] = { init, files };
	WIRE_MESSAGE(warden_settings, m, WARDEN_SETTINGS);

	if (init < 0 || files < 0)
		return init < 0 ? init : files;
	m.uid_mode = i->identity.privilege == PRIVILEGE_ONE_UID ? UID_SINGLE : UID_SLOTS;
	m.uid_base = uid_block(i, request->config);
	/* Cells that are being prepared and those that are being taken down have uids too. */
	m.slots = (uint32_t)MIN(2 * request->config->cells_max + request->config->cells_spare + 8,
				(uint64_t)SLOTS_MAX);
	m.cgroup_kind = i->hierarchies.kind;
	m.controllers = i->hierarchies.controllers;
	m.spare = request->one_run ? 0 : (uint32_t)request->config->cells_spare;
	return wire_send(i->warden, &m, fds, ARRAY_SIZE(fds));
}

static int send_cgroups(struct instance *i)
{
	for (uint32_t c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		WIRE_MESSAGE(warden_cgroup, m, WARDEN_CGROUP);
		int r;

		if (i->hierarchies.own[c] < 0)
			continue;
		m.controller = c;
		r = wire_send(i->warden, &m, &i->hierarchies.own[c], 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool set_up_warden(struct instance *i, const struct instance_request *request,
			  struct error *err)
{
	WIRE_MESSAGE(warden_start, start, WARDEN_START);
	int r = send_settings(i, request);

	if (r == 0)
		r = send_cgroups(i);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot set hotcell-warden up");
	if (!setup_send(&i->setup, i->warden, request->runtimes, request->only, err))
		return false;
	r = wire_send(i->warden, &start, NULL, 0);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot start hotcell-warden");
	return true;
}

static bool start(struct instance *i, const struct instance_request *request, struct error *err)
{
	bool left[INSTANCES_MAX];

	privilege_look(&i->identity);
	/* By the user's own name and rights, so before his namespace is entered. */
	i->locks = locks_open(err);
	if (i->locks < 0)
		return false;
	if (!hierarchies_open(&i->hierarchies, request->config->cells_cgroup, err))
		return false;
	hierarchies_numbers(&i->hierarchies, left);
	if (!take_number(i, left, err) || !privilege_enter(&i->identity, err))
		return false;
	/* The host's directories must be opened inside, or the warden could not mount them. */
	if (!check_uids(i, request->config, err) || !setup_open(&i->setup, err))
		return false;
	if (!start_programs(i, request, err))
		return false;
	if (!hierarchies_make(&i->hierarchies, i->number, err))
		return false;
	if (!set_up_warden(i, request, err))
		return false;
	setup_done(&i->setup);
	sweep_others(i, left);
	return true;
}

struct instance *instance_start(const struct instance_request *request, struct error *err)
{
	struct instance *i = xcalloc(1, sizeof(*i));

	i->locks = i->lock = i->warden = i->orders = -1;
	i->warden_child.pidfd = i->front_child.pidfd = -1;
	(void)hierarchies_open(&i->hierarchies, "none", NULL);
	if (!start(i, request, err)) {
		instance_stop(i, true);
		return NULL;
	}
	return i;
}

void instance_stop(struct instance *i, bool at_once)
{
	uint64_t deadline = clock_monotonic_ms() + (at_once ? 0 : INSTANCE_STOP_MS);

	if (!i)
		return;
	/* The front ends when its orders end, the warden when both of its peers are gone. */
	i->orders = fd_close(i->orders);
	i->warden = fd_close(i->warden);
	child_end(&i->front_child, deadline);
	child_end(&i->warden_child, deadline);
	if (i->lock >= 0)
		(void)hierarchies_remove(&i->hierarchies, i->number, REMOVE_WAIT_MS);
	hierarchies_close(&i->hierarchies);
	setup_done(&i->setup);
	(void)fd_close(i->lock);
	(void)fd_close(i->locks);
	free(i);
}

int instance_orders(const struct instance *instance)
{
	return instance->orders;
}

int instance_front_pidfd(const struct instance *instance)
{
	return instance->front_child.pidfd;
}

int instance_warden_pidfd(const struct instance *instance)
{
	return instance->warden_child.pidfd;
}
