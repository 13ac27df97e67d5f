/*
 * JSON Schema, the part that tools use: type, enum, properties, required, additionalProperties, items,
 * minimum, maximum, minLength, maxLength, minItems, maxItems. Other keywords say nothing here.
 *
 * An error is a sentence for whoever wrote the value: which field, what it is, what is allowed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { SCHEMA_VALUE_SHOWN_MAX = 64 };

/* False with ERR_INPUT and the first thing that is wrong. `what` stands for the value itself where no
 * field can be named: "arguments". */
bool schema_check(const json_t *schema, const json_t *value, const char *what, struct error *err);

/* A value as an error shows it: short, always valid UTF-8. */
void schema_show(const json_t *value, char *text, size_t size);

/* True for an integer, and for a number like 3.0 that is one. */
bool schema_is_integer(const json_t *value);
