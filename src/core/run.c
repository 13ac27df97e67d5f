#include "core/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "core/capture.h"
#include "core/collect.h"
#include "core/core_private.h"
#include "core/outputs.h"
#include "core/plan.h"
#include "core/streams.h"
#include "core/verdict.h"
#include "loop/loop.h"
#include "runtime/runtime.h"

enum {
	BUILD_MAX_MS = 10 * 1000, /* until the cell is ready and has its input files */
	GONE_MAX_MS = 2 * 1000,   /* from the kill to the last process's end */
	COLLECT_MAX_MS = 10 * 1000,
	NOTE_MAX = 256,
	LATE_EXIT_MS = 200, /* from a driver's DONE to its exit */
};

/* One timer serves all states; what its end means is in timer_fired(). */
enum run_state {
	RUN_BUILDING,   /* the cell is being made */
	RUN_PUTTING,    /* input files go in */
	RUN_RUNNING,    /* the program has it */
	RUN_ENDING,     /* killed; waits until every process is dead */
	RUN_COLLECTING, /* files are listed and hashed */
	RUN_LEAVING,    /* cancelled before it ran; answers in the next turn */
	RUN_OVER,       /* `done` was called; freed in the next turn */
};

struct run {
	struct core *core;
	struct run *next;
	struct run_callbacks callbacks;
	struct plan plan;
	bool want_file_fds;
	enum run_state state;
	struct loop_timer *timer;
	struct cell *cell;
	struct streams streams;
	struct capture out, err;
	struct outputs outputs;
	struct collect *collect;
	struct verdict_facts facts;
	uint64_t started_ns, ended_ns;
	char note[NOTE_MAX];
};

