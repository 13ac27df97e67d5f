#include "json/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/utf8.h"

enum {
	PATH_SHOWN_MAX = 120,
	ALLOWED_SHOWN_MAX = 260,
};

/* Where in the value we are; each level is on the stack of its check. */
struct place {
	const struct place *parent;
	const char *what; /* of the outermost */
	const char *key;  /* of an object's member, else NULL */
	size_t index;     /* of an array's item */
};

static void write_place(struct buf *to, const struct place *place)
{
	if (!place->parent)
		return;
	write_place(to, place->parent);
	if (place->key)
		(void)buf_printf(to, "%s%.*s", to->len ? "." : "", SCHEMA_VALUE_SHOWN_MAX,
				 place->key);
	else
		(void)buf_printf(to, "[%zu]", place->index);
}

static const char *show_place(const struct place *place, char *text, size_t size)
{
	_cleanup_buf_ struct buf path = { 0 };
	const char *shown;
	size_t len;

	buf_init(&path, (size_t)4 << 10);
	write_place(&path, place);
	shown = buf_string(&path);
	if (!*shown) {
		while (place->parent)
			place = place->parent;
		shown = place->what;
	}
	len = utf8_cut(shown, MIN(strlen(shown), size - 1));
	memcpy(text, shown, len);
	text[len] = '\0';
	return text;
}

static void show_string(const json_t *value, char *text, size_t size)
{
	size_t max = MIN((size_t)SCHEMA_VALUE_SHOWN_MAX, size - 8);
	size_t len = json_string_length(value);
	size_t cut = len > max ? utf8_cut(json_string_value(value), max) : len;

	snprintf(text, size, "\"%.*s%s\"", (int)cut, json_string_value(value),
		 cut < len ? "…" : "");
}

void schema_show(const json_t *value, char *text, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		snprintf(text, size, "an object");
		break;
	case JSON_ARRAY:
		snprintf(text, size, "an array of %zu", json_array_size(value));
		break;
	case JSON_STRING:
		show_string(value, text, size);
		break;
	case JSON_INTEGER:
		snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		snprintf(text, size, "%.15g", json_real_value(value));
		break;
	case JSON_TRUE:
		snprintf(text, size, "true");
		break;
	case JSON_FALSE:
		snprintf(text, size, "false");
		break;
	case JSON_NULL:
		snprintf(text, size, "null");
		break;
	}
}

static bool wrong(const struct place *place, const json_t *value, struct error *err,
		  const char *fmt, ...) _printf_(4, 5);

static bool wrong(const struct place *place, const json_t *value, struct error *err,
		  const char *fmt, ...)
{
	char path[PATH_SHOWN_MAX], is[SCHEMA_VALUE_SHOWN_MAX + 16], allowed[ALLOWED_SHOWN_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(allowed, sizeof(allowed), fmt, args);
	va_end(args);
	/* Cut anywhere by snprintf: not in the middle of a character. */
	allowed[utf8_cut(allowed, strlen(allowed))] = '\0';
	schema_show(value, is, sizeof(is));
	return error_set(err, ERR_INPUT, 0, "%s is %s; %s", show_place(place, path, sizeof(path)),
			 is, allowed);
}

bool schema_is_integer(const json_t *value)
{
	/* Beyond 2^53 a double no longer says which integer it is. */
	return json_is_integer(value) ||
	       (json_is_real(value) && fabs(json_real_value(value)) <= 9007199254740992.0 &&
		floor(json_real_value(value)) == json_real_value(value));
}

static bool is_of_type(const json_t *value, const char *type)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return !strcmp(type, "object");
	case JSON_ARRAY:
		return !strcmp(type, "array");
	case JSON_STRING:
		return !strcmp(type, "string");
	case JSON_INTEGER:
	case JSON_REAL:
		return !strcmp(type, "number") ||
		       (!strcmp(type, "integer") && schema_is_integer(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return !strcmp(type, "boolean");
	case JSON_NULL:
		return !strcmp(type, "null");
	}
	return false;
}

static const char *type_words(const char *type)
{
	static const char *const words[][2] = {
		{ "object", "an object" }, { "array", "an array" },
		{ "string", "a string" },  { "integer", "an integer" },
		{ "number", "a number" },  { "boolean", "true or false" },
		{ "null", "null" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(type, words[i][0]))
			return words[i][1];
	return type;
}

/* "a string", "an integer or a string" */
static void describe_type(const json_t *type, char *text, size_t size)
{
	size_t n = json_is_array(type) ? json_array_size(type) : 1;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_is_array(type) ? json_array_get(type, i) : type;
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", i ? " or " : "",
			 json_is_string(one) ? type_words(json_string_value(one)) : "?");
	}
}

static bool check_type(const json_t *schema, const json_t *value, const struct place *place,
		       struct error *err)
{
	const json_t *type = json_object_get(schema, "type");
	char words[SCHEMA_VALUE_SHOWN_MAX];

	if (json_is_string(type) && is_of_type(value, json_string_value(type)))
		return true;
	for (size_t i = 0; i < json_array_size(type); i++) {
		const char *one = json_string_value(json_array_get(type, i));

		if (one && is_of_type(value, one))
			return true;
	}
	if (!type)
		return true;
	describe_type(type, words, sizeof(words));
	return wrong(place, value, err, "it must be %s", words);
}

static bool check_enum(const json_t *schema, const json_t *value, const struct place *place,
		       struct error *err)
{
	const json_t *allowed = json_object_get(schema, "enum");
	_cleanup_buf_ struct buf list = { 0 };

