/* A core around a fake backend, and a record of what its runs answered. Included after cmocka.h. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "backend/fake.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/macros.h"
#include "core/core.h"
#include "core/run.h"
#include "languages.h"
#include "loop/loop.h"
#include "wire/bundle.h"

#define EXITED(code) ((code) << 8)

struct world {
	struct loop *loop;
	struct fake_backend *fake;
	struct runtimes *runtimes;
	struct core *core;
	/* what came */
	int done;
	bool failed;
	struct error err;
	struct run_result result; /* pointers only good for the copies below */
	char out[4096], errors[4096], reason[256], note[256], text[64];
	size_t n_files;
	struct {
		char path[64], change[16], sha256[65];
		bool has_fd;
	} files[8];
	size_t n_outputs;
	char seen[4096]; /* by the output callback */
	size_t n_seen;
	struct run *run;
};

static inline void on_output(struct run *run, int stream, const void *data, size_t len, void *ptr)
{
	struct world *world = ptr;

	(void)run;
	(void)stream;
	len = MIN(len, sizeof(world->seen) - 1 - world->n_seen);
	memcpy(world->seen + world->n_seen, data, len);
	world->n_seen += len;
}

static inline void keep_stream(char *to, size_t size, const struct run_stream *stream)
{
	snprintf(to, size, "%.*s%.*s", (int)stream->head_len, stream->head, (int)stream->tail_len,
		 stream->tail);
}

static inline void on_done(struct run *run, const struct run_result *result,
			   const struct error *err, void *ptr)
{
	struct world *world = ptr;

	world->done++;
	run_cancel(run); /* harmless now */
	run_hold_output(run, true);
	if (err) {
		world->failed = true;
		world->err = *err;
		return;
	}
	world->result = *result;
	keep_stream(world->out, sizeof(world->out), &result->out);
	keep_stream(world->errors, sizeof(world->errors), &result->err);
	snprintf(world->reason, sizeof(world->reason), "%s", result->reason ? result->reason : "");
	snprintf(world->note, sizeof(world->note), "%s", result->note ? result->note : "");
	snprintf(world->text, sizeof(world->text), "%s", result->result ? result->result : "");
	world->n_outputs = result->n_outputs;
	world->n_files = result->n_files;
	for (size_t i = 0; i < MIN(result->n_files, ARRAY_SIZE(world->files)); i++) {
		snprintf(world->files[i].path, sizeof(world->files[i].path), "%s",
			 result->files[i].path);
		snprintf(world->files[i].change, sizeof(world->files[i].change), "%s",
			 result->files[i].change);
		snprintf(world->files[i].sha256, sizeof(world->files[i].sha256), "%s",
			 result->files[i].sha256);
		world->files[i].has_fd = result->files[i].fd >= 0;
	}
}

static inline struct world *world_open(void)
{
	struct world *world = xcalloc(1, sizeof(*world));
	struct core_config config;

	core_config_defaults(&config);
	world->loop = loop_new();
	world->fake = fake_new(world->loop);
	world->runtimes = languages_load();
	world->core = core_new(world->loop, &world->fake->base, world->runtimes, &config);
	return world;
}

static inline void world_close(struct world *world)
{
	core_free(world->core);
	assert_int_equal(world->fake->created, world->fake->freed);
	backend_free(&world->fake->base);
	runtimes_free(world->runtimes);
	loop_free(world->loop);
	free(world);
}

static inline struct run_request request(const char *language)
{
	return (struct run_request){
		.language = language, .code = "code", .code_len = 4, .bundle_fd = -1, .stdin_fd = -1
	};
}

static inline struct fake_cell *submit(struct world *world, const struct run_request *req)
{
	const struct run_callbacks callbacks = { on_output, on_done, world };
	struct error err = { 0 };

	world->run = run_submit(world->core, req, &callbacks, &err);
	if (!world->run)
		fail_msg("%s", err.message);
	assert_int_equal(world->done, 0);
	return world->fake->cell;
}

static inline struct fake_cell *start(struct world *world, const struct run_request *req)
{
	struct fake_cell *cell = submit(world, req);

	fake_ready(cell);
	assert_int_equal(cell->runs, 1);
	return cell;
}

static inline void wait_done(struct world *world)
{
	while (!world->done)
		loop_step(world->loop);
	assert_int_equal(world->done, 1);
	/* The run is freed in the next turn, and with it the cell. */
	while (world->fake->freed < world->fake->created)
		loop_step(world->loop);
	assert_int_equal(world->done, 1);
}
