#include "transport/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "protocol/mcp.h"

enum {
	READ_BYTES = 64 << 10,
	/* A buffer that was once this large is given back when it is empty. */
	BUFFER_KEPT_BYTES = 1 << 20,
};

enum state {
	OPEN,
	DRAINING, /* end of input: what runs may still finish */
	FLUSHING, /* everything was cancelled; the rest of the answers goes out */
	ENDED,
};

struct mcp_stdio {
	struct mcp_stdio_config config;
	struct mcp *mcp;
	enum state state;
	int in_flags, out_flags;     /* as they were */
	struct loop_watch *in_watch; /* NULL for a file, which is always readable */
	struct loop_watch *out_watch;
	struct loop_timer *timer;       /* of the end */
	struct loop_timer *input_timer; /* the next look at what is buffered, or at a file */

	struct buf in;
	size_t scanned;  /* bytes of in without a newline */
	bool discarding; /* the rest of a line that was too long */
	bool in_is_over; /* end of file, or an error */
	bool reading;    /* the watch is set */

	struct buf out;
	size_t written; /* bytes of out */
	bool out_is_blocked, out_is_gone;
	bool corked; /* several answers are being made: one write for all */
};

static void update_input(struct mcp_stdio *stdio);
static void advance(struct mcp_stdio *stdio);

/* ---- output ---- */

static size_t queued(const struct mcp_stdio *stdio)
{
	return stdio->out.len - stdio->written;
}

static void drop_output(struct mcp_stdio *stdio)
{
	stdio->written = 0;
	buf_clear(&stdio->out);
	if (stdio->out.size > BUFFER_KEPT_BYTES) {
		buf_done(&stdio->out);
		buf_init(&stdio->out, SIZE_MAX);
	}
}

static void lose_output(struct mcp_stdio *stdio)
{
	stdio->out_is_gone = true;
	stdio->out_is_blocked = false;
	drop_output(stdio);
}

static void flush_output(struct mcp_stdio *stdio)
{
	while (queued(stdio) > 0 && !stdio->out_is_gone) {
		ssize_t n = write(stdio->config.out, stdio->out.data + stdio->written,
				  queued(stdio));

		if (n >= 0) {
			stdio->written += (size_t)n;
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			lose_output(stdio);
		}
	}
	if (queued(stdio) == 0)
		drop_output(stdio);
	else if (stdio->written > stdio->out.len / 2) {
		/* Half of it at a time: each byte is moved about once. */
		buf_consume(&stdio->out, stdio->written);
		stdio->written = 0;
	}
	stdio->out_is_blocked = queued(stdio) > 0;
	if (stdio->out_watch)
		loop_watch_set(stdio->out_watch, stdio->out_is_blocked ? LOOP_WRITE : 0);
}

/* Only from the loop: the mcp must not be in the middle of something. */
static void update_hold(struct mcp_stdio *stdio)
{
	if (stdio->state == OPEN || stdio->state == DRAINING)
		mcp_hold(stdio->mcp, queued(stdio) > MCP_STDIO_QUEUE_HOLD);
}

static void send_message(const char *text, size_t len, void *data)
{
	struct mcp_stdio *stdio = data;

	if (stdio->out_is_gone || stdio->state == FLUSHING || stdio->state == ENDED)
		return;
	(void)buf_append(&stdio->out, text, len);
	(void)buf_append(&stdio->out, "\n", 1);
	if (!stdio->corked && !stdio->out_is_blocked)
		flush_output(stdio);
	if (stdio->out_is_gone)
		loop_timer_start(stdio->timer, 0, 0);
	else if (queued(stdio) > MCP_STDIO_QUEUE_HOLD)
		loop_timer_start(stdio->input_timer, 0, 0);
}

static void out_event(_unused_ unsigned events, void *data)
{
	struct mcp_stdio *stdio = data;

	flush_output(stdio);
	update_hold(stdio);
	update_input(stdio);
	advance(stdio);
}

/* ---- input ---- */

/* Holds what is read back: the client must read first, or wait for its calls. */
static bool must_wait(const struct mcp_stdio *stdio)
{
	return stdio->state != OPEN || stdio->out_is_gone || mcp_is_full(stdio->mcp) ||
	       queued(stdio) >= MCP_STDIO_QUEUE_MAX;
}

