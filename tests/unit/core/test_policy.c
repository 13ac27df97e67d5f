#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/macros.h"
#include "core/plan.h"
#include "core/policy.h"
#include "wire/cell_spec.h"

#define KB ((uint64_t)1 << 10)
#define MB ((uint64_t)1 << 20)
#define GB ((uint64_t)1 << 30)

static void test_find(void **state)
{
	enum policy_name name;
	struct error err;

	(void)state;
	assert_true(policy_find("strict", &name, &err));
	assert_int_equal(name, POLICY_STRICT);
	assert_true(policy_find("permissive", &name, &err));
	assert_int_equal(name, POLICY_PERMISSIVE);
	assert_false(policy_find("lax", &name, &err));
	assert_int_equal(err.code, ERR_INPUT);
	assert_string_equal(err.message,
			    "policy is \"lax\"; allowed are strict, standard, permissive");
	assert_false(policy_find("", &name, &err));
}

/* The shipped policies make specs that the warden takes. */
static void test_shipped(void **state)
{
	struct core_config config;

	(void)state;
	core_config_defaults(&config);
	assert_int_equal(config.policies[POLICY_STRICT].limits.memory_bytes, 256 * MB);
	assert_int_equal(config.policies[POLICY_STANDARD].limits.processes, 128);
	assert_int_equal(config.policies[POLICY_PERMISSIVE].limits.cpu_milli, 2000);
	for (int i = 0; i < POLICY_COUNT; i++) {
		const struct cell_limits none = { 0 };
		struct cell_spec spec = { .code_path = "/tmp/x" };
		const char *why = NULL;
		struct error err;

		assert_true(policy_limits(&config, (enum policy_name)i, &none, &spec.limits, &err));
		assert_int_equal(cell_spec_add_arg(&spec, "/bin/x"), 0);
		assert_int_equal(cell_spec_check(&spec, &why), 0);
		/* Files are memory. */
		assert_true(spec.limits.workspace_bytes <= spec.limits.memory_bytes / 2);
		assert_true(spec.limits.tmp_bytes <= spec.limits.memory_bytes / 2);
	}
}

static void test_merge(void **state)
{
	const struct cell_limits request = { .memory_bytes = 64 * MB,
					     .processes = 10,
					     .workspace_bytes = 128 * MB };
	struct cell_limits limits;
	struct core_config config;
	struct error err;

	(void)state;
	core_config_defaults(&config);
	assert_true(policy_limits(&config, POLICY_STANDARD, &request, &limits, &err));
	assert_int_equal(limits.memory_bytes, 64 * MB);
	assert_int_equal(limits.processes, 10);
	assert_int_equal(limits.cpu_milli, 1000);
	assert_int_equal(limits.workspace_bytes, 32 * MB);
	assert_int_equal(limits.tmp_bytes, 32 * MB);
}

static void test_ranges(void **state)
{
	static const struct {
		struct cell_limits request;
		const char *message; /* NULL: allowed */
	} cases[] = {
		{ { .memory_bytes = 8 * MB }, NULL },
		{ { .memory_bytes = 8 * MB - 1 },
		  "limit memory is 8.0 MB; allowed is 8.0 MB to 8.0 GB" },
		{ { .memory_bytes = 1 }, "limit memory is 1 byte; allowed is 8.0 MB to 8.0 GB" },
		{ { .memory_bytes = 8 * GB }, NULL },
		{ { .memory_bytes = 16 * GB },
		  "limit memory is 16 GB; allowed is 8.0 MB to 8.0 GB" },
		{ { .cpu_milli = 9 }, "limit cpus is 0.009; allowed is 0.010 to 1024.000" },
		{ { .cpu_milli = 1024 * 1000 }, NULL },
		{ { .processes = 3 }, "limit processes is 3; allowed is 4 to 32768" },
		{ { .processes = UINT64_MAX },
		  "limit processes is 18446744073709551615; allowed is 4 to 32768" },
		{ { .open_files = 15 }, "limit open_files is 15; allowed is 16 to 1048576" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cell_limits limits;
		struct core_config config;
		struct error err = { 0 };
		bool good;

		core_config_defaults(&config);
		good = policy_limits(&config, POLICY_STANDARD, &cases[i].request, &limits, &err);
		assert_int_equal(good, cases[i].message == NULL);
		if (!good) {
			print_message("%s\n", err.message);
			assert_string_equal(err.message, cases[i].message);
		}
	}
}

static void test_timeout(void **state)
{
	struct core_config config;
	struct error err;
	uint64_t ms;

	(void)state;
	core_config_defaults(&config);
	assert_true(policy_timeout(&config, 0, &ms, &err));
	assert_int_equal(ms, 30000);
	assert_true(policy_timeout(&config, 600000, &ms, &err));
	assert_int_equal(ms, 600000);
	assert_false(policy_timeout(&config, 600001, &ms, &err));
	assert_string_equal(err.message, "timeout is 600001 ms; allowed is 1 to 600000 ms");
}

static void test_env_names(void **state)
{
	static const struct {
		const char *name;
		bool valid;
	} cases[] = {
		{ "A", true },  { "_", true },    { "PATH", true }, { "a1_B", true },
		{ "", false },  { "1A", false },  { "A-B", false }, { "A B", false },
		{ "Ä", false }, { "A.B", false },
	};
	char name[PLAN_ENV_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(env_name_is_valid(cases[i].name, strlen(cases[i].name)),
				 cases[i].valid);
	memset(name, 'A', sizeof(name));
	assert_true(env_name_is_valid(name, PLAN_ENV_NAME_MAX));
	assert_false(env_name_is_valid(name, PLAN_ENV_NAME_MAX + 1));
	assert_false(env_name_is_valid("A\0B", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),    cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_merge),   cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_timeout), cmocka_unit_test(test_env_names),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
