/*
 * A run: one execution of one piece of code, from request to verdict.
 *
 * run_submit() checks the request and starts it; exactly one call of `done` follows, never from inside
 * run_submit() itself. Events (output as it comes) may come before it. run_cancel() asks for an early
 * end: `done` still comes, with verdict cancelled and the output so far.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/isolation.h"
#include "base/error.h"
#include "wire/cell_spec.h"
#include "wire/verdict.h"

struct core;
struct run; /* the handle of a run under way */

enum {
	/* Output kept for the result, each stream: the first and the last half of it. */
	RUN_OUTPUT_KEPT = 1 << 20,
	/* Output of both streams together after which the run is ended with verdict output. */
	RUN_OUTPUT_MAX = 64 << 20,
	RUN_TIMEOUT_DEFAULT_MS = 30 * 1000,
	RUN_TIMEOUT_MAX_MS = 600 * 1000,
	RUN_FILES_LISTED_MAX = 1000,
};

/* A file put into the workspace before the run. */
struct run_input {
	const char *path; /* plain, relative to /workspace */
	const void *data;
	size_t len;
	bool executable;
};

/* The caller keeps everything; run_submit() copies what it needs. Zero means "the default". */
struct run_request {
	const char *language;
	const char *policy; /* strict, standard, permissive */
	const char *code;
	size_t code_len;
	int bundle_fd; /* instead of code, args and env: a checked bundle (wire/bundle.h), taken; -1 */
	const char *const *args;
	size_t n_args;
	const char *const *env; /* NAME=value */
	size_t n_env;
	const struct run_input *files;
	size_t n_files;
	const void *stdin_data; /* the program's whole stdin; it then reads end of file */
	size_t stdin_len;
	int stdin_fd; /* instead: a pipe that becomes the program's stdin as it is, taken; -1 */
	uint64_t timeout_ms;
	struct cell_limits limits; /* each field 0: the policy's */
	uint64_t output_max;       /* 0: RUN_OUTPUT_MAX */
	bool want_file_fds;        /* open every file that the run made, for file_fd below */
};

/* What was kept of one stream. When truncated, head and tail are not contiguous. */
struct run_stream {
	const char *head;
	size_t head_len;
	const char *tail;
	size_t tail_len;
	uint64_t total; /* bytes the program wrote */
	bool truncated;
};

struct run_file {
	const char *path; /* bytes as the kernel gave them, not always UTF-8 */
	uint64_t size;
	uint32_t mode;
	const char *change; /* "created", "changed", "deleted" */
	char sha256[65];    /* "" when it was not computed (too large, not regular) */
	int fd;             /* open for reading with want_file_fds, else -1; the run owns it */
};

/* Something shown rather than printed: an image, a table, the value of the last expression. */
struct run_output {
	const char *mime;
	const void *data;
	size_t len;
};

struct run_usage {
	uint64_t cpu_us;
	uint64_t wall_us;
	uint64_t memory_peak_bytes;
	uint64_t processes_peak;
	bool memory_is_exact; /* by the kernel's own peak; false: sampled */
	bool processes_is_exact;
};

struct run_result {
	enum run_verdict verdict;
	int exit_code;      /* the program's; 128+n for a signal, 124 timeout, 137 memory */
	int signal;         /* 0 or the signal that ended it */
	uint64_t limit;     /* the limit that was reached: ms (timeout) or bytes (memory, output) */
	const char *reason; /* a sentence for people when the verdict is not exit, else NULL */
	const char
		*note; /* what else a person should know: files that could not be listed; or NULL */
	struct run_stream out, err;
	const char *result; /* text of the last expression, or NULL */
	const struct run_output *outputs;
	size_t n_outputs;
	const struct run_file *files;
	size_t n_files;
	uint64_t files_total; /* n_files is at most RUN_FILES_LISTED_MAX */
	struct run_usage usage;
	const char *language;
	const char *policy;
	enum isolation_level isolation;
	const char *backend;
	bool pool_hit;
};

struct run_callbacks {
	/* Bytes of stream 1 or 2 as they came. Optional. */
	void (*output)(struct run *run, int stream, const void *data, size_t len, void *data_ptr);
	/* err is set (and result NULL) when the sandbox failed: then no user code was run, or its
	 * outcome is unknown and the message says so. The result is the callee's until it returns. */
	void (*done)(struct run *run, const struct run_result *result, const struct error *err,
		     void *data_ptr);
	void *data_ptr;
};

/* NULL with err set when the request is refused; nothing was run then, and `done` will not come. The
 * request's fds are taken either way. */
struct run *run_submit(struct core *core, const struct run_request *request,
		       const struct run_callbacks *callbacks, struct error *err);

/* Harmless after `done`'s call has begun; the handle is gone when `done` has returned. */
void run_cancel(struct run *run);

/* Stops and resumes the reading of the program's output, for a client that cannot keep up. The
 * program then blocks in write(2); its time limit goes on. */
void run_hold_output(struct run *run, bool hold);