	if (!allowed)
		return true;
	buf_init(&list, (size_t)4 << 10);
	for (size_t i = 0; i < json_array_size(allowed); i++) {
		char shown[SCHEMA_VALUE_SHOWN_MAX + 16];

		if (json_equal(json_array_get(allowed, i), value))
			return true;
		schema_show(json_array_get(allowed, i), shown, sizeof(shown));
		(void)buf_printf(&list, "%s%s", i ? ", " : "", shown);
	}
	return wrong(place, value, err, "allowed are %s", buf_string(&list));
}

static bool check_number(const json_t *schema, const json_t *value, const struct place *place,
			 struct error *err)
{
	const json_t *min = json_object_get(schema, "minimum");
	const json_t *max = json_object_get(schema, "maximum");
	double v = json_number_value(value);

	if (!json_is_number(value) ||
	    ((!min || v >= json_number_value(min)) && (!max || v <= json_number_value(max))))
		return true;
	if (min && max)
		return wrong(place, value, err, "allowed is %.15g to %.15g", json_number_value(min),
			     json_number_value(max));
	return wrong(place, value, err, "allowed is at %s %.15g", min ? "least" : "most",
		     json_number_value(min ? min : max));
}

static size_t count_characters(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* One pair of keywords about a size: minLength and maxLength, minItems and maxItems. */
static bool check_size(const json_t *schema, const json_t *value, size_t size,
		       const char *const keys[2], const char *unit, const struct place *place,
		       struct error *err)
{
	const json_t *min = json_object_get(schema, keys[0]);
	const json_t *max = json_object_get(schema, keys[1]);

	if (min && (double)size < json_number_value(min))
		return wrong(place, value, err, "it must have at least %.0f %s",
			     json_number_value(min), unit);
	if (max && (double)size > json_number_value(max))
		return wrong(place, value, err, "it has %zu %s, allowed is at most %.0f", size,
			     unit, json_number_value(max));
	return true;
}

static bool check(const json_t *schema, const json_t *value, const struct place *place,
		  struct error *err);

static bool check_array(const json_t *schema, const json_t *value, const struct place *place,
			struct error *err)
{
	static const char *const keys[2] = { "minItems", "maxItems" };
	const json_t *items = json_object_get(schema, "items");

	if (!check_size(schema, value, json_array_size(value), keys, "items", place, err))
		return false;
	for (size_t i = 0; items && i < json_array_size(value); i++) {
		const struct place at = { .parent = place, .index = i };

		if (!check(items, json_array_get(value, i), &at, err))
			return false;
	}
	return true;
}

static bool unknown_member(const json_t *properties, const struct place *place, struct error *err)
{
	char path[PATH_SHOWN_MAX];
	_cleanup_buf_ struct buf list = { 0 };
	const char *key;
	json_t *ignored;

	buf_init(&list, ALLOWED_SHOWN_MAX);
	json_object_foreach((json_t *)properties, key, ignored)(void)
		buf_printf(&list, "%s%s", list.len ? ", " : "", key);
	return error_set(err, ERR_INPUT, 0, "%s is not known here; allowed are %s",
			 show_place(place, path, sizeof(path)),
			 list.len ? buf_string(&list) : "none");
}

static bool check_required(const json_t *schema, const json_t *value, const struct place *place,
			   struct error *err)
{
	const json_t *required = json_object_get(schema, "required");
	const json_t *properties = json_object_get(schema, "properties");

	for (size_t i = 0; i < json_array_size(required); i++) {
		const char *name = json_string_value(json_array_get(required, i));
		const struct place at = { .parent = place, .key = name };
		char path[PATH_SHOWN_MAX], words[SCHEMA_VALUE_SHOWN_MAX];
		const json_t *type;

		if (!name || json_object_get(value, name))
			continue;
		type = json_object_get(json_object_get(properties, name), "type");
		describe_type(type, words, sizeof(words));
		return error_set(err, ERR_INPUT, 0, "%s is missing%s%s",
				 show_place(&at, path, sizeof(path)), type ? "; it must be " : "",
				 type ? words : "");
	}
	return true;
}

static bool check_object(const json_t *schema, const json_t *value, const struct place *place,
			 struct error *err)
{
	const json_t *properties = json_object_get(schema, "properties");
	const json_t *additional = json_object_get(schema, "additionalProperties");
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member)
	{
		const json_t *own = json_object_get(properties, key);
		const struct place at = { .parent = place, .key = key };

		if (!own && json_is_false(additional))
			return unknown_member(properties, &at, err);
		if (!own)
			own = additional;
		if (json_is_object(own) && !check(own, member, &at, err))
			return false;
	}
	return check_required(schema, value, place, err);
}

static bool check(const json_t *schema, const json_t *value, const struct place *place,
		  struct error *err)
{
	static const char *const length_keys[2] = { "minLength", "maxLength" };

	if (!check_type(schema, value, place, err) || !check_enum(schema, value, place, err) ||
	    !check_number(schema, value, place, err))
		return false;
	if (json_is_object(value))
		return check_object(schema, value, place, err);
	if (json_is_array(value))
		return check_array(schema, value, place, err);
	if (!json_is_string(value))
		return true;
	return check_size(schema, value,
			  count_characters(json_string_value(value), json_string_length(value)),
			  length_keys, "characters", place, err);
}

bool schema_check(const json_t *schema, const json_t *value, const char *what, struct error *err)
{
	const struct place top = { .what = what };

	return check(schema, value, &top, err);
}
