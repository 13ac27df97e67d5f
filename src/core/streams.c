#include "core/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "loop/loop.h"

enum {
	READ_CHUNK = 64 * 1024,
	/* A pipe holds 64 KiB, and 1 MiB at most when the program asks for more. Whoever still writes while
	 * we drain does not keep us here. */
	DRAIN_MAX = 2 << 20,
};

static const enum run_fd cell_end[STREAM_COUNT] = {
	[STREAM_OUT] = RUN_FD_STDOUT,
	[STREAM_ERR] = RUN_FD_STDERR,
	[STREAM_OUTPUTS] = RUN_FD_OUTPUTS,
};

static void stream_close(struct stream *stream)
{
	stream->watch = loop_watch_free(stream->watch);
	stream->fd = fd_close(stream->fd);
}

/* Bytes read, 0 when there are none now or never again. */
static size_t stream_read(struct stream *stream)
{
	struct streams *streams = stream->streams;
	char bytes[READ_CHUNK];
	ssize_t n;

	if (stream->fd < 0)
		return 0;
	do
		n = read(stream->fd, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0) {
		stream_close(stream);
		return 0;
	}
	streams->output((unsigned)(stream - streams->up), bytes, (size_t)n, streams->data);
	return (size_t)n;
}

static void stream_event(unsigned events, void *data)
{
	(void)events;
	(void)stream_read(data);
}

static void stdin_close(struct streams *streams)
{
	streams->stdin_watch = loop_watch_free(streams->stdin_watch);
	streams->stdin_fd = fd_close(streams->stdin_fd);
	free(streams->stdin_data);
	streams->stdin_data = NULL;
}

/* Writes what the pipe takes; closes it when all is written or nobody reads any more. */
static void stdin_feed(struct streams *streams)
{
	while (streams->stdin_at < streams->stdin_len) {
		ssize_t n = write(streams->stdin_fd, streams->stdin_data + streams->stdin_at,
				  streams->stdin_len - streams->stdin_at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		streams->stdin_at += (size_t)n;
	}
	stdin_close(streams);
}

static void stdin_event(unsigned events, void *data)
{
	(void)events;
	stdin_feed(data);
}

static int open_stdin(struct streams *streams, const void *data, size_t len)
{
	int pipe_fds[2];
	int r;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	streams->cell_fds[RUN_FD_STDIN] = pipe_fds[0];
	streams->stdin_fd = pipe_fds[1];
	r = fd_set_nonblock(streams->stdin_fd, true);
	if (r < 0)
		return r;
	if (len) {
		streams->stdin_data = xmalloc(len);
		memcpy(streams->stdin_data, data, len);
		streams->stdin_len = len;
	}
	stdin_feed(streams);
	if (streams->stdin_fd < 0)
		return 0;
	streams->stdin_watch = loop_watch_new(streams->loop, streams->stdin_fd, stdin_event,
					      streams);
	return streams->stdin_watch ? 0 : -EIO;
}

static int open_up(struct streams *streams, unsigned i)
{
	struct stream *stream = &streams->up[i];
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	stream->fd = pipe_fds[0];
	streams->cell_fds[cell_end[i]] = pipe_fds[1];
	stream->watch = loop_watch_new(streams->loop, stream->fd, stream_event, stream);
	return stream->watch ? 0 : -EIO;
}

bool streams_open(struct streams *streams, struct loop *loop, const void *stdin_data,
		  size_t stdin_len, int given_stdin, streams_output output, void *data,
		  struct error *err)
{
	int r = 0;

	*streams = (struct streams){ .loop = loop, .output = output, .data = data, .stdin_fd = -1 };
	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		streams->cell_fds[i] = -1;
	for (size_t i = 0; i < STREAM_COUNT; i++)
		streams->up[i] = (struct stream){ .streams = streams, .fd = -1 };
	if (given_stdin >= 0)
		streams->cell_fds[RUN_FD_STDIN] = given_stdin;
	else
		r = open_stdin(streams, stdin_data, stdin_len);
	for (unsigned i = 0; r == 0 && i < STREAM_COUNT; i++)
		r = open_up(streams, i);
	if (r == 0)
		return true;
	streams_close(streams);
	return error_set(err, ERR_SYSTEM, -r, "cannot make the pipes of the run");
}

static void close_cell_ends(struct streams *streams)
{
	for (size_t i = 0; i < RUN_FD_COUNT; i++)
		streams->cell_fds[i] = fd_close(streams->cell_fds[i]);
}

void streams_close(struct streams *streams)
{
	close_cell_ends(streams);
	for (size_t i = 0; i < STREAM_COUNT; i++)
		stream_close(&streams->up[i]);
	stdin_close(streams);
}

static void watch_streams(struct streams *streams)
{
	for (size_t i = 0; i < STREAM_COUNT; i++) {
		bool read_it = !streams->held || i == STREAM_OUTPUTS;

		if (streams->up[i].watch)
			loop_watch_set(streams->up[i].watch, read_it ? LOOP_READ : 0);
	}
}

void streams_start(struct streams *streams)
{
	close_cell_ends(streams);
	watch_streams(streams);
	if (streams->stdin_watch)
		loop_watch_set(streams->stdin_watch, LOOP_WRITE);
}

void streams_hold(struct streams *streams, bool hold)
{
	streams->held = hold;
	/* Before the start nothing is watched at all. */
	if (streams->cell_fds[RUN_FD_STDOUT] < 0)
		watch_streams(streams);
}

void streams_drain(struct streams *streams)
{
	for (size_t i = 0; i < STREAM_COUNT; i++) {
		size_t total = 0, n;

		do {
			n = stream_read(&streams->up[i]);
			total += n;
		} while (n > 0 && total < DRAIN_MAX);
	}
}
