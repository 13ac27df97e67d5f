#include "command/order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "command/bring_out.h"
#include "command/instance.h"
#include "command/pump.h"
#include "command/sink.h"
#include "wire/verdict.h"

enum {
	/* How long the front may take to answer after a cancel. */
	CANCEL_WAIT_MS = 2000,
	/* How long it may take to say why, after the warden died. */
	WARDEN_DEATH_WAIT_MS = 500,
	/* The front keeps 1 MiB of each stream; JSON can make six bytes of one. */
	RESULT_MAX = 64 << 20,
	/* Messages taken in one go before signals and stdin get their turn. */
	MESSAGES_PER_TURN = 32,
};

enum order_state { RUNNING, FINISHED, FAILED };

union from_front {
	struct wire_header header;
	struct order_output output;
	struct order_file file;
	struct order_result result;
	struct order_error error;
	uint8_t bytes[WIRE_MAX_BYTES];
};

struct order {
	const struct order_request *request;
	struct order_outcome *outcome;
	struct error *err;
	enum order_state state;
	int orders, signals, warden;
	uint64_t deadline_ms; /* UINT64_MAX: none */
	bool cancel_asked, cancel_sent, warden_died;
	uint32_t credit; /* to be sent */
	struct pump pump;
	struct sink out, errors;
};

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

int order_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++) {
		struct sigaction old;

		/* Started with it ignored (nohup, a script's background job): it stays ignored. */
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&set, ending_signals[i]);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void fail(struct order *o)
{
	o->state = FAILED;
}

static void fail_protocol(struct order *o)
{
	(void)error_set(o->err, ERR_SYSTEM, 0, "hotcell-front said something out of order");
	fail(o);
}

static void ask_cancel(struct order *o)
{
	if (o->cancel_asked)
		return;
	o->cancel_asked = true;
	o->deadline_ms = clock_monotonic_ms() + CANCEL_WAIT_MS;
	pump_stop(&o->pump);
}

/* Credits and a cancel go out as the socket takes them. */
static void send_small(struct order *o)
{
	WIRE_MESSAGE(order_credit, credit, ORDER_CREDIT);
	WIRE_MESSAGE(order_cancel, cancel, ORDER_CANCEL);

	if (o->cancel_asked && !o->cancel_sent)
		o->cancel_sent = wire_send(o->orders, &cancel, NULL, 0) == 0;
	if (o->credit > 0) {
		credit.bytes = o->credit;
		if (wire_send(o->orders, &credit, NULL, 0) == 0)
			o->credit = 0;
	}
}

static bool has_small(const struct order *o)
{
	return o->credit > 0 || (o->cancel_asked && !o->cancel_sent);
}

static void check_sinks(struct order *o)
{
	if (o->out.errnum && !o->outcome->stdout_errnum) {
		o->outcome->stdout_errnum = o->out.errnum;
		ask_cancel(o);
	}
}

static void on_output(struct order *o, const union from_front *m, struct wire_fds *fds)
{
	size_t len = m->header.size - offsetof(struct order_output, bytes);

	(void)fds;
	o->credit += (uint32_t)len;
	if (o->request->is_silent)
		return;
	if (m->output.stream != 1 && m->output.stream != 2) {
		fail_protocol(o);
		return;
	}
	sink_put(m->output.stream == 1 ? &o->out : &o->errors, m->output.bytes, len);
	check_sinks(o);
}

static void on_file(struct order *o, const union from_front *m, struct wire_fds *fds)
{
	const struct order_file *file = &m->file;
	int r;

	if (o->request->folder < 0 || !memchr(file->path, '\0', sizeof(file->path))) {
		fail_protocol(o);
		return;
	}
	r = bring_out_file(o->request->folder, file->path, file->mode, fds->fd[0]);
	if (r < 0) {
		/* The name is a stranger's: it is not printed as it is. */
		o->outcome->files_failed++;
		fprintf(stderr, "hotcell: cannot bring out a file of the run: %s\n", strerror(-r));
	}
}

