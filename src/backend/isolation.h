/* How well a cell is closed on this host; every result carries it. DESIGN.md has the table. */
#pragma once

#include <stdbool.h>

enum isolation_level { ISOLATION_STRONG, ISOLATION_FAIR, ISOLATION_WEAK };

/* What the host gives, as the warden found it by trying. */
struct isolation_facts {
	bool own_uids;        /* every cell has host uids of its own */
	bool memory_limit;    /* by cgroup */
	bool processes_limit; /* by cgroup */
	bool landlock;        /* any ABI */
	bool own_overlay;     /* /usr by one overlay a cell, not by a shared bind mount */
};

enum isolation_level isolation_rate(const struct isolation_facts *facts);

/* The word as results carry it; never NULL. */
const char *isolation_name(enum isolation_level level);
