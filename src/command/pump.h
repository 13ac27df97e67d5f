/*
 * The command's stdin, carried into the pipe that is the program's.
 *
 * Never blocks on the pipe, never changes the flags of the shared stdin, and leaves a terminal alone
 * while another job is in its foreground.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pump {
	int from; /* borrowed */
	int to;   /* owned; -1: at its end */
	bool is_terminal;
	uint64_t wait_until_ms; /* not 0: the terminal is somebody else's, look again then */
	size_t at, len;         /* of bytes, what is still to be written */
	uint8_t bytes[64 * 1024];
};

enum { PUMP_POLLS = 2 };

/* Takes `to` and makes it non-blocking. With from -1 there is nothing to carry: to is closed. */
void pump_start(struct pump *pump, int from, int to);
void pump_stop(struct pump *pump);

/* Fills two entries of a poll; what it waits for follows from what it has. */
void pump_prepare(const struct pump *pump, uint64_t now_ms, struct pollfd polls[PUMP_POLLS]);
void pump_move(struct pump *pump, uint64_t now_ms, const struct pollfd polls[PUMP_POLLS]);

/* When it must be called again though nothing happens; UINT64_MAX: never. */
uint64_t pump_deadline_ms(const struct pump *pump);
