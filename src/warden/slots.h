/*
 * Uid slots: two host uids a cell, one for its init and one for its program.
 *
 * A slot is free again only when slots_give() says so, which is after the last process of its cell is
 * reaped and its cgroup is removed: no uid is ever used by two cells at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SLOTS_MAX = 512 };

struct slots {
	uint32_t base;
	uint32_t count;
	uint32_t next; /* where the search begins: a slot rests as long as possible */
	bool taken[SLOTS_MAX];
};

void slots_init(struct slots *slots, uint32_t base, uint32_t count);

/* The slot's number, or -EAGAIN when all are taken. */
int slots_take(struct slots *slots);
void slots_give(struct slots *slots, int slot);

uid_t slots_init_uid(const struct slots *slots, int slot);
uid_t slots_worker_uid(const struct slots *slots, int slot);
