#include "backend/cgroup_text.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

enum { NUMBER_MAX = 24, NS_PER_US = 1000 };

static int parse_span(const char *text, size_t len, uint64_t *ret)
{
	char number[NUMBER_MAX];

	if (len == 0 || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	return parse_uint64(number, ret) < 0 ? -EINVAL : 0;
}

int cgroup_text_number(const char *text, uint64_t *ret)
{
	size_t len = strcspn(text, "\n");

	if (text[len] == '\n' && text[len + 1] != '\0')
		return -EINVAL;
	return parse_span(text, len, ret);
}

int cgroup_text_line(const char *text, const char *key, uint64_t *ret)
{
	size_t key_len = strlen(key);

	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		if (len > key_len && !strncmp(line, key, key_len) && line[key_len] == ' ')
			return parse_span(line + key_len + 1, len - key_len - 1, ret);
		line += len;
		line += *line == '\n';
	}
	return -ENOENT;
}

int cgroup_text_cpu_us(const char *text, uint64_t *ret)
{
	uint64_t ns;

	if (cgroup_text_number(text, &ns) == 0) {
		*ret = ns / NS_PER_US;
		return 0;
	}
	return cgroup_text_line(text, "usage_usec", ret) < 0 ? -EINVAL : 0;
}
