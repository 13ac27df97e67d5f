#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "core/capture.h"

enum { KEPT = RUN_OUTPUT_KEPT, HALF = KEPT / 2 };

static char byte_at(uint64_t i)
{
	return (char)('a' + (i * 7 + i / 977) % 26);
}

/* Every size around an edge, written in pieces of every size: head and tail are the right bytes. */
static void test_edges(void **state)
{
	static const uint64_t totals[] = { 0,        1,    HALF - 1, HALF,        HALF + 1,
					   KEPT - 1, KEPT, KEPT + 1, KEPT + HALF, 3 * KEPT + 17 };
	static const size_t pieces[] = { 1009, 65536, HALF, HALF + 1, 4 * KEPT };
	_cleanup_free_ char *all = xmalloc(4 * (size_t)KEPT);

	(void)state;
	for (size_t i = 0; i < 4 * (size_t)KEPT; i++)
		all[i] = byte_at(i);
	for (size_t t = 0; t < ARRAY_SIZE(totals); t++) {
		for (size_t p = 0; p < ARRAY_SIZE(pieces); p++) {
			struct run_stream stream;
			struct capture capture;

			capture_init(&capture);
			for (uint64_t at = 0; at < totals[t]; at += pieces[p])
				capture_add(&capture, all + at, MIN(pieces[p], totals[t] - at));
			capture_result(&capture, &stream);
			assert_int_equal(stream.total, totals[t]);
			assert_int_equal(stream.truncated, totals[t] > KEPT);
			assert_int_equal(stream.head_len, MIN(totals[t], (uint64_t)HALF));
			assert_int_equal(stream.head_len + stream.tail_len,
					 MIN(totals[t], (uint64_t)KEPT));
			assert_memory_equal(stream.head, all, stream.head_len);
			assert_memory_equal(stream.tail, all + totals[t] - stream.tail_len,
					    stream.tail_len);
			capture_done(&capture);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_edges) };

	return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
