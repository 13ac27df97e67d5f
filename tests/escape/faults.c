/*
 * faults: makes one system call of one of hotcell's processes fail.
 *
 *     faults LOG ROLE SYSCALL N LAST RESULT PROGRAM [ARG...]
 *
 * becomes PROGRAM (same pid, same descriptors), traced by a process that is nobody's child. Whenever a process in ROLE
 * makes its N-th to LAST-th call of number SYSCALL, the call is not made and gives RESULT (-errno, or 0); with
 * RESULT 1 it never comes back. ROLE "-": nothing fails and every call is written to LOG. strace -e inject does much the same, but cannot tell a cell's
 * processes apart: its N counts in each of them.
 *
 * Who is who is known by how he came to be:
 *
 *     warden -clone3-> starter -clone3-> builder -exec-> init -fork-> worker -exec-> the program (left alone)
 *            -fork-> files-start -exec-> files
 *     front
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { PROCESSES_MAX = 256, CALLS_MAX = 512 };

static const struct {
	const char *role;
	const char *by_clone3, *by_fork, *by_exec;
} roles[] = {
	{ "warden", "starter", "files-start", NULL },
	{ "starter", "builder", NULL, NULL },
	{ "builder", NULL, NULL, "init" },
	{ "init", NULL, "worker", NULL },
	{ "worker", NULL, NULL, "program" },
	{ "files-start", NULL, NULL, "files" },
};

static struct process {
	pid_t pid;
	const char *role; /* NULL: its parent has not told of it yet */
	bool waits;       /* for its role */
	long call;        /* the last that was begun */
	bool failing;
	unsigned count[CALLS_MAX];
} processes[PROCESSES_MAX];

static FILE *log_file;
static const char *bad_role;
static long bad_call, bad_result;
static unsigned bad_from, bad_to;

static struct process *find(pid_t pid)
{
	struct process *free_one = NULL;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (processes[i].pid == pid)
			return &processes[i];
		if (!processes[i].pid && !free_one)
			free_one = &processes[i];
	}
	if (!free_one)
		exit(3);
	*free_one = (struct process){ .pid = pid, .call = -1 };
	return free_one;
}

static const char *role_after(const char *role, long how)
{
	for (size_t i = 0; role && i < sizeof(roles) / sizeof(*roles); i++) {
		if (strcmp(roles[i].role, role) != 0)
			continue;
		return how == SYS_clone3  ? roles[i].by_clone3
		       : how == SYS_clone ? roles[i].by_fork
					  : roles[i].by_exec;
	}
	return NULL;
}

static void go_on(const struct process *p, int signal)
{
	(void)ptrace(PTRACE_SYSCALL, p->pid, NULL, (void *)(long)signal);
}

/* What the call is about, as far as it is text: a path, an option, what is written. */
static void print_text(pid_t pid, unsigned long at)
{
	char text[64] = { 0 };
	struct iovec to = { text, sizeof(text) - 1 }, from = { (void *)at, sizeof(text) - 1 };

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) <= 0)
		return;
	for (char *c = text; *c; c++) {
		if (!isprint((unsigned char)*c) || *c == ' ')
			*c = *c == '\n' ? '\0' : '_';
	}
	fprintf(log_file, " %s", text);
}

static void on_call(struct process *p, const struct ptrace_syscall_info *info)
{
	long nr = (long)info->entry.nr;
	struct user_regs_struct registers;

	p->call = nr;
	/* Without a role it is still this program, on its way to PROGRAM. */
	if (nr < 0 || nr >= CALLS_MAX || !p->role)
		return;
	p->count[nr]++;
	if (!strcmp(bad_role, "-")) {
		fprintf(log_file, "call %s %ld %u %llu", p->role, nr, p->count[nr],
			(unsigned long long)info->entry.args[0]);
		if (nr == SYS_prctl)
			fprintf(log_file, " %llu", (unsigned long long)info->entry.args[1]);
		else if (nr != SYS_write)
			print_text(p->pid, info->entry.args[nr == SYS_fsconfig ? 2 : 1]);
		fprintf(log_file, "\n");
	}
	if (strcmp(bad_role, p->role) != 0 || nr != bad_call || p->count[nr] < bad_from ||
	    p->count[nr] > bad_to)
		return;
	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &registers) < 0)
		return;
	/* Whatever close() says, the descriptor is closed. */
	if (nr != SYS_close)
		registers.orig_rax = (unsigned long)-1;
	p->failing = ptrace(PTRACE_SETREGS, p->pid, NULL, &registers) == 0;
	fprintf(log_file, "failed %s\n", p->role);
}

