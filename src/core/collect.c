#include "core/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/path.h"
#include "core/digest.h"
#include "core/plan.h"
#include "loop/loop.h"

struct before {
	bool known;
	uint64_t size, mtime_ns;
};

struct collect {
	struct cell *cell;
	const struct plan *plan;
	struct loop_timer *timer; /* one slice of hashing each time */
	collect_done done;
	void *data;
	size_t at;             /* the input being put, or the file being hashed */
	struct before *before; /* one for each input */
	struct run_file *files;
	size_t n_files;
	uint64_t files_total;
	uint64_t left_out; /* made, and not in the list: too many, too deep, or not to be read */
	uint64_t unread;   /* in the list, and could not be opened */
	bool want_fds;
	int fd; /* the file being hashed */
	uint64_t hashed;
	struct digest *digest;
};

static void put_next(struct collect *collect);
static void open_next(struct collect *collect);
static void hash_slice(void *data);

struct collect *collect_new(struct loop *loop, struct cell *cell, const struct plan *plan)
{
	struct collect *collect = xcalloc(1, sizeof(*collect));

	collect->cell = cell;
	collect->plan = plan;
	collect->fd = -1;
	collect->timer = loop_timer_new(loop, hash_slice, collect);
	if (plan->n_inputs)
		collect->before = xcalloc(plan->n_inputs, sizeof(*collect->before));
	return collect;
}

struct collect *collect_free(struct collect *collect)
{
	if (!collect)
		return NULL;
	for (size_t i = 0; i < collect->n_files; i++) {
		(void)fd_close(collect->files[i].fd);
		free((char *)(uintptr_t)collect->files[i].path);
	}
	free(collect->files);
	free(collect->before);
	(void)fd_close(collect->fd);
	(void)loop_timer_free(collect->timer);
	(void)digest_free(collect->digest);
	free(collect);
	return NULL;
}

static struct before *find_input(const struct collect *collect, const char *path)
{
	for (size_t i = 0; i < collect->plan->n_inputs; i++)
		if (!strcmp(collect->plan->inputs[i].path, path))
			return &collect->before[i];
	return NULL;
}

/* --- before the run --------------------------------------------------------------------------- */

static void before_listed(int errnum, const struct cell_file *files, size_t n_files,
			  uint64_t skipped, void *data)
{
	struct collect *collect = data;

	(void)skipped;
	for (size_t i = 0; i < n_files; i++) {
		struct before *before = find_input(collect, files[i].path);

		if (before)
			*before = (struct before){ true, files[i].size, files[i].mtime_ns };
	}
	collect->done(errnum, NULL, collect->data);
}

static void put_done(int errnum, void *data)
{
	struct collect *collect = data;

	if (errnum) {
		collect->done(errnum, collect->plan->inputs[collect->at].path, collect->data);
		return;
	}
	collect->at++;
	put_next(collect);
}

static void put_next(struct collect *collect)
{
	const struct plan_input *input;
	_cleanup_close_ int fd = -1;

	if (collect->at == collect->plan->n_inputs) {
		cell_list(collect->cell, COLLECT_LIST_MAX, before_listed, collect);
		return;
	}
	input = &collect->plan->inputs[collect->at];
	fd = fd_from_bytes("input", input->data, input->len);
	/* Without an fd hotcell-files gets none and says so. */
	cell_put(collect->cell, input->path, input->executable, fd, put_done, collect);
}

void collect_put(struct collect *collect, collect_done done, void *data)
{
	collect->done = done;
	collect->data = data;
	collect->at = 0;
	put_next(collect);
}

/* --- after the run ---------------------------------------------------------------------------- */

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct run_file *)a)->path, ((const struct run_file *)b)->path);
}

static void add_file(struct collect *collect, const char *path, uint64_t size, uint32_t mode,
		     const char *change)
{
	collect->files[collect->n_files++] = (struct run_file){
		.path = xstrdup(path),
		.size = size,
		.mode = mode,
		.change = change,
		.fd = -1,
	};
}

static void add_listed(struct collect *collect, const struct cell_file *file)
{
	struct before *before = find_input(collect, file->path);
	bool changed = !before || !before->known || before->size != file->size ||
		       before->mtime_ns != file->mtime_ns;

	if (before)
		before->known = false; /* seen again: it was not deleted */
	if (changed)
		add_file(collect, file->path, file->size, file->mode,
			 before ? "changed" : "created");
}

