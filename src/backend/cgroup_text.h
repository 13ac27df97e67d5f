/* The few lines of cgroup files that tell what a cell used. Pure; 0 or -EINVAL for anything else. */
#pragma once

#include <stdint.h>

/* The whole text is one number and a newline: memory.peak, pids.current. */
int cgroup_text_number(const char *text, uint64_t *ret);

/* The line "key N" of "cpu.stat", "memory.events", "memory.oom_control"; -ENOENT when there is none. */
int cgroup_text_line(const char *text, const char *key, uint64_t *ret);

/* Microseconds, from cpu.stat (usage_usec N) or cpuacct.usage (nanoseconds alone). */
int cgroup_text_cpu_us(const char *text, uint64_t *ret);
