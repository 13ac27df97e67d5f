/*
 * The event loop: one thread, timers, and descriptors that can be read or written. Only this room sees
 * libuv.
 *
 * Everything made in a loop is freed before the loop is. Freeing a timer or a watch from inside its own
 * callback is allowed; after the free no callback comes.
 */
#pragma once

#include <stdint.h>

struct loop;
struct loop_timer;
struct loop_watch;

enum loop_events { LOOP_READ = 1u << 0, LOOP_WRITE = 1u << 1 };

/* NULL when the kernel gives no epoll. Also makes SIGPIPE harmless: a peer that has gone is an EPIPE. */
struct loop *loop_new(void);
void loop_free(struct loop *loop); /* accepts NULL */

void loop_run(struct loop *loop);  /* until loop_stop(), or nothing is left to wait for */
void loop_step(struct loop *loop); /* waits for one event and handles what has come */
void loop_stop(struct loop *loop);

struct loop_timer *loop_timer_new(struct loop *loop, void (*fire)(void *data), void *data);
/* After ms, then every repeat_ms when that is not 0. Starting again replaces what was set. */
void loop_timer_start(struct loop_timer *timer, uint64_t ms, uint64_t repeat_ms);
void loop_timer_stop(struct loop_timer *timer);
struct loop_timer *loop_timer_free(struct loop_timer *timer); /* accepts NULL; returns NULL */

/* Watches fd (a pipe or socket; it becomes non-blocking), which stays the caller's and is closed only
 * after the watch is freed. Nothing is watched until loop_watch_set(). An error or a hang-up shows as
 * every event that was asked for: the next read or write tells what it was. NULL when fd cannot be
 * watched, e.g. a regular file. */
struct loop_watch *loop_watch_new(struct loop *loop, int fd,
				  void (*event)(unsigned events, void *data), void *data);
void loop_watch_set(struct loop_watch *watch, unsigned events); /* 0: nothing */
struct loop_watch *loop_watch_free(struct loop_watch *watch);   /* accepts NULL; returns NULL */
