#include "core/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/parse.h"

enum {
	EXIT_SIGNAL_BASE = 128,
	EXIT_TIMEOUT = 124,
	EXIT_KILLED = 137,
	EXIT_OUTPUT = 153,    /* 128 + SIGXFSZ: it wrote too much */
	EXIT_CANCELLED = 130, /* as after Ctrl-C */
	BYTES_TEXT_MAX = 32,
};

static void say_exit(struct verdict *v, int code)
{
	*v = (struct verdict){ .verdict = VERDICT_EXIT, .exit_code = code & 0xff };
}

static void say_signal(struct verdict *v, int number)
{
	const char *name = sigabbrev_np(number);

	*v = (struct verdict){
		.verdict = VERDICT_SIGNAL,
		.exit_code = EXIT_SIGNAL_BASE + number,
		.signal = number,
	};
	snprintf(v->reason, sizeof(v->reason), "The program was ended by signal %d%s%s%s.%s",
		 number, name ? " (SIG" : "", name ? name : "", name ? ")" : "",
		 number == SIGSYS ? " It made a system call that cells do not allow." : "");
}

static void say_memory(struct verdict *v, uint64_t limit)
{
	char text[BYTES_TEXT_MAX];

	*v = (struct verdict){
		.verdict = VERDICT_MEMORY,
		.exit_code = EXIT_KILLED,
		.signal = SIGKILL,
		.limit = limit,
	};
	snprintf(v->reason, sizeof(v->reason), "The program used more memory than its limit of %s.",
		 format_bytes(limit, text, sizeof(text)));
}

static void say_cause(struct verdict *v, const struct verdict_facts *facts)
{
	char text[BYTES_TEXT_MAX];

	switch (facts->cause) {
	case CAUSE_TIMEOUT:
		*v = (struct verdict){ VERDICT_TIMEOUT, EXIT_TIMEOUT, 0, facts->timeout_ms, "" };
		snprintf(v->reason, sizeof(v->reason),
			 "The program did not end within its time limit of %" PRIu64 " ms.",
			 facts->timeout_ms);
		break;
	case CAUSE_OUTPUT:
		*v = (struct verdict){ VERDICT_OUTPUT, EXIT_OUTPUT, 0, facts->output_max, "" };
		snprintf(v->reason, sizeof(v->reason),
			 "The program wrote more than its output limit of %s.",
			 format_bytes(facts->output_max, text, sizeof(text)));
		break;
	case CAUSE_CANCEL:
		*v = (struct verdict){ VERDICT_CANCELLED, EXIT_CANCELLED, 0, 0,
				       "The run was cancelled." };
		break;
	case CAUSE_ROGUE:
		say_signal(v, SIGKILL);
		snprintf(v->reason, sizeof(v->reason),
			 "The program wrote to hotcell's own socket and was ended.");
		break;
	case CAUSE_NONE:
		break;
	}
}

static bool by_sigkill(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool say_status(struct verdict *v, const struct verdict_facts *facts, int status)
{
	if (facts->oom_kills > 0 && by_sigkill(status))
		say_memory(v, facts->memory_bytes);
	else if (WIFSIGNALED(status))
		say_signal(v, WTERMSIG(status));
	else if (WIFEXITED(status))
		say_exit(v, WEXITSTATUS(status));
	else
		return false;
	return true;
}

bool verdict_decide(const struct verdict_facts *facts, struct verdict *ret)
{
	/* What the program did by itself came first: a cause is only set while it still ran. */
	if (facts->has_status)
		return say_status(ret, facts, facts->status);
	if (facts->has_done) {
		say_exit(ret, facts->done_code);
		return true;
	}
	if (facts->cause != CAUSE_NONE) {
		say_cause(ret, facts);
		return true;
	}
	/* The whole cell fell. By SIGKILL: the kernel did it for want of memory, or somebody did. Any
	 * other end of init is ours to answer for. */
	if (facts->has_init_status && by_sigkill(facts->init_status))
		return say_status(ret, facts, facts->init_status);
	return false;
}
