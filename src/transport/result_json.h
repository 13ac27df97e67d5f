/* A run's result as JSON, with the names that every interface uses (sandbox_execute and `run --json`). */
#pragma once

#include <stddef.h>

struct run_result;

/* The whole object as text; the caller frees it. */
char *result_json(const struct run_result *result, size_t *ret_len);
