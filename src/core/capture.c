#include "core/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

enum { HALF = RUN_OUTPUT_KEPT / 2 };

void capture_init(struct capture *capture)
{
	*capture = (struct capture){ 0 };
	buf_init(&capture->head, HALF);
}

void capture_done(struct capture *capture)
{
	buf_done(&capture->head);
	free(capture->ring);
	capture->ring = NULL;
}

static void ring_add(struct capture *capture, const uint8_t *data, size_t len)
{
	if (!capture->ring)
		capture->ring = xmalloc(HALF);
	if (len > HALF) {
		data += len - HALF;
		len = HALF;
	}
	while (len > 0) {
		size_t n = MIN(len, HALF - capture->ring_at);

		memcpy(capture->ring + capture->ring_at, data, n);
		capture->ring_at = (capture->ring_at + n) % HALF;
		capture->ring_len = MIN(capture->ring_len + n, (size_t)HALF);
		data += n;
		len -= n;
	}
}

void capture_add(struct capture *capture, const void *data, size_t len)
{
	size_t first = MIN(len, buf_room(&capture->head));

	capture->total += len;
	(void)buf_append(&capture->head, data, first);
	if (len > first)
		ring_add(capture, (const uint8_t *)data + first, len - first);
}

/* Turns the ring so that its oldest byte is the first. */
static void ring_straighten(struct capture *capture)
{
	size_t at = capture->ring_at;
	uint8_t *straight;

	if (capture->ring_len < HALF || at == 0)
		return;
	straight = xmalloc(HALF);
	memcpy(straight, capture->ring + at, HALF - at);
	memcpy(straight + HALF - at, capture->ring, at);
	free(capture->ring);
	capture->ring = straight;
	capture->ring_at = 0;
}

void capture_result(struct capture *capture, struct run_stream *ret)
{
	ring_straighten(capture);
	*ret = (struct run_stream){
		.head = buf_string(&capture->head),
		.head_len = capture->head.len,
		.tail = capture->ring ? (const char *)capture->ring : "",
		.tail_len = capture->ring_len,
		.total = capture->total,
		.truncated = capture->total > RUN_OUTPUT_KEPT,
	};
}
