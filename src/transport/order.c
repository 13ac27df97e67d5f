#include "transport/order.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/macros.h"
#include "core/run.h"
#include "loop/loop.h"
#include "loop/port.h"
#include "transport/result_json.h"
#include "wire/order_messages.h"

enum {
	/* Output on its way that the command has not yet written; then the program waits. */
	CREDIT_MAX = 256 << 10,
	CREDIT_ENOUGH = 128 << 10,
	/* Waiting messages: credited output, what was left in the pipes at the end, 1000 files. */
	QUEUE_MAX = 16 << 20,
	LAST_WORDS_MS = 2000,
};

enum order_state {
	ORDER_WAITING, /* for an order */
	ORDER_RUNNING,
	ORDER_ENDING, /* the command has gone, or we give up; no further run */
};

struct order {
	struct core *core;
	struct port *port; /* NULL when the command has gone */
	enum order_state state;
	struct run *run;
	bool held;
	uint64_t uncredited;
	struct loop_timer *end_timer;
	struct error why; /* we gave up */
	void (*ended)(void *data);
	void *data;
};

#define IN(state) (1u << ORDER_##state)

/* CANCEL and CREDIT may cross the result, RUN our giving up. */
static const struct wire_rule rules[ORDER_MESSAGE_COUNT] = {
	[ORDER_RUN] = { IN(WAITING) | IN(ENDING), sizeof(struct order_run), 0, 1, 2 },
	[ORDER_CANCEL] = { IN(WAITING) | IN(RUNNING) | IN(ENDING), sizeof(struct order_cancel), 0,
			   0, 0 },
	[ORDER_CREDIT] = { IN(WAITING) | IN(RUNNING) | IN(ENDING), sizeof(struct order_credit), 0,
			   0, 0 },
};

union order_in {
	struct wire_header header;
	struct order_run run;
	struct order_cancel cancel;
	struct order_credit credit;
};

static void tell_ended(void *data)
{
	struct order *order = data;

	order->ended(order->data);
}

/* No command, no run: the end, told in the next turn. A command that is still there gets the time to
 * read why: closing a socket with something unread in it would take our last words from it. */
static void end_if_idle(struct order *order)
{
	if (order->state == ORDER_ENDING && !order->run)
		loop_timer_start(order->end_timer, order->port ? LAST_WORDS_MS : 0, 0);
}

/* The command has gone or broke the rules. */
static void lose(struct order *order)
{
	order->state = ORDER_ENDING;
	order->port = port_free(order->port);
	if (order->run) {
		run_hold_output(order->run, false);
		run_cancel(order->run);
	}
	end_if_idle(order);
}

static void send_message(struct order *order, const void *message, size_t size, int fd)
{
	int r;

	if (!order->port)
		return;
	r = port_send(order->port, message, size, &fd, fd >= 0 ? 1 : 0);
	/* Gone: the reading side finds out. Full: nobody takes what we say, which is no better. */
	if (r == -ENOBUFS)
		lose(order);
}

static void make_error(struct order_error *message, const struct error *err)
{
	message->code = err->code;
	memcpy(message->message, err->message, strnlen(err->message, sizeof(message->message) - 1));
}

static void send_error(struct order *order, const struct error *err)
{
	WIRE_MESSAGE(order_error, message, ORDER_ERROR);

	make_error(&message, err);
	send_message(order, &message, sizeof(message), -1);
}

bool order_refuse(int socket, const struct error *err)
{
	struct pollfd wait = { .fd = socket, .events = POLLIN };
	WIRE_MESSAGE(order_error, message, ORDER_ERROR);

	make_error(&message, err);
	if (wire_send(socket, &message, NULL, 0) < 0)
		return false;
	/* Until the command has read it and gone; an order that is unread when we exit would take it away. */
	while (poll(&wait, 1, LAST_WORDS_MS) > 0) {
		union order_in in;
		_cleanup_fds_ struct wire_fds fds;

		if (wire_recv(socket, &in, sizeof(in), &fds) == 0)
			break;
	}
	return true;
}

/* --- what the run tells ----------------------------------------------------------------------- */

static void send_output(struct order *order, int stream, const void *bytes, size_t len)
{
	WIRE_MESSAGE(order_output, message, ORDER_OUTPUT);

	message.stream = (uint32_t)stream;
	memcpy(message.bytes, bytes, len);
	message.header.size = (uint32_t)(offsetof(struct order_output, bytes) + len);
	order->uncredited += len;
	send_message(order, &message, message.header.size, -1);
}

static void on_output(struct run *run, int stream, const void *bytes, size_t len, void *data)
{
	struct order *order = data;
	const char *p = bytes;

	while (len > 0) {
		size_t n = MIN(len, (size_t)ORDER_OUTPUT_MAX);

		send_output(order, stream, p, n);
		p += n;
		len -= n;
	}
	if (order->port && !order->held && order->uncredited >= CREDIT_MAX) {
		order->held = true;
		run_hold_output(run, true);
	}
}

