#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "backend/cgroup_text.h"
#include "backend/isolation.h"
#include "base/macros.h"

static void test_number(void **state)
{
	static const struct {
		const char *text;
		int expect;
		uint64_t value;
	} cases[] = {
		{ "0\n", 0, 0 },
		{ "123\n", 0, 123 },
		{ "123", 0, 123 },
		{ "18446744073709551615\n", 0, UINT64_MAX },
		{ "18446744073709551616\n", -EINVAL, 0 },
		{ "max\n", -EINVAL, 0 },
		{ "-1\n", -EINVAL, 0 },
		{ " 1\n", -EINVAL, 0 },
		{ "1 \n", -EINVAL, 0 },
		{ "1\n2\n", -EINVAL, 0 },
		{ "1\n\n", -EINVAL, 0 },
		{ "\n", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "111111111111111111111111111111111\n", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 0;

		print_message("number %zu\n", i);
		assert_int_equal(cgroup_text_number(cases[i].text, &value), cases[i].expect);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_line(void **state)
{
	static const struct {
		const char *text, *key;
		int expect;
		uint64_t value;
	} cases[] = {
		/* memory.oom_control of v1 */
		{ "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", "oom_kill", 0, 7 },
		/* memory.events of v2: the longer key is another one */
		{ "low 0\noom 3\noom_group_kill 9\noom_kill 2\n", "oom_kill", 0, 2 },
		{ "oom_kill_disable 1\nunder_oom 0\n", "oom_kill", -ENOENT, 0 },
		{ "oom_kill 4", "oom_kill", 0, 4 },
		{ "oom_kill \n", "oom_kill", -EINVAL, 0 },
		{ "oom_kill x\n", "oom_kill", -EINVAL, 0 },
		{ "oom_kill 1 2\n", "oom_kill", -EINVAL, 0 },
		{ "oom_kill", "oom_kill", -ENOENT, 0 },
		{ "\n\noom_kill 5\n", "oom_kill", 0, 5 },
		{ "", "oom_kill", -ENOENT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 0;

		print_message("line %zu\n", i);
		assert_int_equal(cgroup_text_line(cases[i].text, cases[i].key, &value),
				 cases[i].expect);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_cpu(void **state)
{
	static const struct {
		const char *text;
		int expect;
		uint64_t us;
	} cases[] = {
		{ "usage_usec 1234\nuser_usec 1000\nsystem_usec 234\n", 0, 1234 },
		{ "1234567\n", 0, 1234 }, /* cpuacct.usage, in ns */
		{ "user_usec 1000\n", -EINVAL, 0 },
		{ "usage_usec -1\n", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t us = 0;

		assert_int_equal(cgroup_text_cpu_us(cases[i].text, &us), cases[i].expect);
		assert_int_equal(us, cases[i].us);
	}
}

/* DESIGN.md's table. */
static void test_isolation(void **state)
{
	static const struct {
		struct isolation_facts facts; /* uids, memory, processes, landlock, overlay */
		enum isolation_level expect;
	} cases[] = {
		{ { true, true, true, true, true }, ISOLATION_STRONG },
		{ { false, true, true, true, true }, ISOLATION_FAIR },
		{ { true, true, true, false, true }, ISOLATION_FAIR },
		{ { true, true, true, true, false }, ISOLATION_FAIR },
		{ { false, true, true, false, true }, ISOLATION_WEAK },
		{ { true, false, true, true, true }, ISOLATION_WEAK },
		{ { true, true, false, true, true }, ISOLATION_WEAK },
		{ { false, false, false, false, false }, ISOLATION_WEAK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(isolation_rate(&cases[i].facts), cases[i].expect);
	assert_string_equal(isolation_name(ISOLATION_STRONG), "strong");
	assert_string_equal(isolation_name(ISOLATION_FAIR), "fair");
	assert_string_equal(isolation_name(ISOLATION_WEAK), "weak");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_isolation),
	};

	return cmocka_run_group_tests_name("cgroup_text", tests, NULL, NULL);
}
