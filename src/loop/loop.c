#include "loop/loop.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

/* <uv.h> brings <sys/param.h>; ours are the same. */
#undef MIN
#undef MAX

#include "base/alloc.h"

struct loop {
	uv_loop_t uv; /* first: a handle's loop is ours */
	bool stepping;
};

struct loop_timer {
	uv_timer_t uv;
	void (*fire)(void *data);
	void *data;
};

struct loop_watch {
	uv_poll_t uv;
	unsigned wanted;
	void (*event)(unsigned events, void *data);
	void *data;
};

struct loop *loop_new(void)
{
	struct loop *loop = xcalloc(1, sizeof(*loop));

	if (uv_loop_init(&loop->uv) != 0) {
		free(loop);
		return NULL;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	/* Handles are freed by their close callbacks, which need one more turn. */
	(void)uv_run(&loop->uv, UV_RUN_NOWAIT);
	if (uv_loop_close(&loop->uv) != 0) {
		fputs("loop_free: a timer or watch was not freed\n", stderr);
		abort();
	}
	free(loop);
}

void loop_run(struct loop *loop)
{
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_step(struct loop *loop)
{
	loop->stepping = true;
	(void)uv_run(&loop->uv, UV_RUN_ONCE);
	loop->stepping = false;
}

void loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

static void free_handle(uv_handle_t *handle)
{
	free(handle->data);
}

static void timer_fired(uv_timer_t *uv)
{
	struct loop_timer *timer = uv->data;

	/* libuv would go on to wait for a descriptor; a timer is an event too. */
	if (((struct loop *)uv->loop)->stepping)
		uv_stop(uv->loop);
	timer->fire(timer->data);
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fire)(void *data), void *data)
{
	struct loop_timer *timer = xcalloc(1, sizeof(*timer));

	timer->fire = fire;
	timer->data = data;
	(void)uv_timer_init(&loop->uv, &timer->uv);
	timer->uv.data = timer;
	return timer;
}

void loop_timer_start(struct loop_timer *timer, uint64_t ms, uint64_t repeat_ms)
{
	/* libuv counts whole milliseconds from the start of this turn; without the first of these a
	 * timer would fire early, without the second by a part of one. */
	uv_update_time(timer->uv.loop);
	(void)uv_timer_start(&timer->uv, timer_fired, ms ? ms + 1 : 0, repeat_ms);
}

void loop_timer_stop(struct loop_timer *timer)
{
	(void)uv_timer_stop(&timer->uv);
}

struct loop_timer *loop_timer_free(struct loop_timer *timer)
{
	if (timer)
		uv_close((uv_handle_t *)&timer->uv, free_handle);
	return NULL;
}

static void watch_event(uv_poll_t *uv, int status, int events)
{
	struct loop_watch *watch = uv->data;
	unsigned seen = 0;

	if (status < 0) {
		/* libuv stops a descriptor in error; ask again, or the second of two errors is lost. */
		seen = watch->wanted;
		loop_watch_set(watch, seen);
	} else {
		seen |= (events & UV_READABLE) ? LOOP_READ : 0;
		seen |= (events & UV_WRITABLE) ? LOOP_WRITE : 0;
	}
	if (seen)
		watch->event(seen, watch->data);
}

struct loop_watch *loop_watch_new(struct loop *loop, int fd,
				  void (*event)(unsigned events, void *data), void *data)
{
	struct loop_watch *watch = xcalloc(1, sizeof(*watch));

	watch->event = event;
	watch->data = data;
	if (uv_poll_init(&loop->uv, &watch->uv, fd) != 0) {
		free(watch);
		return NULL;
	}
	watch->uv.data = watch;
	return watch;
}

void loop_watch_set(struct loop_watch *watch, unsigned events)
{
	int wanted = 0;

	watch->wanted = events;
	wanted |= (events & LOOP_READ) ? UV_READABLE : 0;
	wanted |= (events & LOOP_WRITE) ? UV_WRITABLE : 0;
	if (wanted)
		(void)uv_poll_start(&watch->uv, wanted, watch_event);
	else
		(void)uv_poll_stop(&watch->uv);
}

struct loop_watch *loop_watch_free(struct loop_watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->uv, free_handle);
	return NULL;
}
