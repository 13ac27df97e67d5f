#include "backend/file_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "loop/loop.h"
#include "loop/port.h"
#include "wire/files_messages.h"

enum {
	MODE_FILE = 0644,
	MODE_PROGRAM = 0755,
	QUEUE_MAX = 64 << 10, /* one request is on the way at a time */
};

/* Also the states of the conversation: what we wait for says what may come. */
enum request_kind { ASKED_NOTHING, ASKED_LIST, ASKED_OPEN, ASKED_PUT };

struct request {
	struct request *next;
	enum request_kind kind;
	char path[PATH_MAX_BYTES + 8];
	uint32_t max;
	uint32_t mode;
	int fd;
	union {
		cell_listed listed;
		cell_opened opened;
		cell_put_done put;
	} done;
	void *data;
};

struct file_server {
	struct loop *loop;
	struct port *port;
	struct loop_timer *fail_timer;
	int failed; /* errno */
	bool sent;  /* the first request is on the way */
	struct request *first, **last;
	struct cell_file *files;
	size_t n_files;
};

static const struct wire_rule rules[FILES_MESSAGE_COUNT] = {
	[FILES_ENTRY] = { 1u << ASKED_LIST, sizeof(struct files_entry), 0, 0, 0 },
	[FILES_END] = { 1u << ASKED_LIST, sizeof(struct files_end), 0, 0, 0 },
	[FILES_OPENED] = { 1u << ASKED_OPEN, sizeof(struct files_opened), 0, 0, 1 },
	[FILES_DONE] = { 1u << ASKED_PUT, sizeof(struct files_done), 0, 0, 0 },
};

union files_in {
	struct wire_header header;
	struct files_entry entry;
	struct files_end end;
	struct files_opened opened;
	struct files_done done;
};

static void forget_files(struct file_server *server)
{
	for (size_t i = 0; i < server->n_files; i++)
		free(server->files[i].path);
	free(server->files);
	server->files = NULL;
	server->n_files = 0;
}

static void request_free(struct request *request)
{
	(void)fd_close(request->fd);
	free(request);
}

static struct request *take_first(struct file_server *server)
{
	struct request *request = server->first;

	server->first = request->next;
	if (!server->first)
		server->last = &server->first;
	server->sent = false;
	return request;
}

/* Ends one request with an errno. The completion may free the server. */
static void complete_failed(struct request *request, int errnum)
{
	switch (request->kind) {
	case ASKED_LIST:
		request->done.listed(errnum, NULL, 0, 0, request->data);
		break;
	case ASKED_OPEN:
		request->done.opened(errnum, -1, 0, request->data);
		break;
	case ASKED_PUT:
		request->done.put(errnum, request->data);
		break;
	case ASKED_NOTHING:
		break;
	}
	request_free(request);
}

/* One a turn, because a completion may free us. */
static void fail_next(void *data)
{
	struct file_server *server = data;
	struct request *request;

	if (!server->first)
		return;
	request = take_first(server);
	if (server->first)
		loop_timer_start(server->fail_timer, 0, 0);
	complete_failed(request, server->failed);
}

void file_server_fail(struct file_server *server, int errnum)
{
	server->failed = errnum ? errnum : EIO;
	server->port = port_free(server->port);
	forget_files(server);
	loop_timer_start(server->fail_timer, 0, 0);
}

static int send_request(struct file_server *server, const struct request *request)
{
	WIRE_MESSAGE(files_list, list, FILES_LIST);
	WIRE_MESSAGE(files_open, open, FILES_OPEN);
	WIRE_MESSAGE(files_put, put, FILES_PUT);

	switch (request->kind) {
	case ASKED_LIST:
		list.max = request->max;
		return port_send(server->port, &list, sizeof(list), NULL, 0);
	case ASKED_OPEN:
		memcpy(open.path, request->path, sizeof(open.path));
		return port_send(server->port, &open, sizeof(open), NULL, 0);
	case ASKED_PUT:
		put.mode = request->mode;
		memcpy(put.path, request->path, sizeof(put.path));
		return port_send(server->port, &put, sizeof(put), &request->fd, 1);
	case ASKED_NOTHING:
		break;
	}
	return -EINVAL;
}

static void send_next(struct file_server *server)
{
	int r;

	if (!server->port || !server->first || server->sent)
		return;
	r = send_request(server, server->first);
	if (r < 0)
		file_server_fail(server, -r);
	else
		server->sent = true;
}

/* Names are hostile bytes: only what we would open ourselves is let in. */
static bool entry_is_good(const struct files_entry *entry)
{
	return entry->kind <= FILES_SPECIAL && memchr(entry->path, '\0', sizeof(entry->path)) &&
	       path_is_plain(entry->path);
}

static int on_entry(struct file_server *server, const struct files_entry *entry)
{
	if (!entry_is_good(entry) || server->n_files >= server->first->max)
		return -EPROTO;
	/* Grown in powers of two. */
	if ((server->n_files & (server->n_files - 1)) == 0)
		server->files = xrealloc(server->files,
					 (server->n_files ? server->n_files * 2 : 1) *
						 sizeof(*server->files));
	server->files[server->n_files++] = (struct cell_file){
		.path = xstrdup(entry->path),
		.kind = entry->kind,
		.mode = entry->mode,
		.size = entry->size,
		.mtime_ns = entry->mtime_ns,
	};
	return 0;
}

