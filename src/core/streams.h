/*
 * The pipes of one run: stdin down, stdout, stderr and the "outputs" pipe up.
 *
 * Our ends do not block, the program's do. The program's ends are closed as soon as they were handed
 * over, so that end of file tells that every writer is dead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/cell_messages.h"

struct loop;
struct loop_watch;

enum { STREAM_OUT, STREAM_ERR, STREAM_OUTPUTS, STREAM_COUNT };

/* Bytes of a stream as they come. */
typedef void (*streams_output)(unsigned stream, const void *bytes, size_t len, void *data);

struct streams {
	struct loop *loop;
	streams_output output;
	void *data;
	int cell_fds[RUN_FD_COUNT]; /* the program's ends; RUN_FD_BUNDLE is not ours and stays -1 */
	struct stream {
		struct streams *streams;
		int fd;
		struct loop_watch *watch;
	} up[STREAM_COUNT];
	bool held;
	int stdin_fd;
	struct loop_watch *stdin_watch;
	char *stdin_data;
	size_t stdin_len, stdin_at;
};

/* Makes the pipes. stdin is a copy of the bytes, or given_stdin (taken) when that is not -1. */
bool streams_open(struct streams *streams, struct loop *loop, const void *stdin_data,
		  size_t stdin_len, int given_stdin, streams_output output, void *data,
		  struct error *err);
void streams_close(struct streams *streams);

/* The program has its ends: closes ours of those and begins to read. */
void streams_start(struct streams *streams);

/* Leaves stdout and stderr unread for now, or reads on. */
void streams_hold(struct streams *streams, bool hold);

/* Reads what is there now, held or not; never waits. */
void streams_drain(struct streams *streams);