static void receive_line(struct mcp_stdio *stdio, const char *line, size_t len)
{
	if (stdio->discarding) {
		stdio->discarding = false;
		return;
	}
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	if (len > stdio->config.message_max)
		mcp_refuse(
			stdio->mcp,
			"Invalid Request: a message may have at most %zu bytes (mcp.message_max)",
			stdio->config.message_max);
	else if (len > 0)
		mcp_receive(stdio->mcp, line, len);
}

/* The line is not whole yet and already too long: it is refused now and not kept. */
static void refuse_start(struct mcp_stdio *stdio)
{
	if (!stdio->discarding)
		mcp_refuse(
			stdio->mcp,
			"Invalid Request: a message may have at most %zu bytes (mcp.message_max)",
			stdio->config.message_max);
	stdio->discarding = true;
	buf_clear(&stdio->in);
	stdio->scanned = 0;
}

/* Every whole line that is there, as long as there is room for what they ask. */
static void receive_lines(struct mcp_stdio *stdio)
{
	size_t at = 0;

	stdio->corked = true;
	while (!must_wait(stdio) && stdio->scanned < stdio->in.len) {
		const uint8_t *from = stdio->in.data + stdio->scanned;
		const uint8_t *end = memchr(from, '\n', stdio->in.len - stdio->scanned);

		if (!end) {
			stdio->scanned = stdio->in.len;
			break;
		}
		receive_line(stdio, (const char *)stdio->in.data + at,
			     (size_t)(end - stdio->in.data) - at);
		at = stdio->scanned = (size_t)(end - stdio->in.data) + 1;
	}
	buf_consume(&stdio->in, at);
	stdio->scanned -= at;
	if (stdio->scanned == stdio->in.len &&
	    (stdio->discarding || stdio->in.len > stdio->config.message_max))
		refuse_start(stdio);
	if (stdio->in.len == 0 && stdio->in.size > BUFFER_KEPT_BYTES) {
		buf_done(&stdio->in);
		buf_init(&stdio->in, stdio->config.message_max + READ_BYTES);
	}
	stdio->corked = false;
	if (!stdio->out_is_blocked)
		flush_output(stdio);
}

