#include "core/policy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/parse.h"
#include "core/run.h"

#define KB ((uint64_t)1 << 10)
#define MB ((uint64_t)1 << 20)
#define GB ((uint64_t)1 << 30)

enum { BYTES_TEXT_MAX = 32 };

static const char *const names[POLICY_COUNT] = {
	[POLICY_STRICT] = "strict",
	[POLICY_STANDARD] = "standard",
	[POLICY_PERMISSIVE] = "permissive",
};

/* clang-format off */
static const struct cell_limits shipped[POLICY_COUNT] = {
	/*                      memory    CPU   proc. workspace inodes  /tmp      open files */
	[POLICY_STRICT]     = { 256 * MB,  500,  64,  256 * MB, 16384,   64 * MB, 1024 },
	[POLICY_STANDARD]   = { 512 * MB, 1000, 128,    1 * GB, 65536,  128 * MB, 1024 },
	[POLICY_PERMISSIVE] = {   1 * GB, 2000, 256,    4 * GB, 262144, 256 * MB, 4096 },
};

/* What a request may ask for; the same bounds as wire/cell_spec.c, in people's words. */
static const struct limit {
	const char *name;
	size_t offset;
	enum { COUNT, BYTES, CPUS } unit;
	uint64_t min, max;
} limits[] = {
	{ "memory",           offsetof(struct cell_limits, memory_bytes),     BYTES, 8 * MB,  1024 * GB },
	{ "cpus",             offsetof(struct cell_limits, cpu_milli),        CPUS,  10,      1024 * 1000 },
	{ "processes",        offsetof(struct cell_limits, processes),        COUNT, 4,       32768 },
	{ "workspace",        offsetof(struct cell_limits, workspace_bytes),  BYTES, 64 * KB, 1024 * GB },
	{ "workspace_inodes", offsetof(struct cell_limits, workspace_inodes), COUNT, 16,      16 * MB },
	{ "tmp",              offsetof(struct cell_limits, tmp_bytes),        BYTES, 64 * KB, 1024 * GB },
	{ "open_files",       offsetof(struct cell_limits, open_files),       COUNT, 16,      MB },
};
/* clang-format on */

void core_config_defaults(struct core_config *config)
{
	*config = (struct core_config){
		.policy = POLICY_STANDARD,
		.timeout_ms = RUN_TIMEOUT_DEFAULT_MS,
		.timeout_max_ms = RUN_TIMEOUT_MAX_MS,
		.memory_max_bytes = 8 * GB,
		.trees = 1u << 0, /* /usr */
	};
	for (size_t i = 0; i < POLICY_COUNT; i++)
		config->policies[i] = (struct policy){ .name = names[i], .limits = shipped[i] };
}

bool policy_find(const char *name, enum policy_name *ret, struct error *err)
{
	for (size_t i = 0; i < POLICY_COUNT; i++) {
		if (!strcmp(name, names[i])) {
			*ret = (enum policy_name)i;
			return true;
		}
	}
	return error_set(err, ERR_INPUT, 0,
			 "policy is \"%.40s\"; allowed are strict, standard, permissive", name);
}

static void format_value(const struct limit *limit, uint64_t value, char *text, size_t size)
{
	switch (limit->unit) {
	case BYTES:
		(void)format_bytes(value, text, size);
		break;
	case CPUS:
		snprintf(text, size, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
		break;
	case COUNT:
		snprintf(text, size, "%" PRIu64, value);
		break;
	}
}

static bool check_range(const struct limit *limit, uint64_t value, uint64_t max, struct error *err)
{
	char is[BYTES_TEXT_MAX], least[BYTES_TEXT_MAX], most[BYTES_TEXT_MAX];

	if (value >= limit->min && value <= max)
		return true;
	format_value(limit, value, is, sizeof(is));
	format_value(limit, limit->min, least, sizeof(least));
	format_value(limit, max, most, sizeof(most));
	return error_set(err, ERR_INPUT, 0, "limit %s is %s; allowed is %s to %s", limit->name, is,
			 least, most);
}

static uint64_t *field(struct cell_limits *l, const struct limit *limit)
{
	return (uint64_t *)(void *)((char *)l + limit->offset);
}

bool policy_limits(const struct core_config *config, enum policy_name policy,
		   const struct cell_limits *request, struct cell_limits *ret, struct error *err)
{
	struct cell_limits asked = *request;

	*ret = config->policies[policy].limits;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		const struct limit *limit = &limits[i];
		bool is_memory = limit->offset == offsetof(struct cell_limits, memory_bytes);
		uint64_t max = is_memory ? MIN(limit->max, config->memory_max_bytes) : limit->max;
		uint64_t value = *field(&asked, limit);

		if (value == 0)
			continue;
		if (!check_range(limit, value, max, err))
			return false;
		*field(ret, limit) = value;
	}
	ret->workspace_bytes = MIN(ret->workspace_bytes, ret->memory_bytes / 2);
	ret->tmp_bytes = MIN(ret->tmp_bytes, ret->memory_bytes / 2);
	return true;
}

bool policy_timeout(const struct core_config *config, uint64_t request_ms, uint64_t *ret_ms,
		    struct error *err)
{
	*ret_ms = request_ms ? request_ms : config->timeout_ms;
	if (*ret_ms > config->timeout_max_ms && request_ms)
		return error_set(err, ERR_INPUT, 0,
				 "timeout is %" PRIu64 " ms; allowed is 1 to %" PRIu64 " ms",
				 request_ms, config->timeout_max_ms);
	return true;
}
