/*
 * What a run shows rather than prints: records a driver writes to the "outputs" pipe.
 *
 * A record, little-endian: u32 kind (1: text of the last expression, 2: something to display), u32
 * length of the MIME type, u32 length of the data, the MIME type, the data. All of it is the program's
 * own word. The first record that is malformed, or that passes a limit, ends the reading: it and what
 * follows are ignored.
 */
#pragma once

#include "base/buf.h"
#include "core/run.h"

enum {
	OUTPUTS_BYTES_MAX = 8 << 20, /* of all records together */
	OUTPUTS_RECORDS_MAX = 64,
	OUTPUTS_MIME_MAX = 128,
};

struct outputs {
	struct buf raw;
	uint64_t ignored; /* bytes that did not fit any more */
	char *result;
	struct run_output list[OUTPUTS_RECORDS_MAX];
	char mimes[OUTPUTS_RECORDS_MAX][OUTPUTS_MIME_MAX + 1];
	size_t n;
};

void outputs_init(struct outputs *outputs);
void outputs_done(struct outputs *outputs);
void outputs_add(struct outputs *outputs, const void *data, size_t len);

/* Reads the records that are there into result, list and n. Once, after the last outputs_add(). */
void outputs_parse(struct outputs *outputs);