static void read_some(struct mcp_stdio *stdio)
{
	uint8_t *to = buf_reserve(&stdio->in, READ_BYTES);
	ssize_t n = to ? read(stdio->config.in, to, READ_BYTES) : 0;

	if (!to || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (n > 0) {
		buf_commit(&stdio->in, (size_t)n);
		return;
	}
	stdio->in_is_over = true;
	loop_timer_start(stdio->timer, MCP_STDIO_GRACE_MS, 0);
}

/* The last line need not end. */
static void receive_last_line(struct mcp_stdio *stdio)
{
	stdio->corked = true;
	if (stdio->in.len > 0 && stdio->scanned == stdio->in.len && !stdio->discarding)
		receive_line(stdio, (const char *)stdio->in.data, stdio->in.len);
	buf_clear(&stdio->in);
	stdio->scanned = 0;
	stdio->corked = false;
	if (!stdio->out_is_blocked)
		flush_output(stdio);
}

static void update_input(struct mcp_stdio *stdio)
{
	bool wants = !must_wait(stdio) && !stdio->in_is_over;
	bool has_lines = !must_wait(stdio) && stdio->scanned < stdio->in.len;

	if (stdio->in_watch && wants != stdio->reading) {
		stdio->reading = wants;
		loop_watch_set(stdio->in_watch, wants ? LOOP_READ : 0);
	}
	/* Lines that had to wait, a file's next piece, or the end after the last line. */
	if (has_lines || (wants && !stdio->in_watch) || (stdio->in_is_over && !must_wait(stdio)))
		loop_timer_start(stdio->input_timer, 0, 0);
}

static void handle_input(struct mcp_stdio *stdio, bool may_read)
{
	if (!must_wait(stdio) && may_read && !stdio->in_is_over)
		read_some(stdio);
	if (!must_wait(stdio))
		receive_lines(stdio);
	if (stdio->in_is_over && !must_wait(stdio) && stdio->scanned == stdio->in.len) {
		receive_last_line(stdio);
		stdio->state = DRAINING;
	}
	update_hold(stdio);
	update_input(stdio);
	advance(stdio);
}

static void in_event(_unused_ unsigned events, void *data)
{
	handle_input(data, true);
}

static void input_fired(void *data)
{
	struct mcp_stdio *stdio = data;

	handle_input(stdio, !stdio->in_watch);
}

/* ---- the end ---- */

static void begin_flush(struct mcp_stdio *stdio)
{
	if (stdio->state == FLUSHING || stdio->state == ENDED)
		return;
	stdio->state = FLUSHING;
	update_input(stdio);
	mcp_cancel_all(stdio->mcp);
	if (!stdio->out_is_gone)
		flush_output(stdio);
	/* Also when there is nothing to flush: `ended` comes from the loop. */
	loop_timer_start(stdio->timer, queued(stdio) > 0 ? MCP_STDIO_FLUSH_MS : 0, 0);
}

/* Looks whether the next state has come. */
static void advance(struct mcp_stdio *stdio)
{
	if (stdio->out_is_gone)
		begin_flush(stdio);
	else if (stdio->state == DRAINING && mcp_calls(stdio->mcp) == 0)
		begin_flush(stdio);
	else if (stdio->state == FLUSHING && queued(stdio) == 0)
		loop_timer_start(stdio->timer, 0, 0);
}

static void timer_fired(void *data)
{
	struct mcp_stdio *stdio = data;

	if (stdio->state == FLUSHING) {
		stdio->state = ENDED;
		stdio->config.ended(stdio->config.data);
	} else {
		begin_flush(stdio);
	}
}

/* From inside the mcp: what follows from it is looked at in the next turn. */
static void call_ended(void *data)
{
	struct mcp_stdio *stdio = data;

	if (stdio->state == DRAINING && mcp_calls(stdio->mcp) == 0)
		loop_timer_start(stdio->timer, 0, 0);
	else if (stdio->state == OPEN && !must_wait(stdio) && !stdio->corked)
		update_input(stdio);
}

void mcp_stdio_stop(struct mcp_stdio *stdio)
{
	begin_flush(stdio);
}

/* ---- life ---- */

bool mcp_stdio_start(struct loop *loop, const struct mcp_stdio_config *config,
		     struct mcp_stdio **ret, struct error *err)
{
	struct mcp_stdio *stdio = xcalloc(1, sizeof(*stdio));
	const struct mcp_config mcp = {
		.loop = loop,
		.registry = config->registry,
		.calls_max = config->calls_max,
		.send = send_message,
		.call_ended = call_ended,
		.data = stdio,
	};

	stdio->config = *config;
	stdio->in_flags = fcntl(config->in, F_GETFL);
	stdio->out_flags = fcntl(config->out, F_GETFL);
	if (stdio->in_flags < 0 || stdio->out_flags < 0) {
		int errnum = errno;

		free(stdio);
		return error_set(err, ERR_SYSTEM, errnum,
				 "MCP needs its standard input and output open");
	}
	if (!stdio->config.message_max)
		stdio->config.message_max = MCP_STDIO_MESSAGE_MAX;
	buf_init(&stdio->in, stdio->config.message_max + READ_BYTES);
	buf_init(&stdio->out, SIZE_MAX);
	stdio->mcp = mcp_new(&mcp);
	stdio->timer = loop_timer_new(loop, timer_fired, stdio);
	stdio->input_timer = loop_timer_new(loop, input_fired, stdio);
	stdio->in_watch = loop_watch_new(loop, config->in, in_event, stdio);
	stdio->out_watch = loop_watch_new(loop, config->out, out_event, stdio);
	update_input(stdio);
	*ret = stdio;
	return true;
}

void mcp_stdio_free(struct mcp_stdio *stdio)
{
	if (!stdio)
		return;
	mcp_free(stdio->mcp);
	(void)loop_watch_free(stdio->in_watch);
	(void)loop_watch_free(stdio->out_watch);
	(void)loop_timer_free(stdio->timer);
	(void)loop_timer_free(stdio->input_timer);
	/* Others may share them: a terminal that stays non-blocking breaks the shell after us. */
	(void)fcntl(stdio->config.in, F_SETFL, stdio->in_flags);
	(void)fcntl(stdio->config.out, F_SETFL, stdio->out_flags);
	buf_done(&stdio->in);
	buf_done(&stdio->out);
	free(stdio);
}
