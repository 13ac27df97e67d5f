#include "command/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/bundle.h"

static bool read_whole(struct source *source, int fd, const char *what, struct error *err)
{
	int r = fd_read_all(fd, &source->code);

	if (r == -ENOBUFS)
		return error_set(err, ERR_INPUT, 0,
				 "%s is larger than %d MB, the most that can be run", what,
				 BUNDLE_CODE_MAX >> 20);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot read %s", what);
	return true;
}

static bool read_file(struct source *source, const char *name, struct error *err)
{
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return error_set(err, ERR_NOT_FOUND, 0, "there is no file %s", name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot read %s", name);
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERR_INPUT, 0, "%s is a folder: give the file to run", name);
	return read_whole(source, fd, name, err);
}

static bool check(const struct source *source, const char *what, struct error *err)
{
	if (source->code.len == 0)
		return error_set(err, ERR_INPUT, 0, "there is nothing to run: %s is empty", what);
	if (memchr(source->code.data, '\0', source->code.len))
		return error_set(err, ERR_INPUT, 0,
				 "%s has NUL bytes in it: it is not the text of a program", what);
	return true;
}

bool source_read(struct source *ret, const char *text, const char *name, struct error *err)
{
	const char *what = text ? "the code" : strcmp(name, "-") == 0 ? "stdin" : name;

	*ret = (struct source){ .name = "" };
	buf_init(&ret->code, BUNDLE_CODE_MAX);
	if (text) {
		if (buf_append_string(&ret->code, text) < 0)
			return error_set(err, ERR_INPUT, 0,
					 "the code is larger than %d MB, the most that can be run",
					 BUNDLE_CODE_MAX >> 20);
	} else if (strcmp(name, "-") == 0) {
		ret->is_stdin = true;
		if (!read_whole(ret, STDIN_FILENO, what, err))
			return false;
	} else {
		ret->name = name;
		if (!read_file(ret, name, err))
			return false;
	}
	return check(ret, what, err);
}

void source_done(struct source *source)
{
	buf_done(&source->code);
}
