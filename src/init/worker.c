/*
 * The program's process, from fork to exec: the list of everything it loses, in the order in which it
 * can be lost. The bounding set goes before the uid, no_new_privs and Landlock before the filter, the
 * filter last; only then is the user's code within reach.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "init/init.h"
#include "wire/bundle.h"

enum {
	CELL_UID = 1000,
	REPORT_FD = 10, /* below every limit on open files that a cell may have */
};

struct failure {
	uint32_t step;
	int32_t errnum;
};

static char *argv[CELL_ARGS_MAX + BUNDLE_ARGS_MAX + 1];
static char *envp[CELL_ENV_MAX + BUNDLE_ENV_MAX + 1];
static char run_strings[BUNDLE_STRINGS_MAX];

static int reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/* Lowers one limit; the hard limit that is there already may be lower still. */
static int lower(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -errno;
	limit.rlim_max = MIN(limit.rlim_max, hard);
	limit.rlim_cur = MIN(soft, limit.rlim_max);
	return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? -errno : 0;
}

/* init counts too where it has the program's uid. */
static uint64_t process_limit(const struct cell_spec_message *briefing)
{
	uint64_t own = briefing->shared_uid ? 1 : 0;

	/* The second line behind pids.max leaves it room to be the first. */
	return briefing->spec.limits.processes + own + (briefing->limit_processes ? 0 : 8);
}

static int set_rlimits(const struct cell_spec_message *briefing)
{
	const struct cell_limits *limits = &briefing->spec.limits;
	/* Far enough from the limit that the watcher, whose word is "memory", comes first. */
	const uint64_t data = briefing->limit_data ? 4 * limits->memory_bytes : RLIM_INFINITY;
	const uint64_t processes = process_limit(briefing);
	const struct {
		int resource;
		uint64_t soft, hard;
	} table[] = {
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_DATA, data, data },
		{ RLIMIT_NOFILE, limits->open_files, limits->open_files },
		{ RLIMIT_FSIZE, MAX(limits->workspace_bytes, limits->tmp_bytes),
		  MAX(limits->workspace_bytes, limits->tmp_bytes) },
		{ RLIMIT_MEMLOCK, 64 << 10, 64 << 10 },
		{ RLIMIT_MSGQUEUE, 0, 0 },
		{ RLIMIT_NICE, 0, 0 },
		{ RLIMIT_RTPRIO, 0, 0 },
		{ RLIMIT_SIGPENDING, 1024, 1024 },
		{ RLIMIT_STACK, 8 << 20, RLIM_INFINITY },
		/* Counted by uid in this user namespace. */
		{ RLIMIT_NPROC, processes, processes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int r = lower(table[i].resource, table[i].soft, table[i].hard);

		if (r < 0)
			return r;
	}
	return 0;
}

static int drop_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL && cap > CAP_AUDIT_READ)
				break; /* past the last one this kernel knows */
			return -errno;
		}
	}
	/* No way back to capabilities through uid 0, a kept set or ambient ones; locked. */
	return prctl(PR_SET_SECUREBITS,
		     SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			     SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		     0, 0, 0) < 0
		       ? -errno
		       : 0;
}

static int become_user(bool shared_uid)
{
	if (shared_uid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(CELL_UID, CELL_UID, CELL_UID) < 0 ||
	    setresuid(CELL_UID, CELL_UID, CELL_UID) < 0)
		return -errno;
	return 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int verify_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (there > 0)
			return -EPERM;
		if (there < 0 && errno == EINVAL && cap > CAP_AUDIT_READ)
			break; /* past the last one this kernel knows */
		if (there < 0)
			return -errno;
	}
	return 0;
}

/* Reads everything back: a call that failed quietly once left the bounding set full. */
static int verify_powerless(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uid_t real, effective, saved;
	int r;

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < 2; i++) {
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return -EPERM;
	}
	r = verify_bounding_set();
	if (r < 0)
		return r;
	if (getresuid(&real, &effective, &saved) < 0)
		return -errno;
	return real == CELL_UID && effective == CELL_UID && saved == CELL_UID ? 0 : -EPERM;
}

static int connect_stdio(const struct worker_start *start)
{
	int null = -1;

	for (int i = 0; i < 3; i++) {
		int fd = start->stdio[i];

		if (fd < 0) {
			if (null < 0)
				null = open("/dev/null", O_RDWR | O_CLOEXEC);
			fd = null;
		}
		if (fd < 0 || dup2(fd, i) < 0)
			return -errno;
	}
	if (start->driver >= 0) {
		if (fcntl(start->driver, F_SETFD, 0) < 0)
			return -errno;
		if (start->driver != DRIVER_FD && dup2(start->driver, DRIVER_FD) < 0)
			return -errno;
	}
	return 0;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = (size_t)(strchrnul(a, '=') - a);

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The run's own arguments follow the runtime's; its environment replaces what has the same name. */
static void merge(struct init *init, char **run, uint32_t argc, uint32_t envc)
{
	struct cell_spec *spec = &init->briefing.spec;
	size_t n = 0;

	cell_spec_vectors(spec, argv, envp);
	memcpy(argv + spec->argc, run, sizeof(*argv) * argc);
	argv[spec->argc + argc] = NULL;
	for (uint32_t i = 0; i < spec->envc; i++) {
		bool replaced = false;

		for (uint32_t j = 0; j < envc && !replaced; j++)
			replaced = same_name(run[argc + j], envp[i]);
		if (!replaced)
			envp[n++] = envp[i];
	}
	memcpy(envp + n, run + argc, sizeof(*envp) * envc);
	envp[n + envc] = NULL;
}

/* Writes the code where the runtime's command expects it, as the program's own uid. */
static int write_code(const char *path, int bundle, const struct bundle_header *header)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				      0644);
	off_t at = (off_t)(sizeof(*header) + header->strings_len);
	size_t left = header->code_len;

	if (fd < 0)
		return -errno;
	while (left > 0) {
		ssize_t n = sendfile(fd, bundle, &at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		left -= (size_t)n;
	}
	return 0;
}

