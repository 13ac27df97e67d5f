/* From what was seen of a run to how it ended. A pure function, tested as a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/verdict.h"

enum { VERDICT_REASON_MAX = 256 };

/* Why hotcell itself ended the run; the first cause stays. */
enum end_cause { CAUSE_NONE, CAUSE_TIMEOUT, CAUSE_OUTPUT, CAUSE_CANCEL, CAUSE_ROGUE };

struct verdict_facts {
	enum end_cause cause;
	bool has_done; /* the driver's DONE */
	int done_code;
	bool has_status;      /* the program's process, by init */
	int status;           /* as waitpid gives it */
	bool has_init_status; /* init's own, by the warden */
	int init_status;
	uint64_t oom_kills;
	uint64_t timeout_ms, memory_bytes, output_max;
};

struct verdict {
	enum run_verdict verdict;
	int exit_code;
	int signal;
	uint64_t limit;
	char reason[VERDICT_REASON_MAX]; /* empty for exit */
};

/* False when nothing tells how it ended: hotcell's own failure. */
bool verdict_decide(const struct verdict_facts *facts, struct verdict *ret);