static void send_files(struct order *order, const struct run_result *result)
{
	for (size_t i = 0; i < result->n_files; i++) {
		const struct run_file *file = &result->files[i];
		WIRE_MESSAGE(order_file, message, ORDER_FILE);

		if (file->fd < 0)
			continue;
		message.mode = file->mode;
		memcpy(message.path, file->path, strnlen(file->path, sizeof(message.path) - 1));
		send_message(order, &message, sizeof(message), file->fd);
	}
}

static void send_result(struct order *order, const struct run_result *result)
{
	WIRE_MESSAGE(order_result, message, ORDER_RESULT);
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	struct error err;
	size_t len;

	text = result_json(result, &len);
	fd = fd_from_bytes("result", text, len);
	if (fd < 0) {
		error_set(&err, ERR_SYSTEM, -fd, "cannot keep the result in memory");
		send_error(order, &err);
		return;
	}
	message.verdict = result->verdict;
	message.exit_code = result->exit_code;
	message.limit = result->limit;
	send_message(order, &message, sizeof(message), fd);
}

static void on_done(struct run *run, const struct run_result *result, const struct error *err,
		    void *data)
{
	struct order *order = data;

	(void)run;
	order->run = NULL;
	order->held = false;
	if (order->state == ORDER_RUNNING)
		order->state = ORDER_WAITING;
	if (err) {
		log_event(LOG_INFO, "run.failed", "code", error_code_name(err->code), "why",
			  err->message, NULL);
		send_error(order, err);
	} else {
		send_files(order, result);
		send_result(order, result);
	}
	end_if_idle(order);
}

/* --- what the command tells ------------------------------------------------------------------- */

static int on_run(struct order *order, const struct order_run *in, struct wire_fds *fds)
{
	const struct run_callbacks callbacks = { .output = on_output,
						 .done = on_done,
						 .data_ptr = order };
	struct run_request request = {
		.language = in->language,
		.policy = in->policy,
		.timeout_ms = in->timeout_ms,
		.limits = in->limits,
		.want_file_fds = in->flags & ORDER_WANT_FILES,
	};
	struct error err = { 0 };

	if ((in->flags & ~(uint32_t)ORDER_FLAGS_ALL) ||
	    !memchr(in->language, '\0', sizeof(in->language)) ||
	    !memchr(in->policy, '\0', sizeof(in->policy)))
		return -EPROTO;
	if (order->state == ORDER_ENDING) {
		send_error(order, &order->why);
		return 0;
	}
	request.bundle_fd = wire_take_fd(fds, 0);
	request.stdin_fd = wire_take_fd(fds, 1);
	order->uncredited = 0;
	order->run = run_submit(order->core, &request, &callbacks, &err);
	if (order->run)
		order->state = ORDER_RUNNING;
	else
		send_error(order, &err);
	return 0;
}

static void on_credit(struct order *order, uint32_t bytes)
{
	order->uncredited -= MIN(order->uncredited, (uint64_t)bytes);
	if (order->run && order->held && order->uncredited < CREDIT_ENOUGH) {
		order->held = false;
		run_hold_output(order->run, false);
	}
}

static int dispatch(struct order *order, const union order_in *in, struct wire_fds *fds)
{
	switch (in->header.type) {
	case ORDER_RUN:
		return on_run(order, &in->run, fds);
	case ORDER_CANCEL:
		if (order->run)
			run_cancel(order->run);
		return 0;
	case ORDER_CREDIT:
		on_credit(order, in->credit.bytes);
		return 0;
	default:
		return -EPROTO;
	}
}

static void readable(void *data)
{
	struct order *order = data;
	union order_in in;
	_cleanup_fds_ struct wire_fds fds;
	ssize_t n = wire_recv(port_socket(order->port), &in, sizeof(in), &fds);

	if (n == -EAGAIN)
		return;
	if (n <= 0 || wire_check(rules, ORDER_MESSAGE_COUNT, order->state, &in.header, fds.n) < 0 ||
	    dispatch(order, &in, &fds) < 0) {
		if (n != 0)
			log_event(LOG_ERROR, "order.broken", "why", "unexpected message", NULL);
		lose(order);
	}
}

struct order *order_new(struct loop *loop, struct core *core, int socket, void (*ended)(void *data),
			void *data)
{
	struct order *order = xcalloc(1, sizeof(*order));
	const struct port_config config = {
		.send = wire_send,
		.readable = readable,
		.data = order,
		.queue_max = QUEUE_MAX,
	};

	order->core = core;
	order->ended = ended;
	order->data = data;
	order->end_timer = loop_timer_new(loop, tell_ended, order);
	order->port = port_new(loop, socket, &config);
	if (!order->port)
		lose(order);
	return order;
}

void order_give_up(struct order *order, const struct error *err)
{
	/* A run under way tells its own failure, and the next one is told when it comes. */
	order->why = *err;
	order->state = ORDER_ENDING;
	end_if_idle(order);
}

void order_free(struct order *order)
{
	if (!order)
		return;
	order->port = port_free(order->port);
	(void)loop_timer_free(order->end_timer);
	free(order);
}
