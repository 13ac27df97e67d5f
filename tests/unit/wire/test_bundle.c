#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "wire/bundle.h"
#include "wire/cell_spec.h"

static void test_header_check(void **state)
{
	static const struct {
		struct bundle_header header;
		uint64_t size;
		int expect;
	} cases[] = {
		{ { BUNDLE_MAGIC, 0, 0, 0, 0 }, 20, 0 },
		{ { BUNDLE_MAGIC, 5, 1, 1, 7 }, 32, 0 },
		{ { BUNDLE_MAGIC, BUNDLE_CODE_MAX, 256, 256, BUNDLE_STRINGS_MAX },
		  20 + BUNDLE_CODE_MAX + BUNDLE_STRINGS_MAX,
		  0 },
		{ { 0, 0, 0, 0, 0 }, 20, -EINVAL },
		{ { BUNDLE_MAGIC + 1, 0, 0, 0, 0 }, 20, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 0, 0 }, 0, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 0, 0 }, 19, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 0, 0 }, 21, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 0, 0 }, UINT64_MAX, -EINVAL },
		{ { BUNDLE_MAGIC, BUNDLE_CODE_MAX + 1, 0, 0, 0 }, 21 + BUNDLE_CODE_MAX, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 257, 0, 0 }, 20, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 257, 0 }, 20, -EINVAL },
		{ { BUNDLE_MAGIC, 0, 0, 0, BUNDLE_STRINGS_MAX + 1 },
		  21 + BUNDLE_STRINGS_MAX,
		  -EINVAL },
		/* Sums that wrap at 32 bits to what the size is. */
		{ { BUNDLE_MAGIC, UINT32_MAX, 0, 0, 1 }, 20, -EINVAL },
		{ { BUNDLE_MAGIC, 1, 0, 0, UINT32_MAX }, 20, -EINVAL },
	};

	(void)state;
	assert_int_equal(sizeof(struct bundle_header), 20);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(bundle_header_check(&cases[i].header, cases[i].size),
				 cases[i].expect);
	}
}

/* What a driver in another language reads, byte for byte. */
static void test_layout(void **state)
{
	static const char *const args[] = { "a", "" };
	static const char *const env[] = { "X=1" };
	static const char expect[] = "HCEL"
				     "\5\0\0\0"
				     "\2\0\0\0"
				     "\1\0\0\0"
				     "\7\0\0\0"
				     "a\0"
				     "\0"
				     "X=1\0"
				     "co\0de";
	const struct bundle bundle = {
		.code = "co\0de",
		.code_len = 5,
		.args = args,
		.n_args = 2,
		.env = env,
		.n_env = 1,
	};
	_cleanup_close_ int fd = bundle_to_fd(&bundle);
	_cleanup_buf_ struct buf b;

	(void)state;
	buf_init(&b, 1000);
	assert_true(fd >= 0);
	/* From where the descriptor stands: its beginning. */
	assert_int_equal(fd_read_all(fd, &b), 0);
	assert_int_equal(b.len, sizeof(expect) - 1);
	assert_memory_equal(b.data, expect, b.len);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
}

static void test_empty(void **state)
{
	const struct bundle bundle = { 0 };
	_cleanup_close_ int fd = bundle_to_fd(&bundle);
	struct bundle_header header;
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(bundle_header_check(&header, (uint64_t)st.st_size), 0);
}

/* Every limit at its edge: as much as is allowed, and one more. */
static void test_limits(void **state)
{
	static const char *many[BUNDLE_ARGS_MAX + 1];
	static char long_string[BUNDLE_STRINGS_MAX + 1];
	const char *const one[] = { long_string };
	_cleanup_free_ char *code = xcalloc(BUNDLE_CODE_MAX + 1, 1);
	const struct {
		struct bundle bundle;
		size_t string_len;
		int expect;
	} cases[] = {
		{ { .code = code, .code_len = BUNDLE_CODE_MAX }, 0, 0 },
		{ { .code = code, .code_len = BUNDLE_CODE_MAX + 1 }, 0, -E2BIG },
		{ { .code = code, .code_len = SIZE_MAX }, 0, -E2BIG },
		{ { .args = many, .n_args = BUNDLE_ARGS_MAX }, 0, 0 },
		{ { .args = many, .n_args = BUNDLE_ARGS_MAX + 1 }, 0, -E2BIG },
		{ { .env = many, .n_env = BUNDLE_ENV_MAX }, 0, 0 },
		{ { .env = many, .n_env = BUNDLE_ENV_MAX + 1 }, 0, -E2BIG },
		{ { .args = one, .n_args = 1 }, BUNDLE_STRINGS_MAX - 1, 0 },
		{ { .args = one, .n_args = 1 }, BUNDLE_STRINGS_MAX, -E2BIG },
		{ { .args = one, .n_args = 1, .env = many, .n_env = 1 },
		  BUNDLE_STRINGS_MAX - 3,
		  0 },
		{ { .args = one, .n_args = 1, .env = many, .n_env = 1 },
		  BUNDLE_STRINGS_MAX - 2,
		  -E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = "x";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_close_ int fd = -1;

		print_message("case %zu\n", i);
		memset(long_string, 'x', cases[i].string_len);
		long_string[cases[i].string_len] = '\0';
		fd = bundle_to_fd(&cases[i].bundle);
		assert_int_equal(fd < 0 ? fd : 0, cases[i].expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_check),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
