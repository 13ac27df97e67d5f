/* The warden's whole state: one process, one thread, one loop over epoll. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "warden/cell.h"
#include "warden/cgroup.h"
#include "warden/slots.h"
#include "warden/template.h"

enum warden_state { WARDEN_SETUP, WARDEN_SERVING, WARDEN_DRAINING };

struct warden {
	enum warden_state state;
	struct warden_settings settings;
	struct template template;
	struct slots slots;
	struct cgroups cgroups;
	struct cell *cells;
	uint64_t last_number;
	uint32_t landlock_abi;
	int epoll;
	int signals; /* signalfd: SIGCHLD, SIGTERM, SIGINT */
	int init_exe, files_exe;
	bool front_blocked;    /* a message to the front did not fit: that ends it */
	uint32_t prepare_step; /* the step at which the last spare failed, or 0 */
	uint64_t next_look_ms; /* of the watcher */
	bool greeted;          /* HELLO was sent */
	const char *doing;     /* what the message at hand is for, to follow "cannot" */
};

/* Sends to the front. A front that does not read its answers is broken and is ended. */
void warden_send(struct warden *w, const void *message, const int *fds, size_t n_fds);

/* Watches fd for reading; ptr is what the loop hands back (a cell, or NULL for the fixed ones). */
int warden_watch(struct warden *w, int fd, void *ptr);

/* Keeps the number of spares that the settings ask for. */
void warden_refill(struct warden *w);

/* Tells the front what the host gives, once: when the first spare stands, or when none can. */
void warden_greet(struct warden *w);

/* A cell that nobody had asked for could not be prepared. */
void warden_prepare_failed(struct warden *w, uint32_t step);

/* Takes the best spare: one that waits, else one that is being prepared, else a new one. NULL with the
 * step and errno that failed. */
struct cell *warden_take_spare(struct warden *w, uint32_t *ret_step, int *ret_errnum);

/* One message from the command or the front; a negative errno ends that peer, and so the warden. */
int requests_from_command(struct warden *w);
int requests_from_front(struct warden *w);
