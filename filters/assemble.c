#include "assemble.h"

#include <seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LD_WORD       (BPF_LD | BPF_W | BPF_ABS)
#define OFFSET_NUMBER offsetof(struct seccomp_data, nr)
#define OFFSET_ARCH   offsetof(struct seccomp_data, arch)

/* Both machines are little endian: the low half of an argument comes first. */
#define OFFSET_ARG_LOW(n) (offsetof(struct seccomp_data, args) + 8 * (n))

#define X32_BIT 0x40000000u

/* System calls newer than the oldest libseccomp we build with (2.5.4); one number on every machine.
 */
static const struct {
	const char *name;
	int number;
} newer[] = {
	{ "cachestat", 451 },
	{ "fchmodat2", 452 },
};

void give_up(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("filters/gen: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

int machine_syscall(const struct machine *machine, const char *name, size_t length)
{
	char text[64];
	int number;

	if (length >= sizeof(text))
		give_up("system call name too long: %.*s", (int)length, name);
	memcpy(text, name, length);
	text[length] = '\0';
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (!strcmp(newer[i].name, text))
			return newer[i].number;
	number = seccomp_syscall_resolve_name_arch(machine->seccomp_arch, text);
	if (number == __NR_SCMP_ERROR)
		give_up("no machine has a system call %s", text);
	return number;
}

void resolve_rows(const struct policy *policy, const struct machine *machine, int profile,
		  const struct row *ret_rows[NUMBER_LIMIT])
{
	memset(ret_rows, 0, NUMBER_LIMIT * sizeof(ret_rows[0]));
	for (size_t i = 0; i < policy->row_count; i++) {
		const struct row *row = &policy->rows[i];

		if (profile != ANY_PROFILE && !(row->profiles & 1u << profile))
			continue;
		for (const char *name = row->names; *name; name += strspn(name, " ")) {
			size_t length = strcspn(name, " ");
			int number = machine_syscall(machine, name, length);

			if (number >= NUMBER_LIMIT || (number >= 0 && ret_rows[number]))
				give_up("%s: %.*s is there twice, or its number is too large",
					policy->name, (int)length, name);
			if (number >= 0)
				ret_rows[number] = row;
			name += length;
		}
	}
}

static size_t emit(struct program *p, unsigned int code, uint32_t k)
{
	if (p->length == PROGRAM_LIMIT)
		give_up("more than %d instructions", PROGRAM_LIMIT);
	p->code[p->length] = (struct sock_filter){ .code = (uint16_t)code, .k = k };
	p->note[p->length][0] = '\0';
	return p->length++;
}

static uint8_t distance(size_t from, size_t to)
{
	if (to - from - 1 > UINT8_MAX)
		give_up("a rule is too long for a jump");
	return (uint8_t)(to - from - 1);
}

/* Jumps whose target is not yet known. */
struct jumps {
	struct {
		size_t at;
		bool if_true;
	} list[128];
	size_t count;
};

static void jump_later(struct jumps *jumps, size_t at, bool if_true)
{
	if (jumps->count == sizeof(jumps->list) / sizeof(jumps->list[0]))
		give_up("too many jumps in a rule");
	jumps->list[jumps->count].at = at;
	jumps->list[jumps->count++].if_true = if_true;
}

static void jump_here(struct program *p, struct jumps *jumps)
{
	for (size_t i = 0; i < jumps->count; i++) {
		struct sock_filter *jump = &p->code[jumps->list[i].at];
		uint8_t length = distance(jumps->list[i].at, p->length);

		if (jumps->list[i].if_true)
			jump->jt = length;
		else
			jump->jf = length;
	}
	jumps->count = 0;
}

/* Falls through when the argument is in the set. */
static void emit_test(struct program *p, const struct test *test, struct jumps *failed)
{
	struct jumps held = { .count = 0 };

	emit(p, LD_WORD, (uint32_t)OFFSET_ARG_LOW(test->arg));
	if (test->mask != UINT32_MAX)
		emit(p, BPF_ALU | BPF_AND | BPF_K, test->mask);
	for (size_t i = 0; i < test->count; i++) {
		const struct range *range = &test->set[i];
		bool last = i + 1 == test->count;

		if (i > 0 && range->first <= range[-1].last)
			give_up("a set of values is not in ascending order");
		if (range->first == range->last) {
			size_t equal = emit(p, BPF_JMP | BPF_JEQ | BPF_K, range->first);

			jump_later(&held, equal, true);
			if (last)
				jump_later(failed, equal, false);
			continue;
		}
		/* Below this range is also below all that follow. */
		if (range->first > 0)
			jump_later(failed, emit(p, BPF_JMP | BPF_JGE | BPF_K, range->first), false);
		if (range->last == UINT32_MAX)
			break;
		size_t above = emit(p, BPF_JMP | BPF_JGT | BPF_K, range->last);

		jump_later(&held, above, false);
		if (last)
			jump_later(failed, above, true);
	}
	jump_here(p, &held);
}

/* What is being assembled, for whom. */
struct job {
	const struct policy *policy;
	const struct machine *machine;
	int profile;
	struct program *program;
};

static void emit_rule(const struct job *job, const struct clause *clause)
{
	struct program *p = job->program;

	for (;; clause++) {
		struct jumps failed = { .count = 0 };

		if (job->profile != ANY_PROFILE && clause->except & 1u << job->profile)
			continue;
		for (size_t i = 0; i < MAX_TESTS && clause->tests[i].set; i++)
			emit_test(p, &clause->tests[i], &failed);
		emit(p, BPF_RET | BPF_K, clause->action);
		jump_here(p, &failed);
		if (!clause->tests[0].set)
			return;
	}
}

/* A run of numbers with the same fate. */
struct run {
	uint32_t first, last;
	const struct row *row;
};

static void emit_leaf(const struct job *job, const struct run *run)
{
	struct program *p = job->program;
	size_t start = p->length;
	char *first, *last;

	if (run->row && run->row->rule)
		emit_rule(job, run->row->rule);
	else
		emit(p, BPF_RET | BPF_K, run->row ? run->row->action : job->policy->fallback);

	first = seccomp_syscall_resolve_num_arch(job->machine->seccomp_arch, (int)run->first);
	last = seccomp_syscall_resolve_num_arch(job->machine->seccomp_arch, (int)run->last);
	if (run->first == run->last)
		snprintf(p->note[start], NOTE_BYTES, "%u %s", run->first, first ? first : "");
	else
		snprintf(p->note[start], NOTE_BYTES, "%u-%u %s %s", run->first, run->last,
			 first ? first : "", last ? last : "");
	free(first);
	free(last);
}

static bool same_fate(const struct row *a, const struct row *b, uint32_t fallback)
{
	if (a == b)
		return true;
	if ((a && a->rule) || (b && b->rule))
		return false;
	return (a ? a->action : fallback) == (b ? b->action : fallback);
}

static size_t find_runs(const struct row *const *rows, uint32_t fallback, struct run *ret_runs)
{
	size_t count = 0;

	if (rows[NUMBER_LIMIT - 1])
		give_up("the last number must have the fallback, which is also that of all larger "
			"ones");
	for (uint32_t number = 0; number < NUMBER_LIMIT; number++) {
		if (number == 0 || !same_fate(rows[number], rows[number - 1], fallback))
			ret_runs[count++] = (struct run){ .first = number, .row = rows[number] };
		ret_runs[count - 1].last = number;
	}
	return count;
}

static void emit_search(const struct job *job, const struct run *runs, size_t count)
{
	struct program *p = job->program;
	size_t half = count / 2, branch, left;

	if (count == 1) {
		emit_leaf(job, runs);
		return;
	}
	branch = emit(p, BPF_JMP | BPF_JGE | BPF_K, runs[half].first);
	emit_search(job, runs, half);
	left = p->length - branch - 1;
	if (left <= UINT8_MAX) {
		p->code[branch].jt = (uint8_t)left;
	} else {
		/* Too far for a conditional jump: put a long one behind it. All other jumps are
		 * relative and stay inside the part that moves. */
		emit(p, BPF_JMP | BPF_JA, 0);
		memmove(&p->code[branch + 2], &p->code[branch + 1], left * sizeof(p->code[0]));
		memmove(&p->note[branch + 2], &p->note[branch + 1], left * sizeof(p->note[0]));
		p->code[branch + 1] = (struct sock_filter){ .code = BPF_JMP | BPF_JA,
							    .k = (uint32_t)left };
		p->note[branch + 1][0] = '\0';
		p->code[branch].jf = 1;
	}
	emit_search(job, runs + half, count - half);
}

void assemble(const struct policy *policy, const struct machine *machine, int profile,
	      struct program *ret)
{
	const struct job job = { policy, machine, profile, ret };
	const struct row *rows[NUMBER_LIMIT];
	struct run runs[NUMBER_LIMIT];
	size_t native;

	ret->length = 0;
	emit(ret, LD_WORD, OFFSET_ARCH);
	native = emit(ret, BPF_JMP | BPF_JEQ | BPF_K, machine->audit_arch);
	ret->code[native].jt = 1;
	emit(ret, BPF_RET | BPF_K, KILL);
	emit(ret, LD_WORD, OFFSET_NUMBER);
	if (machine->has_x32) {
		/* -1 is not x32: it is how a tracer skips a call (strace's fault injection). */
		size_t large = emit(ret, BPF_JMP | BPF_JGE | BPF_K, X32_BIT);
		size_t skipped = emit(ret, BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX);

		emit(ret, BPF_RET | BPF_K, KILL);
		ret->code[large].jf = 2;
		ret->code[skipped].jt = 1;
	}
	resolve_rows(policy, machine, profile, rows);
	emit_search(&job, runs, find_runs(rows, policy->fallback, runs));
}
