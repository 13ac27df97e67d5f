/*
 * A run's program and inputs as one sealed memfd: code, arguments, environment.
 *
 * Layout, little-endian: u32 magic, u32 code length, u32 argc, u32 envc, u32 length of the strings;
 * then the strings (argc, then envc NAME=value, each ended by NUL); then the code. Drivers read it too
 * (runtimes/python/driver.py), so it is fixed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

enum {
	BUNDLE_MAGIC = 0x4c454348, /* "HCEL" */
	BUNDLE_CODE_MAX = 8 << 20,
	BUNDLE_STRINGS_MAX = 64 << 10,
	BUNDLE_ARGS_MAX = 256,
	BUNDLE_ENV_MAX = 256,
};

struct bundle_header {
	uint32_t magic;
	uint32_t code_len;
	uint32_t argc;
	uint32_t envc;
	uint32_t strings_len;
};

struct bundle {
	const char *code;
	size_t code_len;
	const char *const *args; /* n_args strings */
	size_t n_args;
	const char *const *env; /* n_env strings NAME=value */
	size_t n_env;
};

/* 0, or -EINVAL: the header's numbers are out of bounds or do not fit a file of this size. */
int bundle_header_check(const struct bundle_header *header, uint64_t file_size);

/* A sealed memfd, or -E2BIG when code or strings are over their limit, or another negative errno. */
int bundle_to_fd(const struct bundle *bundle);
