#include "loop/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "loop/loop.h"

struct waiting {
	struct waiting *next;
	size_t size;
	size_t n_fds;
	int *fds;
	void *message;
};

struct port {
	struct port_config config;
	struct loop_watch *watch;
	int socket;
	bool reading;
	struct waiting *first, **last;
	size_t queued;
};

static void waiting_free(struct waiting *w)
{
	for (size_t i = 0; i < w->n_fds; i++)
		(void)fd_close(w->fds[i]);
	free(w->fds);
	free(w->message);
	free(w);
}

static void watch_what_matters(struct port *port)
{
	loop_watch_set(port->watch,
		       (port->reading ? LOOP_READ : 0u) | (port->first ? LOOP_WRITE : 0u));
}

static void drop_first(struct port *port)
{
	struct waiting *w = port->first;

	port->first = w->next;
	if (!port->first)
		port->last = &port->first;
	port->queued -= w->size;
	waiting_free(w);
}

/* A message that cannot be sent for another reason than a full socket is dropped: the peer has gone,
 * and the reading side finds that out. */
static void send_waiting(struct port *port)
{
	while (port->first) {
		const struct waiting *w = port->first;
		int r = port->config.send(port->socket, w->message, w->fds, w->n_fds);

		if (r == -EAGAIN)
			return;
		drop_first(port);
	}
	watch_what_matters(port);
	if (port->config.drained)
		port->config.drained(port->config.data);
}

static void port_event(unsigned events, void *data)
{
	struct port *port = data;

	/* Only one callback a turn: the owner may free the port in it. What waits goes first, so that a
	 * peer who talks all the time still gets its answers. */
	if ((events & LOOP_WRITE) && port->first)
		send_waiting(port);
	else if ((events & LOOP_READ) && port->reading)
		port->config.readable(port->config.data);
}

struct port *port_new(struct loop *loop, int socket, const struct port_config *config)
{
	struct port *port = xcalloc(1, sizeof(*port));

	port->config = *config;
	port->socket = socket;
	port->last = &port->first;
	port->watch = loop_watch_new(loop, socket, port_event, port);
	if (!port->watch) {
		(void)fd_close(socket);
		free(port);
		return NULL;
	}
	port_read(port, true);
	return port;
}

struct port *port_free(struct port *port)
{
	if (!port)
		return NULL;
	(void)loop_watch_free(port->watch);
	while (port->first)
		drop_first(port);
	(void)fd_close(port->socket);
	free(port);
	return NULL;
}

int port_socket(const struct port *port)
{
	return port->socket;
}

static int keep(struct port *port, const void *message, size_t size, const int *fds, size_t n_fds)
{
	struct waiting *w;

	if (size > port->config.queue_max - port->queued)
		return -ENOBUFS;
	w = xcalloc(1, sizeof(*w));
	w->fds = n_fds ? xcalloc(n_fds, sizeof(int)) : NULL;
	for (size_t i = 0; i < n_fds; i++) {
		int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (copy < 0) {
			int r = -errno;

			waiting_free(w);
			return r;
		}
		w->fds[w->n_fds++] = copy;
	}
	w->size = size;
	w->message = xmalloc(size);
	memcpy(w->message, message, size);
	*port->last = w;
	port->last = &w->next;
	port->queued += size;
	watch_what_matters(port);
	return 0;
}

int port_send(struct port *port, const void *message, size_t size, const int *fds, size_t n_fds)
{
	if (!port->first) {
		int r = port->config.send(port->socket, message, fds, n_fds);

		if (r != -EAGAIN)
			return r;
	}
	return keep(port, message, size, fds, n_fds);
}

bool port_is_drained(const struct port *port)
{
	return !port->first;
}

void port_read(struct port *port, bool on)
{
	port->reading = on;
	watch_what_matters(port);
}
