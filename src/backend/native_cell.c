#include "backend/native_cell.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/cgroup_text.h"
#include "backend/file_server.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "loop/port.h"

enum {
	SAMPLE_MS = 20,
	CGROUP_TEXT_MAX = 4096,
	QUEUE_MAX = 16 << 10, /* only RUN is ever sent */
};

#define IN(state) (1u << NATIVE_##state)

/* init is ours, but a cell is around it: what it says is checked all the same. */
static const struct wire_rule init_rules[CELL_MESSAGE_COUNT] = {
	[CELL_READY] = { IN(BUILDING) | IN(READY) | IN(RUNNING) | IN(ENDED),
			 sizeof(struct cell_ready), 0, 0, 0 },
	[CELL_EXIT] = { IN(BUILDING) | IN(READY) | IN(RUNNING) | IN(ENDED),
			sizeof(struct cell_exit), 0, 0, 0 },
	[CELL_BROKEN] = { IN(BUILDING) | IN(READY) | IN(RUNNING), sizeof(struct cell_broken), 0, 0,
			  0 },
};

/* Everything a driver says is the program's own word. */
static const struct wire_rule driver_rules[CELL_MESSAGE_COUNT] = {
	[CELL_READY] = { IN(BUILDING), sizeof(struct cell_ready), 0, 0, 0 },
	[CELL_DONE] = { IN(RUNNING), sizeof(struct cell_done), 0, 0, 0 },
};

union cell_in {
	struct wire_header header;
	struct cell_ready ready;
	struct cell_exit exit;
	struct cell_broken broken;
	struct cell_done done;
};

static struct native_cell *native_cell(struct cell *cell)
{
	return (struct native_cell *)cell;
}

/* --- what the kernel counts ------------------------------------------------------------------- */

static bool read_number(int fd, int (*parse)(const char *text, uint64_t *ret), uint64_t *ret)
{
	char text[CGROUP_TEXT_MAX];

	return fd >= 0 && fd_read_text(fd, text, sizeof(text)) > 0 && parse(text, ret) == 0;
}

static int parse_oom_kills(const char *text, uint64_t *ret)
{
	return cgroup_text_line(text, "oom_kill", ret);
}

static void sample(void *data)
{
	struct native_cell *cell = data;
	uint64_t value;

	if (cell->fds[CELL_FD_MEMORY_PEAK] < 0 &&
	    read_number(cell->fds[CELL_FD_MEMORY_NOW], cgroup_text_number, &value))
		cell->memory_sampled = MAX(cell->memory_sampled, value);
	if (cell->fds[CELL_FD_PIDS_PEAK] < 0 &&
	    read_number(cell->fds[CELL_FD_PIDS_NOW], cgroup_text_number, &value))
		cell->processes_sampled = MAX(cell->processes_sampled, value);
}

static bool needs_samples(const struct native_cell *cell)
{
	return (cell->fds[CELL_FD_MEMORY_PEAK] < 0 && cell->fds[CELL_FD_MEMORY_NOW] >= 0) ||
	       (cell->fds[CELL_FD_PIDS_PEAK] < 0 && cell->fds[CELL_FD_PIDS_NOW] >= 0);
}

void native_cell_usage(struct cell *base, struct cell_usage *ret)
{
	struct native_cell *cell = native_cell(base);
	uint64_t value;

	if (!cell->gone)
		sample(cell);
	if (read_number(cell->fds[CELL_FD_CPU], cgroup_text_cpu_us, &value))
		ret->cpu_us = value - MIN(value, cell->cpu_us_at_run);
	else
		ret->cpu_us = MAX(cell->exit_cpu_us, cell->gone_cpu_us);
	ret->memory_is_exact = read_number(cell->fds[CELL_FD_MEMORY_PEAK], cgroup_text_number,
					   &ret->memory_peak_bytes);
	if (!ret->memory_is_exact)
		ret->memory_peak_bytes = MAX(cell->memory_sampled,
					     MAX(cell->exit_memory_bytes, cell->gone_memory_bytes));
	ret->processes_is_exact = read_number(cell->fds[CELL_FD_PIDS_PEAK], cgroup_text_number,
					      &ret->processes_peak);
	if (!ret->processes_is_exact)
		ret->processes_peak = cell->processes_sampled;
	/* init is ours, not the program's. */
	ret->processes_peak = ret->processes_peak > 1 ? ret->processes_peak - 1 : 1;
	if (!read_number(cell->fds[CELL_FD_MEMORY_EVENTS], parse_oom_kills, &ret->oom_kills))
		ret->oom_kills = cell->gone_over_memory;
}

