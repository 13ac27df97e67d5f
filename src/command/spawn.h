/*
 * Starting hotcell's own programs: with exactly the descriptors they are given, no environment but
 * the language, in a process group of their own, so that Ctrl-C reaches the command alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: none */
	int pidfd;
};

/* fds become 3, 4, ... of the program; they stay the caller's. 0 and 1 are /dev/null, 2 is ours.
 * 0 or a negative errno. */
int child_start(const char *path, const char *const *argv, const int *fds, size_t n_fds,
		struct child *ret);

/* Waits until the child has ended, at most until then (monotonic); kills it if it has not. Always
 * reaps. */
void child_end(struct child *child, uint64_t deadline_ms);
