/*
 * Starting hotcell's own programs: with exactly the descriptors they are given and no environment but
 * the language.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0: none */
	int pidfd;
};

struct child_request {
	const char *path;
	const char *const *argv; /* ended by NULL */
	const int *fds;          /* become 3, 4, ... of the program; they stay the caller's */
	size_t n_fds;
	/* It speaks to the client itself: our 0 and 1 are its own, and it stays in our process group,
	 * or a terminal would not let it read. Else they are /dev/null, and the group is its own, so
	 * that Ctrl-C reaches the command alone. 2 is always ours. */
	bool has_client;
};

/* 0 or a negative errno. */
int child_start(const struct child_request *request, struct child *ret);

/* Waits until the child has ended, at most until then (monotonic); kills it if it has not. Always
 * reaps. */
void child_end(struct child *child, uint64_t deadline_ms);