static int unpack(struct init *init, int bundle)
{
	static char *run[BUNDLE_ARGS_MAX + BUNDLE_ENV_MAX + 1];
	struct bundle_header header = { 0 };
	struct stat st;
	int r;

	if (bundle < 0) {
		merge(init, run, 0, 0);
		return 0;
	}
	if (fstat(bundle, &st) < 0)
		return -errno;
	if (pread(bundle, &header, sizeof(header), 0) != sizeof(header))
		return -EINVAL;
	r = bundle_header_check(&header, (uint64_t)st.st_size);
	if (r < 0)
		return r;
	if (pread(bundle, run_strings, header.strings_len, sizeof(header)) !=
	    (ssize_t)header.strings_len)
		return -EINVAL;
	if (!strings_split(run_strings, header.strings_len, header.argc + header.envc, run))
		return -EINVAL;
	merge(init, run, header.argc, header.envc);
	return write_code(init->briefing.spec.code_path, bundle, &header);
}

static int load_filter(const struct cell_filter_message *filter)
{
	const struct sock_fprog program = {
		.len = (unsigned short)filter->length,
		.filter = (struct sock_filter *)(uintptr_t)filter->code,
	};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static _Noreturn void fail(int report, enum cell_step step, int errnum)
{
	const struct failure failure = { .step = step, .errnum = errnum };

	(void)fd_write_all(report, &failure, sizeof(failure));
	_exit(1);
}

#define STEP(name, call)                                \
	do {                                            \
		int _r = (call);                        \
		if (_r < 0)                             \
			fail(report, STEP_##name, -_r); \
	} while (0)

static _Noreturn void worker_main(struct init *init, const struct worker_start *start, int report)
{
	const struct cell_spec *spec = &init->briefing.spec;
	unsigned first_to_close = start->driver >= 0 ? DRIVER_FD + 1 : DRIVER_FD;

	STEP(WORKER_FORK, reset_signals());
	STEP(WORKER_RLIMITS, set_rlimits(&init->briefing));
	STEP(WORKER_BOUNDING, drop_bounding_set());
	STEP(WORKER_UID, become_user(init->briefing.shared_uid));
	STEP(WORKER_CAPS, drop_capabilities());
	STEP(WORKER_VERIFY, verify_powerless());
	STEP(WORKER_NNP, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0);
	STEP(WORKER_CODE, unpack(init, start->bundle));
	STEP(WORKER_STDIO, connect_stdio(start));
	/* The report pipe is closed by a successful exec; everything else goes now. */
	if (report != REPORT_FD)
		STEP(WORKER_FDS, dup3(report, REPORT_FD, O_CLOEXEC) < 0 ? -errno : 0);
	report = REPORT_FD;
	STEP(WORKER_FDS, close_range(first_to_close, REPORT_FD - 1, 0) < 0 ? -errno : 0);
	STEP(WORKER_FDS, close_range(REPORT_FD + 1, ~0u, 0) < 0 ? -errno : 0);
	STEP(WORKER_LANDLOCK,
	     landlock_apply(init->briefing.landlock_abi, spec->flags & CELL_LOOPBACK));
	STEP(WORKER_FILTER, load_filter(&init->filter));
	(void)execve(argv[0], argv, envp);
	fail(report, STEP_WORKER_EXEC, errno);
}

int worker_start(struct init *init, const struct worker_start *start, uint32_t *ret_step)
{
	_cleanup_close_ int up = -1, in = -1;
	struct failure failure;
	int pair[2];
	ssize_t n;
	pid_t pid;

	*ret_step = STEP_WORKER_FORK;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	up = pair[0];
	in = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		worker_main(init, start, in);
	(void)fd_close(TAKE_FD(in));
	/* Returns at once with nothing when the exec has closed the other end. */
	do
		n = read(up, &failure, sizeof(failure));
	while (n < 0 && errno == EINTR);
	if (n == 0) {
		init->worker = pid;
		return 0;
	}
	*ret_step = n == sizeof(failure) ? failure.step : STEP_WORKER_FORK;
	return n == sizeof(failure) ? -failure.errnum : -EIO;
}