static void add_deleted(struct collect *collect)
{
	for (size_t i = 0; i < collect->plan->n_inputs; i++)
		if (collect->before[i].known)
			add_file(collect, collect->plan->inputs[i].path, 0, 0, "deleted");
}

static void keep_listed_max(struct collect *collect)
{
	while (collect->n_files > RUN_FILES_LISTED_MAX) {
		free((char *)(uintptr_t)collect->files[--collect->n_files].path);
		collect->left_out++;
	}
}

static void after_listed(int errnum, const struct cell_file *files, size_t n_files,
			 uint64_t skipped, void *data)
{
	struct collect *collect = data;

	if (errnum) {
		collect->done(errnum, NULL, collect->data);
		return;
	}
	collect->files = xcalloc(n_files + collect->plan->n_inputs + 1, sizeof(*collect->files));
	for (size_t i = 0; i < n_files; i++)
		if (files[i].kind == FILES_REGULAR)
			add_listed(collect, &files[i]);
	/* What was left out of the listing may be an input that is still there. */
	if (skipped == 0)
		add_deleted(collect);
	collect->files_total = collect->n_files + skipped;
	collect->left_out = skipped;
	qsort(collect->files, collect->n_files, sizeof(*collect->files), compare_files);
	keep_listed_max(collect);
	collect->at = 0;
	open_next(collect);
}

static bool wants_hash(const struct collect *collect, const struct run_file *file)
{
	return file->size <= COLLECT_HASH_FILE_MAX && collect->digest &&
	       collect->hashed + file->size <= COLLECT_HASH_TOTAL_MAX;
}

static void file_opened(int errnum, int fd, uint64_t size, void *data)
{
	struct collect *collect = data;
	struct run_file *file = &collect->files[collect->at];

	(void)size;
	collect->unread += errnum != 0;
	if (errnum || !wants_hash(collect, file)) {
		file->fd = fd;
		collect->at++;
		open_next(collect);
		return;
	}
	collect->hashed += file->size;
	collect->fd = fd;
	loop_timer_start(collect->timer, 0, 0);
}

static void hash_slice(void *data)
{
	struct collect *collect = data;
	struct run_file *file = &collect->files[collect->at];
	int r = digest_slice(collect->digest, collect->fd, COLLECT_HASH_SLICE, file->sha256);

	if (r > 0) {
		loop_timer_start(collect->timer, 0, 0);
		return;
	}
	if (collect->want_fds)
		file->fd = TAKE_FD(collect->fd);
	else
		collect->fd = fd_close(collect->fd);
	collect->at++;
	open_next(collect);
}

/* Opens the next file that needs it; the answer comes from the loop, so this does not nest. */
static void open_next(struct collect *collect)
{
	for (; collect->at < collect->n_files; collect->at++) {
		const struct run_file *file = &collect->files[collect->at];

		if (!strcmp(file->change, "deleted"))
			continue;
		if (!collect->want_fds && !wants_hash(collect, file))
			continue;
		cell_open(collect->cell, file->path, file_opened, collect);
		return;
	}
	collect->done(0, NULL, collect->data);
}

void collect_find(struct collect *collect, bool want_fds, collect_done done, void *data)
{
	collect->done = done;
	collect->data = data;
	collect->want_fds = want_fds;
	if (!collect->digest)
		collect->digest = digest_new();
	cell_list(collect->cell, COLLECT_LIST_MAX, after_listed, collect);
}

const struct run_file *collect_files(const struct collect *collect, size_t *ret_n,
				     uint64_t *ret_total)
{
	*ret_n = collect->n_files;
	*ret_total = collect->files_total;
	return collect->files;
}

void collect_note(const struct collect *collect, char *text, size_t size)
{
	char unread[80] = "";

	text[0] = '\0';
	if (collect->unread)
		snprintf(unread, sizeof(unread), "%" PRIu64 " of the files could not be read.",
			 collect->unread);
	if (collect->left_out)
		snprintf(text, size,
			 "%" PRIu64
			 " more files or folders are not listed: at most %d are, not deeper than "
			 "%d folders, and only what may be read.%s%s",
			 collect->left_out, RUN_FILES_LISTED_MAX, PATH_MAX_DEPTH,
			 unread[0] ? " " : "", unread);
	else
		snprintf(text, size, "%s", unread);
}
