/* Small helpers on jansson. A json_t that is returned is the caller's; out of memory ends the program. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Text from a stranger: what is not UTF-8 is repaired (base/utf8.h), NUL bytes are kept. */
json_t *json_text(const char *text, size_t len);

/* Bytes as base64, without line breaks. */
json_t *json_base64(const void *data, size_t len);

/* A number with at most three decimals, from thousandths: 1234 is 1.234. */
json_t *json_milli(uint64_t thousandths);

/* Sets a key of an object, taking the value; not setting it is out of memory. */
void json_put(json_t *object, const char *key, json_t *value);
void json_add(json_t *array, json_t *value);

/* The whole as compact text, freed by the caller. */
char *json_to_text(const json_t *value, size_t *ret_len);
