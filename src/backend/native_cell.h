/* One cell of the native backend, as native.c (the warden's messages) and native_cell.c (the cell's own
 * sockets and files) share it. */
#pragma once

#include <sys/statfs.h>

#include "backend/ops.h"
#include "wire/warden_messages.h"

struct file_server;
struct loop;
struct loop_timer;
struct native;
struct port;

enum native_cell_state {
	NATIVE_ASKED,    /* CREATE was sent */
	NATIVE_BUILDING, /* CREATED came: there are sockets, the cell is not ready */
	NATIVE_READY,
	NATIVE_RUNNING,
	NATIVE_ENDED, /* DONE or EXIT came, or it was killed */
};

struct native_cell {
	struct cell base;
	struct native_cell *next;
	struct native *native;
	struct loop *loop;
	struct warden_create *create; /* not sent yet: the warden has not said HELLO */
	uint64_t cookie;
	uint64_t id; /* 0 until CREATED */
	enum native_cell_state state;
	bool driver;
	bool driver_ready;
	bool init_ready, exited;
	bool killed;
	bool gone;
	bool failed; /* `failed` was told: nothing more is */
	bool orphan; /* freed by its owner; kept until the warden has said its last word */
	int fds[CELL_FD_COUNT];
	struct port *control, *driver_port;
	struct file_server *files;
	struct statfs workspace; /* as it was when the cell was made; f_files 0: unknown */
	struct loop_timer *sampler;
	uint64_t cpu_us_at_run;
	uint64_t memory_sampled, processes_sampled;
	uint64_t exit_cpu_us, exit_memory_bytes;
	uint64_t gone_cpu_us, gone_memory_bytes;
	bool gone_over_memory; /* the warden's watcher ended it */
};

/* CREATED came: takes fds as `has` says. 0 or -EPROTO. */
int native_cell_created(struct native_cell *cell, uint32_t has, struct wire_fds *fds);

/* Closes everything and stops every timer; the struct stays. */
void native_cell_close(struct native_cell *cell);

int native_cell_run(struct cell *base, const int fds[RUN_FD_COUNT]);
void native_cell_kill(struct cell *base);
int native_cell_freeze(struct cell *base, bool on);
/* Takes what init had still said before it went: its words may be overtaken by the warden's. */
void native_cell_drain_control(struct native_cell *cell);

void native_cell_usage(struct cell *base, struct cell_usage *ret);
bool native_cell_workspace_is_empty(struct cell *base);
