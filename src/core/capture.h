/* One stream of a run as it is kept for the result: its first and its last RUN_OUTPUT_KEPT / 2 bytes. */
#pragma once

#include "base/buf.h"
#include "core/run.h"

struct capture {
	struct buf head;
	uint8_t *ring; /* the last bytes after the head, made when the head is full */
	size_t ring_len, ring_at;
	uint64_t total;
};

void capture_init(struct capture *capture);
void capture_done(struct capture *capture);
void capture_add(struct capture *capture, const void *data, size_t len);

/* Valid until the next call on this capture. */
void capture_result(struct capture *capture, struct run_stream *ret);