/* Each of these completes the first request; the next one is sent before, because the completion may
 * free the server. */
static void on_end(struct file_server *server, const struct files_end *end)
{
	struct request *request = take_first(server);
	struct cell_file *files = server->files;
	size_t n_files = server->n_files;

	server->files = NULL;
	server->n_files = 0;
	send_next(server);
	request->done.listed(end->errnum < 0 ? EPROTO : end->errnum, files, n_files, end->skipped,
			     request->data);
	request_free(request);
	for (size_t i = 0; i < n_files; i++)
		free(files[i].path);
	free(files);
}

static int on_opened(struct file_server *server, const struct files_opened *opened,
		     struct wire_fds *fds)
{
	struct request *request;

	if ((opened->errnum == 0) != (fds->n == 1) || opened->errnum < 0)
		return -EPROTO;
	request = take_first(server);
	send_next(server);
	request->done.opened(opened->errnum, wire_take_fd(fds, 0), opened->size, request->data);
	request_free(request);
	return 0;
}

static int on_done(struct file_server *server, const struct files_done *done)
{
	struct request *request;

	if (done->errnum < 0)
		return -EPROTO;
	request = take_first(server);
	send_next(server);
	request->done.put(done->errnum, request->data);
	request_free(request);
	return 0;
}

static int dispatch(struct file_server *server, const union files_in *in, struct wire_fds *fds)
{
	switch (in->header.type) {
	case FILES_ENTRY:
		return on_entry(server, &in->entry);
	case FILES_END:
		on_end(server, &in->end);
		return 0;
	case FILES_OPENED:
		return on_opened(server, &in->opened, fds);
	case FILES_DONE:
		return on_done(server, &in->done);
	default:
		return -EPROTO;
	}
}

static void readable(void *data)
{
	struct file_server *server = data;
	union files_in in;
	_cleanup_fds_ struct wire_fds fds;
	unsigned state = server->sent ? server->first->kind : ASKED_NOTHING;
	ssize_t n = wire_recv(port_socket(server->port), &in, sizeof(in), &fds);

	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		file_server_fail(server, n < 0 ? (int)-n : EPIPE);
		return;
	}
	if (wire_check(rules, FILES_MESSAGE_COUNT, state, &in.header, fds.n) < 0 ||
	    dispatch(server, &in, &fds) < 0)
		file_server_fail(server, EPROTO);
}

struct file_server *file_server_new(struct loop *loop)
{
	struct file_server *server = xcalloc(1, sizeof(*server));

	server->loop = loop;
	server->last = &server->first;
	server->fail_timer = loop_timer_new(loop, fail_next, server);
	return server;
}

struct file_server *file_server_free(struct file_server *server)
{
	if (!server)
		return NULL;
	while (server->first)
		request_free(take_first(server));
	forget_files(server);
	server->port = port_free(server->port);
	(void)loop_timer_free(server->fail_timer);
	free(server);
	return NULL;
}

void file_server_connect(struct file_server *server, int socket)
{
	const struct port_config config = {
		.send = wire_send,
		.readable = readable,
		.data = server,
		.queue_max = QUEUE_MAX,
	};

	server->port = port_new(server->loop, socket, &config);
	if (!server->port)
		file_server_fail(server, EBADF);
	else
		send_next(server);
}

static void add(struct file_server *server, struct request *request)
{
	*server->last = request;
	server->last = &request->next;
	if (server->failed)
		loop_timer_start(server->fail_timer, 0, 0);
	else
		send_next(server);
}

static struct request *request_new(enum request_kind kind, const char *path, void *data)
{
	struct request *request = xcalloc(1, sizeof(*request));
	size_t len = path ? strlen(path) : 0;

	request->kind = kind;
	request->fd = -1;
	request->data = data;
	/* A path too long is cut here and refused by hotcell-files; callers check before. */
	if (path)
		memcpy(request->path, path, MIN(len, sizeof(request->path) - 1));
	return request;
}

void file_server_list(struct file_server *server, uint32_t max, cell_listed done, void *data)
{
	struct request *request = request_new(ASKED_LIST, NULL, data);

	request->max = MIN(max, (uint32_t)FILES_LIST_MAX);
	request->done.listed = done;
	add(server, request);
}

void file_server_open(struct file_server *server, const char *path, cell_opened done, void *data)
{
	struct request *request = request_new(ASKED_OPEN, path, data);

	request->done.opened = done;
	add(server, request);
}

void file_server_put(struct file_server *server, const char *path, bool executable, int fd,
		     cell_put_done done, void *data)
{
	struct request *request = request_new(ASKED_PUT, path, data);

	request->mode = executable ? MODE_PROGRAM : MODE_FILE;
	request->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	request->done.put = done;
	add(server, request);
}
