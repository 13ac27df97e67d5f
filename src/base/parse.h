/* Text to numbers, strictly: the whole text, no sign, no blanks, range checked. 0 or a negative errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -EINVAL when it is not a number, -ERANGE when it does not fit. */
int parse_uint64(const char *text, uint64_t *ret);

/* "512", "256M", "1.5G": suffixes K M G T, powers of 1024, optionally followed by "B" or "iB". */
int parse_bytes(const char *text, uint64_t *ret);

/* "250", "250ms", "30s", "5m", "1h" to milliseconds; without a unit it is milliseconds. */
int parse_duration_ms(const char *text, uint64_t *ret);

/* "1.5", "0.5", "2" to thousandths. */
int parse_milli(const char *text, uint64_t *ret);

/* yes no true false on off 1 0 */
int parse_bool(const char *text, bool *ret);

/* "1.4 GB", "512 MB", "17 KB", "3 bytes", for people. */
const char *format_bytes(uint64_t bytes, char *text, size_t size);
