#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "tools/base64.h"

static const struct {
	const char *text;
	int expect;
	const char *bytes;
} cases[] = {
	{ "", 0, "" },
	{ "Zg==", 0, "f" },
	{ "b24=", 0, "on" },
	{ "Zm9v", 0, "foo" },
	{ "Zm9vYg==", 0, "foob" },
	{ " Zm9v\r\nYmFy\n", 0, "foobar" },
	{ "+/+/", 0, "\xfb\xff\xbf" },
	{ "Zg", -EINVAL, NULL },
	{ "Zg=", -EINVAL, NULL },
	{ "Zg===", -EINVAL, NULL },
	{ "Z===", -EINVAL, NULL },
	{ "====", -EINVAL, NULL },
	{ "Zg==Zg==", -EINVAL, NULL },
	{ "Zh==", -EINVAL, NULL }, /* bits that say nothing */
	{ "Zm9=", -EINVAL, NULL },
	{ "Zm=v", -EINVAL, NULL },
	{ "Zm9-", -EINVAL, NULL },
	{ "Zm9_", -EINVAL, NULL },
	{ "Zm9\xc3", -EINVAL, NULL },
	{ "SGVs!!!bG8=", -EINVAL, NULL },
};

static void test_decode(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *bytes = NULL;
		size_t len = 0;

		print_message("\"%s\"\n", cases[i].text);
		assert_int_equal(base64_decode(cases[i].text, strlen(cases[i].text), &bytes, &len),
				 cases[i].expect);
		if (cases[i].bytes) {
			assert_int_equal(len, strlen(cases[i].bytes));
			assert_memory_equal(bytes, cases[i].bytes, len);
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
