#include "command/mountinfo.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

struct span {
	const char *at;
	size_t len;
};

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* Cuts the next field off a line; fields are separated by exactly one separator. */
static bool next_field(struct span *line, char separator, struct span *ret)
{
	const char *end;

	if (line->len == 0)
		return false;
	end = memchr(line->at, separator, line->len);
	ret->at = line->at;
	ret->len = end ? (size_t)(end - line->at) : line->len;
	line->at += ret->len + (end ? 1 : 0);
	line->len -= ret->len + (end ? 1 : 0);
	return true;
}

static bool next_line(const char **text, struct span *ret)
{
	const char *end;

	if (!**text)
		return false;
	end = strchrnul(*text, '\n');
	*ret = (struct span){ *text, (size_t)(end - *text) };
	*text = *end ? end + 1 : end;
	return true;
}

static bool is_number(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!isdigit((unsigned char)s.at[i]))
			return false;
	return s.len > 0 && s.len < 12;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blanks in names come as \040. */
static int unescape(struct span s, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.at[i];

		if (c == '\\') {
			if (s.len - i < 4 || !is_octal(s.at[i + 1]) || s.at[i + 1] > '3' ||
			    !is_octal(s.at[i + 2]) || !is_octal(s.at[i + 3]))
				return -EINVAL;
			c = (char)((s.at[i + 1] - '0') * 64 + (s.at[i + 2] - '0') * 8 +
				   (s.at[i + 3] - '0'));
			i += 3;
		}
		if (!c || n + 1 >= size)
			return -EINVAL;
		to[n++] = c;
	}
	to[n] = '\0';
	return 0;
}

struct mount_line {
	struct span root, place, type, options;
};

/* 36 35 98:0 /root /place rw,noatime [master:1 ...] - type source options */
static int parse_line(struct span line, struct mount_line *ret)
{
	struct span id, parent, device, flags, field, source;

	if (!next_field(&line, ' ', &id) || !next_field(&line, ' ', &parent) ||
	    !next_field(&line, ' ', &device) || !next_field(&line, ' ', &ret->root) ||
	    !next_field(&line, ' ', &ret->place) || !next_field(&line, ' ', &flags))
		return -EINVAL;
	if (!is_number(id) || !is_number(parent) || ret->place.len == 0)
		return -EINVAL;
	do
		if (!next_field(&line, ' ', &field))
			return -EINVAL;
	while (!span_is(field, "-"));
	if (!next_field(&line, ' ', &ret->type) || !next_field(&line, ' ', &source) ||
	    !next_field(&line, ' ', &ret->options))
		return -EINVAL;
	return 0;
}

static uint32_t controllers_of(const struct mount_line *mount)
{
	static const struct {
		const char *name;
		enum cgroup_controller controller;
	} names[] = {
		{ "memory", CGROUP_MEMORY },   { "pids", CGROUP_PIDS },       { "cpu", CGROUP_CPU },
		{ "cpuacct", CGROUP_CPUACCT }, { "freezer", CGROUP_FREEZER },
	};
	struct span options = mount->options, option;
	uint32_t found = 0;

	if (span_is(mount->type, "cgroup2"))
		return 1u << CGROUP_UNIFIED;
	if (!span_is(mount->type, "cgroup"))
		return 0;
	while (next_field(&options, ',', &option))
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (span_is(option, names[i].name))
				found |= 1u << names[i].controller;
	return found;
}

int mountinfo_parse(const char *text, struct cgroup_mounts *ret)
{
	bool is_whole[CGROUP_CONTROLLER_COUNT] = { false };
	struct span line;

	memset(ret, 0, sizeof(*ret));
	while (next_line(&text, &line)) {
		struct mount_line mount;
		char place[CGROUP_PLACE_MAX];
		uint32_t found;

		if (parse_line(line, &mount) < 0)
			return -EINVAL;
		found = controllers_of(&mount);
		if (!found)
			continue;
		if (unescape(mount.place, place, sizeof(place)) < 0 || place[0] != '/')
			return -EINVAL;
		for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
			bool whole = span_is(mount.root, "/");

			if (!(found & (1u << i)) || (is_whole[i] && !whole))
				continue;
			is_whole[i] = whole;
			memcpy(ret->place[i], place, strlen(place) + 1);
		}
	}
	return 0;
}

int own_cgroup_parse(const char *text, char ret[CGROUP_PLACE_MAX])
{
	struct span line, number, controllers;

	ret[0] = '\0';
	while (next_line(&text, &line)) {
		if (!next_field(&line, ':', &number) || !next_field(&line, ':', &controllers) ||
		    !is_number(number) || line.len == 0 || line.at[0] != '/')
			return -EINVAL;
		if (!span_is(number, "0") || controllers.len > 0)
			continue;
		if (line.len >= CGROUP_PLACE_MAX)
			return -EINVAL;
		memcpy(ret, line.at, line.len);
		ret[line.len] = '\0';
	}
	return 0;
}
