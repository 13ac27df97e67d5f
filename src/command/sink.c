#include "command/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that polls writable takes this much (pipe(7): PIPE_BUF). */
enum { PIPE_STEP = 4096 };

void sink_init(struct sink *sink, int fd)
{
	struct stat st;
	bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	sink->fd = fd;
	sink->step = is_file ? ORDER_OUTPUT_MAX : PIPE_STEP;
	sink->errnum = 0;
	sink->at = sink->len = 0;
}

bool sink_is_full(const struct sink *sink)
{
	return sink->at < sink->len && sink->errnum == 0;
}

void sink_put(struct sink *sink, const void *data, size_t len)
{
	if (sink->errnum)
		return;
	memcpy(sink->bytes, data, len);
	sink->at = 0;
	sink->len = len;
	sink_flush(sink);
}

void sink_flush(struct sink *sink)
{
	while (sink_is_full(sink)) {
		struct pollfd p = { .fd = sink->fd, .events = POLLOUT };
		size_t left = sink->len - sink->at;
		ssize_t n;

		if (poll(&p, 1, 0) <= 0)
			return;
		n = write(sink->fd, sink->bytes + sink->at, left < sink->step ? left : sink->step);
		if (n >= 0)
			sink->at += (size_t)n;
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			sink->errnum = errno;
	}
}
