#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

enum { READ_CHUNK = 16 * 1024 };

int fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return -1;
}

void cleanup_closep(int *fd)
{
	*fd = fd_close(*fd);
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, struct buf *b)
{
	for (;;) {
		size_t chunk = MIN((size_t)READ_CHUNK, buf_room(b));
		uint8_t extra;
		uint8_t *to;
		ssize_t n;

		/* With the buffer full one more byte tells "exactly fits" from "too much". */
		to = chunk ? buf_reserve(b, chunk) : &extra;
		n = read(fd, to, chunk ? chunk : 1);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			return 0;
		if (!chunk)
			return -ENOBUFS;
		buf_commit(b, (size_t)n);
	}
}

ssize_t fd_read_text(int fd, char *text, size_t size)
{
	ssize_t n;

	do
		n = pread(fd, text, size - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((size_t)n == size - 1)
		return -ENOBUFS;
	text[n] = '\0';
	return n;
}

int fd_write_file_at(int dir, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int fd_seal(int fd)
{
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return 0;
}

int fd_from_bytes(const char *name, const void *data, size_t len)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r < 0)
		return r;
	r = fd_seal(fd);
	if (r < 0)
		return r;
	return TAKE_FD(fd);
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int fd_move_to(int fd, int to)
{
	if (fd == to) {
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0 || fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC) < 0)
			return -errno;
		return 0;
	}
	if (dup2(fd, to) < 0)
		return -errno;
	(void)close(fd);
	return 0;
}