static void on_result(struct order *o, const union from_front *m, struct wire_fds *fds)
{
	_cleanup_buf_ struct buf json;
	int r = 0;

	o->outcome->result = m->result;
	if (o->outcome->result.verdict >= RUN_VERDICT_COUNT) {
		fail_protocol(o);
		return;
	}
	buf_init(&json, RESULT_MAX);
	if (o->request->keep_result) {
		/* It comes as it was written, with its position at the end. */
		r = lseek(fds->fd[0], 0, SEEK_SET) < 0 ? -errno : fd_read_all(fds->fd[0], &json);
		o->outcome->json = r < 0 ? NULL : xstrdup(buf_string(&json));
		o->outcome->json_len = json.len;
	}
	if (r < 0) {
		(void)error_set(o->err, ERR_SYSTEM, -r, "cannot read the result");
		fail(o);
		return;
	}
	o->outcome->has_result = true;
	o->state = FINISHED;
}

static void on_error(struct order *o, const union from_front *m, struct wire_fds *fds)
{
	const struct order_error *e = &m->error;
	int len = (int)strnlen(e->message, sizeof(e->message));
	enum error_code code = e->code > ERR_NONE && e->code < _ERR_COUNT ? e->code : ERR_SYSTEM;

	(void)fds;
	(void)error_set(o->err, code, 0, "%.*s", len, e->message);
	fail(o);
}

/* What the front may say; there is one state, for each state ends the order. */
static const struct wire_rule rules[ORDER_MESSAGE_COUNT] = {
	[ORDER_OUTPUT] = { 1, sizeof(struct order_output), offsetof(struct order_output, bytes), 0,
			   0 },
	[ORDER_FILE] = { 1, sizeof(struct order_file), 0, 1, 1 },
	[ORDER_RESULT] = { 1, sizeof(struct order_result), 0, 1, 1 },
	[ORDER_ERROR] = { 1, sizeof(struct order_error), 0, 0, 0 },
};

static void (*const handlers[ORDER_MESSAGE_COUNT])(struct order *, const union from_front *,
						   struct wire_fds *) = {
	[ORDER_OUTPUT] = on_output,
	[ORDER_FILE] = on_file,
	[ORDER_RESULT] = on_result,
	[ORDER_ERROR] = on_error,
};

static bool may_receive(const struct order *o)
{
	return o->state == RUNNING && !sink_is_full(&o->out) && !sink_is_full(&o->errors);
}

static void tell_death(struct order *o)
{
	(void)error_set(o->err, ERR_SYSTEM, 0,
			"%s ended unexpectedly; how the program ended is not known",
			o->warden_died ? "hotcell-warden" : "hotcell-front");
	fail(o);
}

/* Takes what has come; false when there is nothing more for now. */
static bool receive_one(struct order *o)
{
	union from_front m;
	_cleanup_fds_ struct wire_fds fds = { 0 };
	ssize_t n = wire_recv(o->orders, &m, sizeof(m), &fds);

	if (n == -EAGAIN)
		return false;
	if (n == 0) {
		tell_death(o);
		return false;
	}
	if (n < 0 || wire_check(rules, ARRAY_SIZE(rules), 0, &m.header, fds.n) < 0) {
		fail_protocol(o);
		return false;
	}
	handlers[m.header.type](o, &m, &fds);
	return true;
}

static void receive(struct order *o)
{
	for (int i = 0; i < MESSAGES_PER_TURN && may_receive(o); i++)
		if (!receive_one(o))
			return;
}

