#include "front/lockdown.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "front_filter.h"

/* Older headers do not have the newer parts. */
struct landlock_ruleset {
	uint64_t access_fs;
	uint64_t access_net;
	uint64_t scoped;
};

enum {
	LANDLOCK_ABI_FIRST = 1,
	LANDLOCK_VERSION_FLAG = 1u << 0,
	OPEN_FILES_MAX = 65536,
};

/* What each version of Landlock added; all of it is denied. */
static const struct {
	int abi;
	struct landlock_ruleset adds;
} landlock_versions[] = {
	{ 1, { .access_fs = (1u << 13) - 1 } }, /* execute to make_sym */
	{ 2, { .access_fs = 1u << 13 } },       /* refer */
	{ 3, { .access_fs = 1u << 14 } },       /* truncate */
	{ 4, { .access_net = 3 } },             /* bind and connect TCP */
	{ 5, { .access_fs = 1u << 15 } },       /* ioctl on devices */
	{ 6, { .scoped = 3 } },                 /* abstract sockets and signals outside */
};

static int close_descriptors(const struct lockdown *how)
{
	return close_range((unsigned)how->first_free, ~0u, 0) < 0 ? -errno : 0;
}

static int set_limits(const struct lockdown *how)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	(void)how;
	if (setrlimit(RLIMIT_CORE, &none) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	/* A cell costs about twenty descriptors. */
	files.rlim_cur = MIN(files.rlim_max, (rlim_t)OPEN_FILES_MAX);
	return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

static int drop_bounding_set(const struct lockdown *how)
{
	if (!how->has_uid && !how->keeps_uid)
		return 0; /* only root may, and only root needs to */
	for (int cap = 0;; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		/* EINVAL: past the last one this kernel knows. */
		if (there < 0)
			return errno == EINVAL && cap > CAP_AUDIT_READ ? 0 : -errno;
		if (there && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	}
}

static int lock_securebits(const struct lockdown *how)
{
	/* The uid 0 means nothing any more, and changing the uid still takes all capabilities. */
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	if (!how->has_uid && !how->keeps_uid)
		return 0;
	return prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 ? -errno : 0;
}

static int change_uid(const struct lockdown *how)
{
	uid_t u[3];
	gid_t g[3];

	if (!how->has_uid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(how->uid, how->uid, how->uid) < 0 ||
	    setresuid(how->uid, how->uid, how->uid) < 0)
		return -errno;
	if (getresuid(&u[0], &u[1], &u[2]) < 0 || getresgid(&g[0], &g[1], &g[2]) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(u); i++)
		if (u[i] != how->uid || g[i] != how->uid)
			return -EPERM;
	return setuid(0) == 0 ? -EPERM : 0;
}

static int drop_capabilities(const struct lockdown *how)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)how;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, data) < 0 || syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		if (data[i].effective || data[i].permitted || data[i].inheritable)
			return -EPERM;
	return 0;
}

static int hide(const struct lockdown *how)
{
	(void)how;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* After the change of uid, which would clear it. */
static int die_with_parent(const struct lockdown *how)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return getppid() == how->parent ? 0 : -ESRCH;
}

static int forbid_new_privileges(const struct lockdown *how)
{
	(void)how;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}

/* A ruleset without a rule: nothing of the file system can be opened, made or changed. */
static int deny_file_system(const struct lockdown *how)
{
	struct landlock_ruleset ruleset = { 0 };
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
	int fd, r;

	(void)how;
	if (abi < LANDLOCK_ABI_FIRST)
		return 0; /* this kernel has none; the isolation of the host says so */
	for (size_t i = 0; i < ARRAY_SIZE(landlock_versions) && landlock_versions[i].abi <= abi;
	     i++) {
		ruleset.access_fs |= landlock_versions[i].adds.access_fs;
		ruleset.access_net |= landlock_versions[i].adds.access_net;
		ruleset.scoped |= landlock_versions[i].adds.scoped;
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
	if (fd < 0)
		return -errno;
	r = syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static int load_filter(const struct lockdown *how)
{
	const struct sock_fprog program = {
		.len = ARRAY_SIZE(front_filter),
		.filter = (struct sock_filter *)(uintptr_t)front_filter,
	};

	(void)how;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* In this order: each step needs what a later one takes away. */
static const struct {
	int (*run)(const struct lockdown *how);
	const char *text;
} steps[] = {
	{ close_descriptors, "close inherited descriptors" },
	{ set_limits, "set its resource limits" },
	{ drop_bounding_set, "drop the capability bounding set" },
	{ lock_securebits, "lock the securebits" },
	{ change_uid, "change to its own uid" },
	{ drop_capabilities, "drop its capabilities" },
	{ hide, "hide its memory from others" },
	{ die_with_parent, "tie its life to its parent's" },
	{ forbid_new_privileges, "set no_new_privs" },
	{ deny_file_system, "load its Landlock rules" },
	{ load_filter, "load its seccomp filter" },
};

bool lockdown(const struct lockdown *how, struct error *err)
{
	if (geteuid() == 0 && !how->keeps_uid && (!how->has_uid || how->uid == 0))
		return error_set(err, ERR_SYSTEM, 0,
				 "hotcell-front was started as root without a --uid");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = steps[i].run(how);

		if (r < 0)
			return error_set(err, ERR_SYSTEM, -r, "hotcell-front cannot %s",
					 steps[i].text);
	}
	return true;
}
