#include "warden/slots.h"

#include <assert.h>
#include <errno.h>

#include "base/macros.h"

void slots_init(struct slots *slots, uint32_t base, uint32_t count)
{
	*slots = (struct slots){ .base = base, .count = MIN(count, (uint32_t)SLOTS_MAX) };
}

int slots_take(struct slots *slots)
{
	for (uint32_t i = 0; i < slots->count; i++) {
		uint32_t slot = (slots->next + i) % slots->count;

		if (slots->taken[slot])
			continue;
		slots->taken[slot] = true;
		slots->next = (slot + 1) % slots->count;
		return (int)slot;
	}
	return -EAGAIN;
}

void slots_give(struct slots *slots, int slot)
{
	assert(slot >= 0 && (uint32_t)slot < slots->count && slots->taken[slot]);
	slots->taken[slot] = false;
}

uid_t slots_init_uid(const struct slots *slots, int slot)
{
	return slots->base + 2 * (uint32_t)slot;
}

uid_t slots_worker_uid(const struct slots *slots, int slot)
{
	return slots->base + 2 * (uint32_t)slot + 1;
}