static void remember_workspace(struct native_cell *cell)
{
	int fd = cell->fds[CELL_FD_WORKSPACE];

	if (fd < 0 || fstatfs(fd, &cell->workspace) < 0)
		cell->workspace.f_files = 0;
}

bool native_cell_workspace_is_empty(struct cell *base)
{
	struct native_cell *cell = native_cell(base);
	const struct statfs *was = &cell->workspace;
	struct statfs now;

	if (was->f_files == 0 || fstatfs(cell->fds[CELL_FD_WORKSPACE], &now) < 0)
		return false;
	return now.f_files == was->f_files && now.f_ffree == was->f_ffree &&
	       now.f_blocks == was->f_blocks && now.f_bfree == was->f_bfree;
}

/* --- ending it -------------------------------------------------------------------------------- */

static void close_sockets(struct native_cell *cell)
{
	cell->control = port_free(cell->control);
	cell->driver_port = port_free(cell->driver_port);
}

void native_cell_kill(struct cell *base)
{
	struct native_cell *cell = native_cell(base);
	ssize_t ignored;

	if (cell->killed || cell->state == NATIVE_ASKED)
		return;
	if (!cell->gone)
		sample(cell);
	cell->killed = true;
	cell->state = NATIVE_ENDED;
	if (cell->fds[CELL_FD_KILL] >= 0) {
		/* Should it fail, the end of the control socket ends init, and DESTROY kills by pidfd. */
		ignored = write(cell->fds[CELL_FD_KILL], "1", 1);
		(void)ignored;
	}
	close_sockets(cell);
	if (cell->sampler)
		loop_timer_stop(cell->sampler);
}

void native_cell_close(struct native_cell *cell)
{
	close_sockets(cell);
	cell->files = file_server_free(cell->files);
	cell->sampler = loop_timer_free(cell->sampler);
	for (size_t i = 0; i < CELL_FD_COUNT; i++)
		cell->fds[i] = fd_close(cell->fds[i]);
}

int native_cell_freeze(struct cell *base, bool on)
{
	struct native_cell *cell = native_cell(base);
	/* cgroup.freeze takes 1 and 0, the v1 freezer words. cgroup.events exists on v2 only. */
	bool v2 = cell->fds[CELL_FD_EVENTS] >= 0;
	const char *word = v2 ? (on ? "1" : "0") : (on ? "FROZEN" : "THAWED");

	if (cell->fds[CELL_FD_FREEZE] < 0)
		return -ENOTSUP;
	return write(cell->fds[CELL_FD_FREEZE], word, strlen(word)) < 0 ? -errno : 0;
}

/* --- the cell's own sockets ------------------------------------------------------------------- */

static void rogue(struct native_cell *cell)
{
	native_cell_kill(&cell->base);
	cell->base.events->rogue(&cell->base, cell->base.data);
}

/* init itself said something wrong: whatever is in there, it is not our cell any more. */
static void control_failed(struct native_cell *cell)
{
	struct error err;

	native_cell_kill(&cell->base);
	cell->failed = true;
	error_set(
		&err, ERR_SYSTEM, 0,
		"the cell's init said something unexpected; what became of the program is unknown");
	cell->base.events->failed(&cell->base, &err, cell->base.data);
}

static void become_ready(struct native_cell *cell)
{
	cell->state = NATIVE_READY;
	cell->base.events->ready(&cell->base, cell->base.data);
}

static void on_control(struct native_cell *cell, const union cell_in *in)
{
	const struct cell_events *events = cell->base.events;

	switch (in->header.type) {
	case CELL_READY:
		if (cell->init_ready) {
			control_failed(cell);
			return;
		}
		cell->init_ready = true;
		if (!cell->driver || cell->driver_ready)
			become_ready(cell);
		return;
	case CELL_EXIT:
		if (cell->exited) {
			control_failed(cell);
			return;
		}
		cell->exited = true;
		cell->exit_cpu_us = in->exit.cpu_us;
		cell->exit_memory_bytes = in->exit.memory_max_bytes;
		cell->state = NATIVE_ENDED;
		events->exited(&cell->base, in->exit.status, cell->base.data);
		return;
	default:
		cell->state = NATIVE_ENDED;
		events->broken(&cell->base, in->broken.step, in->broken.errnum, cell->base.data);
		return;
	}
}