static void on_return(struct process *p)
{
	struct user_regs_struct registers;

	if (!p->failing || ptrace(PTRACE_GETREGS, p->pid, NULL, &registers) < 0)
		return;
	p->failing = false;
	registers.rax = (unsigned long)bad_result;
	(void)ptrace(PTRACE_SETREGS, p->pid, NULL, &registers);
}

static void on_syscall(struct process *p)
{
	struct ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, p->pid, (void *)sizeof(info), &info) > 0) {
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			on_call(p, &info);
		else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
			on_return(p);
	}
	if (!p->failing || bad_result <= 0)
		go_on(p, 0);
}

static void on_new_child(struct process *p)
{
	unsigned long pid = 0;
	struct process *child;

	(void)ptrace(PTRACE_GETEVENTMSG, p->pid, NULL, &pid);
	child = find((pid_t)pid);
	child->role = role_after(p->role, p->call);
	if (!child->role)
		child->role = "other";
	if (child->waits)
		go_on(child, 0);
	go_on(p, 0);
}

/* False when it is not to be followed any more. */
static bool on_exec(struct process *p, const char *first_role)
{
	const char *next = p->role ? role_after(p->role, SYS_execve) : first_role;

	if (next)
		p->role = next;
	if (strcmp(p->role, "program") == 0) {
		fprintf(log_file, "program\n");
		(void)ptrace(PTRACE_DETACH, p->pid, NULL, NULL);
		return false;
	}
	go_on(p, 0);
	return true;
}

/* One whose parent was killed before it could tell of it waits in vain: when nobody else is left, it goes on. */
static void release_orphans(void)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (processes[i].pid && processes[i].role)
			return;
	}
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (!processes[i].pid)
			continue;
		processes[i].role = "other";
		go_on(&processes[i], 0);
	}
}

static void trace(pid_t first, const char *first_role)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct process *p = find(pid);
		int event = status >> 16, signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

		if (!WIFSTOPPED(status)) {
			p->pid = 0;
			release_orphans();
		} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
			   event == PTRACE_EVENT_CLONE) {
			on_new_child(p);
		} else if (event == PTRACE_EVENT_EXEC) {
			if (!on_exec(p, first_role))
				p->pid = 0;
		} else if (event == PTRACE_EVENT_STOP) {
			p->waits = !p->role && pid != first;
			if (signal != SIGTRAP)
				(void)ptrace(PTRACE_LISTEN, pid, NULL, NULL);
			else if (!p->waits)
				go_on(p, 0);
		} else if (signal == (SIGTRAP | 0x80)) {
			on_syscall(p);
		} else {
			go_on(p, signal);
		}
	}
	fprintf(log_file, "end\n");
}

static void tracer_main(pid_t first, const char *log, const char *first_role, int ready)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	int null = open("/dev/null", O_RDWR);

	(void)dup2(null, 0);
	(void)dup2(null, 1);
	(void)dup2(null, 2);
	(void)dup2(ready, 3);
	(void)close_range(4, ~0u, 0); /* the sockets of the program must close when it ends */
	(void)setsid();
	log_file = fopen(log, "ae");
	if (!log_file || ptrace(PTRACE_SEIZE, first, NULL, (void *)options) < 0)
		_exit(3);
	setvbuf(log_file, NULL, _IOLBF, 0);
	fprintf(log_file, "begin\n");
	(void)write(3, "", 1);
	(void)close(3);
	trace(first, first_role);
	exit(0);
}

int main(int argc, char **argv)
{
	pid_t self = getpid(), helper;
	const char *first_role;
	int ready[2];
	char word;

	if (argc < 8)
		return 2;
	bad_role = argv[2];
	bad_call = atol(argv[3]);
	bad_from = (unsigned)atol(argv[4]);
	bad_to = (unsigned)atol(argv[5]);
	bad_result = atol(argv[6]);
	first_role = strstr(basename(argv[7]), "front") ? "front" : "warden";
	if (pipe2(ready, O_CLOEXEC) < 0)
		return 3;
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	/* Twice, so that PROGRAM has no child that it did not start. */
	helper = fork();
	if (helper == 0) {
		if (fork() == 0)
			tracer_main(self, argv[1], first_role, ready[1]);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)waitpid(helper, NULL, 0);
	if (read(ready[0], &word, 1) != 1)
		return 3;
	(void)close(ready[0]);
	(void)execv(argv[7], argv + 7);
	return 3;
}