static void enter(struct run *run, enum run_state state, uint64_t max_ms)
{
	run->state = state;
	loop_timer_start(run->timer, max_ms, 0);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The run is freed in the next turn, because we may be inside one of the cell's events. */
static void call_done(struct run *run, const struct run_result *result, const struct error *err)
{
	enter(run, RUN_OVER, 0);
	run->callbacks.done(run, result, err, run->callbacks.data_ptr);
}

static void fail(struct run *run, const struct error *err)
{
	call_done(run, NULL, err);
}

static void fill_usage(struct run *run, const struct cell_usage *usage, struct run_usage *ret)
{
	if (run->started_ns == 0)
		return;
	*ret = (struct run_usage){
		.cpu_us = usage->cpu_us,
		.wall_us = (run->ended_ns - run->started_ns) / 1000,
		.memory_peak_bytes = usage->memory_peak_bytes,
		.processes_peak = usage->processes_peak,
		.memory_is_exact = usage->memory_is_exact,
		.processes_is_exact = usage->processes_is_exact,
	};
}

static void answer(struct run *run)
{
	const struct core *core = run->core;
	struct run_result result = {
		.language = run->plan.runtime->name,
		.policy = core->config.policies[run->plan.policy].name,
		.isolation = backend_isolation(core->backend),
		.backend = backend_name(core->backend),
	};
	struct cell_usage usage = { 0 };
	struct verdict verdict;
	struct error err;

	cell_usage(run->cell, &usage);
	run->facts.oom_kills = usage.oom_kills;
	if (!verdict_decide(&run->facts, &verdict)) {
		error_set(
			&err, ERR_SYSTEM, 0,
			"the cell ended without telling how; what became of the program is unknown");
		fail(run, &err);
		return;
	}
	result.verdict = verdict.verdict;
	result.exit_code = verdict.exit_code;
	result.signal = verdict.signal;
	result.limit = verdict.limit;
	result.reason = verdict.reason[0] ? verdict.reason : NULL;
	result.note = run->note[0] ? run->note : NULL;
	fill_usage(run, &usage, &result.usage);
	capture_result(&run->out, &result.out);
	capture_result(&run->err, &result.err);
	outputs_parse(&run->outputs);
	result.result = run->outputs.result;
	result.outputs = run->outputs.list;
	result.n_outputs = run->outputs.n;
	if (run->collect)
		result.files = collect_files(run->collect, &result.n_files, &result.files_total);
	call_done(run, &result, NULL);
}

/* --- after the program ------------------------------------------------------------------------ */

static bool made_files(struct run *run)
{
	return run->plan.n_inputs > 0 || !cell_workspace_is_empty(run->cell);
}

static void collected(int errnum, const char *path, void *data)
{
	struct run *run = data;

	(void)path;
	if (run->state != RUN_COLLECTING)
		return;
	if (errnum)
		snprintf(run->note, sizeof(run->note),
			 "The files of the run could not be listed: %s.", strerror(errnum));
	else
		collect_note(run->collect, run->note, sizeof(run->note));
	answer(run);
}

/* Every process is dead: nothing changes any more. */
static void wind_up(struct run *run)
{
	streams_drain(&run->streams);
	if (run->facts.cause == CAUSE_CANCEL || !made_files(run)) {
		answer(run);
		return;
	}
	enter(run, RUN_COLLECTING, COLLECT_MAX_MS);
	if (!run->collect)
		run->collect = collect_new(run->core->loop, run->cell, &run->plan);
	collect_find(run->collect, run->want_file_fds, collected, run);
}

/* The program has ended, or has to: ends whatever is left in the cell. */
static void end(struct run *run, enum end_cause cause)
{
	run->ended_ns = clock_monotonic_ns();
	run->facts.cause = cause;
	enter(run, RUN_ENDING, GONE_MAX_MS);
	cell_kill(run->cell);
}

static void on_output(unsigned stream, const void *bytes, size_t len, void *data)
{
	struct run *run = data;

	if (run->state == RUN_OVER)
		return;
	if (stream == STREAM_OUTPUTS) {
		outputs_add(&run->outputs, bytes, len);
	} else {
		capture_add(stream == STREAM_OUT ? &run->out : &run->err, bytes, len);
		if (run->callbacks.output)
			run->callbacks.output(run, stream == STREAM_OUT ? 1 : 2, bytes, len,
					      run->callbacks.data_ptr);
	}
	if (run->state == RUN_RUNNING &&
	    run->out.total + run->err.total + run->outputs.ignored > run->plan.output_max)
		end(run, CAUSE_OUTPUT);
}

/* --- before the program ----------------------------------------------------------------------- */

static void start(struct run *run)
{
	int fds[RUN_FD_COUNT];
	struct error err;
	int r;

	memcpy(fds, run->streams.cell_fds, sizeof(fds));
	fds[RUN_FD_BUNDLE] = run->plan.bundle_fd;
	enter(run, RUN_RUNNING, run->plan.timeout_ms);
	run->started_ns = clock_monotonic_ns();
	r = cell_run(run->cell, fds);
	if (r < 0) {
		error_set(&err, ERR_UNAVAILABLE, -r,
			  "sandbox unavailable: cannot hand the program to the cell");
		fail(run, &err);
		return;
	}
	streams_start(&run->streams);
	run->plan.bundle_fd = fd_close(run->plan.bundle_fd);
}

static void inputs_put(int errnum, const char *path, void *data)
{
	struct run *run = data;
	struct error err;

	if (run->state != RUN_PUTTING)
		return;
	if (errnum) {
		error_set(&err, ERR_UNAVAILABLE, errnum, "cannot put %.200s into the workspace",
			  path ? path : "the input files");
		fail(run, &err);
		return;
	}
	start(run);
}

static bool is_before_program(const struct run *run)
{
	return run->state == RUN_BUILDING || run->state == RUN_PUTTING;
}

/* The cell fell before the program was started: says of what, as far as the kernel tells. */
static void fail_early(struct run *run, int status)
{
	const char *language = run->plan.runtime->name;
	struct cell_usage usage = { 0 };
	struct error err;

	cell_usage(run->cell, &usage);
	if (usage.oom_kills > 0)
		error_set(&err, ERR_LIMIT, 0,
			  "the memory limit of %llu bytes is too small to start %s; raise it",
			  (unsigned long long)run->plan.spec.limits.memory_bytes, language);
	else if (WIFSIGNALED(status))
		error_set(&err, ERR_UNAVAILABLE, 0,
			  "sandbox unavailable: %s was ended by signal %d before it was ready",
			  language, WTERMSIG(status));
	else
		error_set(&err, ERR_UNAVAILABLE, 0,
			  "sandbox unavailable: %s ended with status %d before it was ready",
			  language, WEXITSTATUS(status));
	fail(run, &err);
}

/* --- what the cell tells ---------------------------------------------------------------------- */

static void on_ready(struct cell *cell, void *data)
{
	struct run *run = data;

	if (run->state != RUN_BUILDING)
		return;
	if (run->plan.n_inputs == 0) {
		start(run);
		return;
	}
	run->state = RUN_PUTTING;
	run->collect = collect_new(run->core->loop, cell, &run->plan);
	collect_put(run->collect, inputs_put, run);
}

static void on_exited(struct cell *cell, int status, void *data)
{
	struct run *run = data;

	(void)cell;
	if (is_before_program(run)) {
		fail_early(run, status);
	} else if (run->state == RUN_RUNNING) {
		run->facts.has_status = true;
		run->facts.status = status;
		end(run, CAUSE_NONE);
	}
}

static void on_finished(struct cell *cell, int code, void *data)
{
	struct run *run = data;

	(void)cell;
	if (run->state != RUN_RUNNING)
		return;
	run->facts.has_done = true;
	run->facts.done_code = code;
	/* The driver exits next, and its exit tells what the run has cost. What is written after DONE
	 * is not the run's any more. */
	if (cell_usage_is_late(run->cell)) {
		streams_drain(&run->streams);
		streams_close(&run->streams);
		loop_timer_start(run->timer, LATE_EXIT_MS, 0);
		return;
	}
	if (made_files(run)) {
		end(run, CAUSE_NONE);
		return;
	}
	/* Nothing to collect: the answer goes out first, the kill follows with the free. */
	run->ended_ns = clock_monotonic_ns();
	run->state = RUN_ENDING;
	streams_drain(&run->streams);
	answer(run);
}

static void on_broken(struct cell *cell, uint32_t step, int errnum, void *data)
{
	struct run *run = data;
	struct error err;

	(void)cell;
	if (!is_before_program(run) && run->state != RUN_RUNNING)
		return;
	error_set(&err, ERR_UNAVAILABLE, errnum, "sandbox unavailable: cannot %s",
		  cell_step_text(step));
	fail(run, &err);
}

static void on_rogue(struct cell *cell, void *data)
{
	struct run *run = data;
	struct error err;

	(void)cell;
	if (is_before_program(run)) {
		error_set(&err, ERR_UNAVAILABLE, 0,
			  "sandbox unavailable: the driver of %s is faulty",
			  run->plan.runtime->name);
		fail(run, &err);
	} else if (run->state == RUN_RUNNING) {
		end(run, CAUSE_ROGUE);
	}
}

static void on_gone(struct cell *cell, int status, void *data)
{
	struct run *run = data;

	(void)cell;
	if (is_before_program(run)) {
		fail_early(run, status);
		return;
	}
	if (run->state != RUN_RUNNING && run->state != RUN_ENDING)
		return;
	if (run->state == RUN_RUNNING)
		run->ended_ns = clock_monotonic_ns();
	run->facts.has_init_status = true;
	run->facts.init_status = status;
	wind_up(run);
}

static void on_failed(struct cell *cell, const struct error *err, void *data)
{
	struct run *run = data;
	struct error lost;

	(void)cell;
	if (is_before_program(run)) {
		fail(run, err);
	} else if (run->state == RUN_RUNNING) {
		error_set(&lost, ERR_SYSTEM, 0,
			  "the program was running, and what became of it is unknown: %.300s",
			  err->message);
		fail(run, &lost);
	} else if (run->state == RUN_ENDING || run->state == RUN_COLLECTING) {
		/* How the program ended is known already. */
		snprintf(run->note, sizeof(run->note), "The files of the run were lost: %.180s.",
			 err->message);
		streams_drain(&run->streams);
		answer(run);
	}
}

static const struct cell_events cell_events = {
	.ready = on_ready,
	.exited = on_exited,
	.finished = on_finished,
	.broken = on_broken,
	.rogue = on_rogue,
	.gone = on_gone,
	.failed = on_failed,
};

static void timer_fired(void *data)
{
	struct run *run = data;
	struct error err;

	switch (run->state) {
	case RUN_BUILDING:
	case RUN_PUTTING:
		error_set(&err, ERR_UNAVAILABLE, 0,
			  "sandbox unavailable: the cell was not ready within %d seconds",
			  BUILD_MAX_MS / 1000);
		fail(run, &err);
		break;
	case RUN_RUNNING:
		end(run, CAUSE_TIMEOUT);
		break;
	case RUN_ENDING:
		snprintf(
			run->note, sizeof(run->note),
			"The cell's processes did not end within %d seconds; its files were not listed.",
			GONE_MAX_MS / 1000);
		streams_drain(&run->streams);
		answer(run);
		break;
	case RUN_COLLECTING:
		snprintf(run->note, sizeof(run->note),
			 "Listing the files took longer than %d seconds; some are missing here.",
			 COLLECT_MAX_MS / 1000);
		answer(run);
		break;
	case RUN_LEAVING:
		answer(run);
		break;
	case RUN_OVER:
		run_release(run);
		break;
	}
}

/* --- the handle ------------------------------------------------------------------------------- */

struct run *run_submit(struct core *core, const struct run_request *request,
		       const struct run_callbacks *callbacks, struct error *err)
{
	struct run *run = xcalloc(1, sizeof(*run));

	run->core = core;
	run->callbacks = *callbacks;
	run->want_file_fds = request->want_file_fds;
	capture_init(&run->out);
	capture_init(&run->err);
	outputs_init(&run->outputs);
	run->timer = loop_timer_new(core->loop, timer_fired, run);
	run->next = core->runs;
	core->runs = run;
	/* Takes the stdin that was given, so it comes first. */
	if (!streams_open(&run->streams, core->loop, request->stdin_data, request->stdin_len,
			  request->stdin_fd, on_output, run, err)) {
		run->plan.bundle_fd = request->bundle_fd;
		run_release(run);
		return NULL;
	}
	if (plan_make(&run->plan, &core->config, core->runtimes, request, err))
		run->cell = cell_new(core->backend, &run->plan.spec, &cell_events, run, err);
	if (!run->cell) {
		run_release(run);
		return NULL;
	}
	run->facts.timeout_ms = run->plan.timeout_ms;
	run->facts.memory_bytes = run->plan.spec.limits.memory_bytes;
	run->facts.output_max = run->plan.output_max;
	enter(run, RUN_BUILDING, BUILD_MAX_MS);
	return run;
}

void run_release(struct run *run)
{
	struct run **at = &run->core->runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	cell_free(run->cell);
	run->collect = collect_free(run->collect);
	streams_close(&run->streams);
	plan_done(&run->plan);
	capture_done(&run->out);
	capture_done(&run->err);
	outputs_done(&run->outputs);
	run->timer = loop_timer_free(run->timer);
	free(run);
}

void run_cancel(struct run *run)
{
	switch (run->state) {
	case RUN_BUILDING:
	case RUN_PUTTING:
		run->facts.cause = CAUSE_CANCEL;
		enter(run, RUN_LEAVING, 0);
		break;
	case RUN_RUNNING:
		end(run, CAUSE_CANCEL);
		break;
	case RUN_COLLECTING:
		/* The program has ended by itself; only its files are not waited for. */
		snprintf(run->note, sizeof(run->note),
			 "The run was cancelled while its files were listed.");
		enter(run, RUN_LEAVING, 0);
		break;
	case RUN_ENDING:
	case RUN_LEAVING:
	case RUN_OVER:
		break;
	}
}

void run_hold_output(struct run *run, bool hold)
{
	if (run->state != RUN_OVER)
		streams_hold(&run->streams, hold);
}