static void control_readable(void *data)
{
	struct native_cell *cell = data;
	union cell_in in;
	_cleanup_fds_ struct wire_fds fds;
	ssize_t n = wire_recv(port_socket(cell->control), &in, sizeof(in), &fds);

	if (n == -EAGAIN)
		return;
	if (n == 0) {
		/* init has gone; the warden says how. */
		cell->control = port_free(cell->control);
		return;
	}
	if (n < 0 || wire_check(init_rules, CELL_MESSAGE_COUNT, cell->state, &in.header, fds.n) < 0)
		control_failed(cell);
	else
		on_control(cell, &in);
}

void native_cell_drain_control(struct native_cell *cell)
{
	for (size_t i = 0; i < CELL_MESSAGE_COUNT && cell->control && !cell->orphan; i++)
		control_readable(cell);
}

static void driver_readable(void *data)
{
	struct native_cell *cell = data;
	union cell_in in;
	_cleanup_fds_ struct wire_fds fds;
	ssize_t n = wire_recv(port_socket(cell->driver_port), &in, sizeof(in), &fds);

	if (n == -EAGAIN)
		return;
	if (n == 0) {
		/* A program may close it; its end is told by init. */
		cell->driver_port = port_free(cell->driver_port);
		return;
	}
	if (n < 0 ||
	    wire_check(driver_rules, CELL_MESSAGE_COUNT, cell->state, &in.header, fds.n) < 0 ||
	    (in.header.type == CELL_DONE && (in.done.code < 0 || in.done.code > 255))) {
		rogue(cell);
		return;
	}
	if (in.header.type == CELL_READY) {
		if (cell->driver_ready) {
			rogue(cell);
			return;
		}
		/* Both must say it: init locks itself down while the driver loads. */
		cell->driver_ready = true;
		if (cell->init_ready)
			become_ready(cell);
		return;
	}
	cell->state = NATIVE_ENDED;
	cell->base.events->finished(&cell->base, in.done.code, cell->base.data);
}

static struct port *open_port(struct native_cell *cell, enum cell_fd which,
			      void (*read_it)(void *data))
{
	const struct port_config config = {
		.send = wire_send,
		.readable = read_it,
		.data = cell,
		.queue_max = QUEUE_MAX,
	};

	return port_new(cell->loop, TAKE_FD(cell->fds[which]), &config);
}

int native_cell_created(struct native_cell *cell, uint32_t has, struct wire_fds *fds)
{
	size_t next = 0;

	if ((has >> CELL_FD_COUNT) != 0 || (size_t)__builtin_popcount(has) != fds->n)
		return -EPROTO;
	for (unsigned i = 0; i < CELL_FD_COUNT; i++)
		if (has & (1u << i))
			cell->fds[i] = wire_take_fd(fds, next++);
	if (cell->fds[CELL_FD_CONTROL] < 0 || (cell->fds[CELL_FD_DRIVER] >= 0) != cell->driver)
		return -EPROTO;
	cell->state = NATIVE_BUILDING;
	cell->base.usage_is_late = cell->fds[CELL_FD_CPU] < 0;
	remember_workspace(cell);
	cell->control = open_port(cell, CELL_FD_CONTROL, control_readable);
	if (cell->driver)
		cell->driver_port = open_port(cell, CELL_FD_DRIVER, driver_readable);
	return cell->control && (cell->driver_port || !cell->driver) ? 0 : -EPROTO;
}

int native_cell_run(struct cell *base, const int fds[RUN_FD_COUNT])
{
	struct native_cell *cell = native_cell(base);
	struct port *port = cell->driver ? cell->driver_port : cell->control;
	WIRE_MESSAGE(cell_run, run, CELL_RUN);
	int r;

	if (cell->state != NATIVE_READY || !port)
		return -EPIPE;
	if (!read_number(cell->fds[CELL_FD_CPU], cgroup_text_cpu_us, &cell->cpu_us_at_run))
		cell->cpu_us_at_run = 0;
	r = port_send(port, &run, sizeof(run), fds, RUN_FD_COUNT);
	if (r < 0)
		return r;
	cell->state = NATIVE_RUNNING;
	if (needs_samples(cell)) {
		cell->sampler = loop_timer_new(cell->loop, sample, cell);
		loop_timer_start(cell->sampler, SAMPLE_MS, SAMPLE_MS);
	}
	return 0;
}
