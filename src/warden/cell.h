/*
 * One cell as the warden sees it: from the process that waits in empty namespaces to the removed cgroup.
 *
 *   PREPARING  forked, building what every cell has          (nobody has asked for it yet)
 *   SPARE      waits for a spec
 *   BUILDING   has a spec; CREATED was sent
 *   RUNNING    hotcell-init was executed
 *   GONE       every process is dead and reaped; cgroup and workspace still there to be read
 *   REMOVED    only its cgroup directory is still busy
 *
 * A cell never goes back to an earlier state and is never used for a second spec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "warden/cgroup.h"
#include "wire/warden_messages.h"

struct rusage;
struct warden;

enum cell_state {
	CELL_PREPARING,
	CELL_SPARE,
	CELL_BUILDING,
	CELL_RUNNING,
	CELL_GONE,
	CELL_REMOVED,
};

struct cell {
	struct cell *next;
	uint64_t number; /* never used again; names the cgroup; the id the front knows */
	enum cell_state state;
	int slot;
	struct cgroup cgroup;
	int sync;      /* to the process that is becoming init; closed by its exec */
	pid_t starter; /* enters the cgroup and makes the namespaces, then exits */
	pid_t init;    /* 0 until it is known, and again when it is reaped */
	pid_t files;   /* hotcell-files, or 0 */
	int user_ns;
	int workspace;
	bool here;                     /* BUILD_HERE came */
	bool wanted;                   /* a spec is assigned */
	bool created;                  /* CREATED was sent */
	bool doomed;                   /* the front wants it gone: remove as soon as it is */
	struct warden_create *request; /* while the cell is still PREPARING */
	bool failed;                   /* FAILED was sent: GONE will not be */
	uint64_t cookie;
	uint64_t memory_limit; /* for the watcher */
	bool over_memory;      /* the watcher killed it */
};

/* Starts a process in new namespaces that waits for a spec. On failure tells at which step. */
int cell_prepare(struct warden *w, struct cell **ret, uint32_t *ret_step);

/* Gives the cell its spec. From here on the front hears of it: CREATED, FAILED, GONE. */
void cell_assign(struct warden *w, struct cell *cell, const struct warden_create *request);

/* The sync socket has something to say. */
void cell_on_sync(struct warden *w, struct cell *cell);

/* A child of the warden ended; false when it was not this cell's. */
bool cell_on_child(struct warden *w, struct cell *cell, pid_t pid, int status,
		   const struct rusage *usage);

void cell_kill(struct warden *w, struct cell *cell);
/* Kills it if it lives, and removes it when it is gone. */
void cell_destroy(struct warden *w, struct cell *cell);
/* Starts hotcell-files; 0 and its socket, or a negative errno. */
int cell_start_files(struct warden *w, struct cell *cell, int *ret_socket);
/* Tries again to remove what was busy; true when the cell is no more (and freed). */
bool cell_reap(struct warden *w, struct cell *cell);