static void on_signals(struct order *o)
{
	struct signalfd_siginfo info;

	while (read(o->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (o->outcome->signal) {
			o->outcome->is_at_once = true;
			o->state = FINISHED;
			return;
		}
		o->outcome->signal = (int)info.ssi_signo;
		ask_cancel(o);
	}
}

static void on_warden_end(struct order *o)
{
	o->warden_died = true;
	o->deadline_ms = MIN(o->deadline_ms, clock_monotonic_ms() + WARDEN_DEATH_WAIT_MS);
}

/* The time is over that a cancel, or a death, gave. */
static void on_deadline(struct order *o)
{
	o->outcome->is_at_once = true;
	if (o->warden_died)
		tell_death(o);
	else if (o->outcome->signal || o->outcome->stdout_errnum)
		o->state = FINISHED;
	else
		fail_protocol(o);
}

static int timeout_ms(const struct order *o, uint64_t now)
{
	uint64_t until = MIN(o->deadline_ms, pump_deadline_ms(&o->pump));

	if (until == UINT64_MAX)
		return -1;
	return until <= now ? 0 : (int)MIN(until - now, (uint64_t)INT_MAX);
}

enum poll_place { AT_ORDERS, AT_SIGNALS, AT_WARDEN, AT_OUT, AT_ERRORS, AT_PUMP };

static void prepare(struct order *o, uint64_t now, struct pollfd polls[AT_PUMP + PUMP_POLLS])
{
	short orders = (short)((may_receive(o) ? POLLIN : 0) | (has_small(o) ? POLLOUT : 0));

	/* A socket whose peer has gone polls ready whatever was asked: not while output waits. */
	polls[AT_ORDERS] = (struct pollfd){ .fd = orders ? o->orders : -1, .events = orders };
	polls[AT_SIGNALS] = (struct pollfd){ .fd = o->signals, .events = POLLIN };
	polls[AT_WARDEN] = (struct pollfd){ .fd = o->warden_died ? -1 : o->warden,
					    .events = POLLIN };
	polls[AT_OUT] = (struct pollfd){ .fd = sink_is_full(&o->out) ? o->out.fd : -1,
					 .events = POLLOUT };
	polls[AT_ERRORS] = (struct pollfd){ .fd = sink_is_full(&o->errors) ? o->errors.fd : -1,
					    .events = POLLOUT };
	pump_prepare(&o->pump, now, polls + AT_PUMP);
}

static void turn(struct order *o)
{
	struct pollfd polls[AT_PUMP + PUMP_POLLS];
	uint64_t now = clock_monotonic_ms();

	prepare(o, now, polls);
	if (poll(polls, ARRAY_SIZE(polls), timeout_ms(o, now)) < 0)
		return; /* EINTR: stopped and continued */
	now = clock_monotonic_ms();
	if (polls[AT_SIGNALS].revents)
		on_signals(o);
	if (polls[AT_WARDEN].revents)
		on_warden_end(o);
	sink_flush(&o->out);
	sink_flush(&o->errors);
	check_sinks(o);
	pump_move(&o->pump, now, polls + AT_PUMP);
	if (polls[AT_ORDERS].revents & (POLLIN | POLLHUP | POLLERR))
		receive(o);
	send_small(o);
	if (o->state == RUNNING && now >= o->deadline_ms)
		on_deadline(o);
}

static bool send_run(struct order *o, int *ret_stdin)
{
	_cleanup_close_ int reading = -1, writing = -1;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(o->err, ERR_SYSTEM, errno, "cannot make the pipe for stdin");
	reading = ends[0];
	writing = ends[1];
	r = wire_send(o->orders, o->request->run, (int[]){ o->request->bundle, reading }, 2);
	/* A front that has gone may have said why: that is read next. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return error_set(o->err, ERR_SYSTEM, -r, "cannot reach hotcell-front");
	*ret_stdin = TAKE_FD(writing);
	return true;
}

bool order_run(struct instance *instance, int signals, const struct order_request *request,
	       struct order_outcome *ret, struct error *err)
{
	_cleanup_free_ struct order *o = xcalloc(1, sizeof(*o));
	int to = -1;

	*ret = (struct order_outcome){ 0 };
	o->request = request;
	o->outcome = ret;
	o->err = err;
	o->orders = instance_orders(instance);
	o->warden = instance_warden_pidfd(instance);
	o->signals = signals;
	o->deadline_ms = UINT64_MAX;
	sink_init(&o->out, STDOUT_FILENO);
	sink_init(&o->errors, STDERR_FILENO);
	if (fd_set_nonblock(o->orders, true) < 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot prepare the front's socket");
	if (!send_run(o, &to))
		return false;
	pump_start(&o->pump, request->pass_stdin ? STDIN_FILENO : -1, to);
	while (o->state == RUNNING)
		turn(o);
	pump_stop(&o->pump);
	return o->state == FINISHED;
}
