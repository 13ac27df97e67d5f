/* Small texts of the machine, and what can be told from them. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/parse.h"
#include "command/doctor.h"

bool read_fact(const char *root, const char *path, char *text, size_t size)
{
	char full[PATH_MAX];
	_cleanup_close_ int fd = -1;

	snprintf(full, sizeof(full), "%s%s", root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fd_read_text(fd, text, size) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

bool read_number(const char *root, const char *path, uint64_t *ret)
{
	char text[64];

	return read_fact(root, path, text, sizeof(text)) && parse_uint64(text, ret) == 0;
}

bool has_path(const char *root, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return access(full, F_OK) == 0;
}

bool parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor)
{
	char *end;
	unsigned long major = strtoul(release, &end, 10), minor;

	if (end == release || *end != '.' || !isdigit((unsigned char)end[1]))
		return false;
	minor = strtoul(end + 1, NULL, 10);
	*ret_major = (unsigned)MIN(major, 999ul);
	*ret_minor = (unsigned)MIN(minor, 999ul);
	return true;
}

/* What systemd and others mount there hides nothing of the kernel's. */
static bool is_ordinary_below_proc(const char *place)
{
	return strcmp(place, "/proc/sys/fs/binfmt_misc") == 0 ||
	       strcmp(place, "/proc/fs/nfsd") == 0;
}

unsigned count_proc_masks(const char *mountinfo, char *first, size_t size)
{
	unsigned count = 0;

	first[0] = '\0';
	for (const char *line = mountinfo; *line;) {
		size_t len = strcspn(line, "\n");
		char place[256] = "";

		/* id parent device root place */
		if (sscanf(line, "%*s %*s %*s %*s %255s", place) == 1 &&
		    strncmp(place, "/proc/", 6) == 0 && !is_ordinary_below_proc(place)) {
			if (count == 0)
				snprintf(first, size, "%s", place);
			count++;
		}
		line += len + (line[len] == '\n');
	}
	return count;
}

static const struct {
	const char *path, *name;
} container_marks[] = {
	{ "/.dockerenv", "docker" },
	{ "/run/.containerenv", "podman" },
	{ "/run/systemd/container", NULL }, /* its content is the name */
};

const char *container_name(const char *root, char *text, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(container_marks); i++) {
		if (!has_path(root, container_marks[i].path))
			continue;
		if (container_marks[i].name)
			return container_marks[i].name;
		if (read_fact(root, container_marks[i].path, text, size) && text[0])
			return text;
	}
	return NULL;
}
