/* What decides how well a cell is closed here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "command/context.h"
#include "command/doctor.h"

enum {
	/* What is used unconditionally: openat2 and pidfds 5.6, mount_setattr 5.12, overlay in user
	 * namespaces 5.11, Landlock 5.13. */
	KERNEL_MAJOR = 5,
	KERNEL_MINOR = 13,
	MOUNTINFO_MAX = 4 << 20,
};

static const char setup_host[] = "sudo hotcell setup host";

static void look_kernel(const struct doctor *doctor, struct check *check)
{
	struct utsname name = { 0 };
	unsigned major = 0, minor = 0;
	char release[128];

	(void)uname(&name);
	if (!read_fact(doctor->root, "/proc/sys/kernel/osrelease", release, sizeof(release)))
		snprintf(release, sizeof(release), "%s", name.release);
	if (!parse_release(release, &major, &minor))
		check_say(check, CHECK_DEGRADED, "the kernel's version %s is not understood",
			  release);
	else if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		check_say(check, CHECK_DEGRADED, "Linux %s (%s) is older than %d.%d", release,
			  name.machine, KERNEL_MAJOR, KERNEL_MINOR);
	else
		check_say(check, CHECK_OK, "Linux %s (%s)", release, name.machine);
	if (check->status != CHECK_OK)
		check_fix(check, "install a newer kernel");
}

/* Knobs that keep user namespaces away, with what mends it. */
static const struct {
	const char *path, *sysctl, *value, *sentence, *fix;
	bool is_users_only; /* root is not concerned */
} knobs[] = {
	{ "/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", "0",
	  "user namespaces are switched off", "sudo sysctl user.max_user_namespaces=15000", false },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", "0",
	  "ordinary users may not make user namespaces",
	  "sudo sysctl kernel.unprivileged_userns_clone=1", true },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	  "kernel.apparmor_restrict_unprivileged_userns", "1",
	  "AppArmor takes all rights from the user namespaces of ordinary users", setup_host,
	  true },
};

static bool blame_knob(const struct doctor *doctor, struct check *check)
{
	bool is_root = doctor->trial.identity.privilege == PRIVILEGE_ROOT;
	char value[32];

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		if ((is_root && knobs[i].is_users_only) ||
		    !read_fact(doctor->root, knobs[i].path, value, sizeof(value)) ||
		    strcmp(value, knobs[i].value) != 0)
			continue;
		check_say(check, CHECK_FATAL, "%s (%s = %s)", knobs[i].sentence, knobs[i].sysctl,
			  value);
		check_fix(check, "%s", knobs[i].fix);
		return true;
	}
	return false;
}

static void look_user_namespaces(const struct doctor *doctor, struct check *check)
{
	char text[64];

	if (doctor->trial.has_userns) {
		check_say(check, CHECK_OK, "user namespaces can be made and give rights inside");
		return;
	}
	if (blame_knob(doctor, check))
		return;
	check_say(check, CHECK_FATAL, "%s", doctor->trial.userns_error);
	if (container_name(doctor->root, text, sizeof(text)))
		check_fix(check, "docker, podman: --security-opt seccomp=unconfined "
				 "--security-opt apparmor=unconfined");
	else
		check_fix(check, "%s", setup_host);
}

static bool finds_program(const char *name)
{
	static const char *const folders[] = { "/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void look_uids(const struct doctor *doctor, struct check *check)
{
	const struct identity *identity = &doctor->trial.identity;

	if (!doctor->trial.has_userns) {
		check_say(check, CHECK_DEGRADED,
			  "not tried: there is no user namespace to map them in");
		return;
	}
	switch (identity->privilege) {
	case PRIVILEGE_ROOT:
		check_say(check, CHECK_OK, "root: every cell has host uids of its own");
		return;
	case PRIVILEGE_SUBUIDS:
		check_say(check, CHECK_OK,
			  "every cell has host uids of its own, from your %u subordinate ones",
			  identity->uid_count);
		return;
	case PRIVILEGE_ONE_UID:
		break;
	}
	if (!finds_program("newuidmap") || !finds_program("newgidmap")) {
		check_say(check, CHECK_DEGRADED,
			  "all cells share your uid: there is no newuidmap to give them others");
		check_fix(check, "sudo apt-get install uidmap && %s", setup_host);
		return;
	}
	check_say(
		check, CHECK_DEGRADED,
		"all cells share your uid %u and your groups: /etc/subuid and /etc/subgid give you no "
		"range of at least 2048",
		identity->user);
	check_fix(check, "%s", setup_host);
}

static void append_missing(struct check *check, const char *name)
{
	size_t used = strlen(check->text);

	snprintf(check->text + used, sizeof(check->text) - used, " %s", name);
}

/* Why there are no cgroups for us, as far as one can tell. */
static void explain_none(const struct doctor *doctor, struct check *check)
{
	bool is_root = doctor->trial.identity.privilege == PRIVILEGE_ROOT;
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool is_v2 = has_path(doctor->root, "/sys/fs/cgroup/cgroup.controllers");

	if (doctor->trial.cgroup_error[0]) {
		check_say(check, CHECK_DEGRADED, "%s", doctor->trial.cgroup_error);
	} else if (strcmp(doctor->context->config.cells_cgroup, "none") == 0) {
		check_say(check, CHECK_DEGRADED,
			  "no cgroups by configuration: rlimits and a watcher stand in");
		check_fix(check, "set cells.cgroup to auto");
	} else if (is_root) {
		check_say(check, CHECK_DEGRADED,
			  "no cgroup hierarchy can be written: rlimits and a watcher stand in");
		check_fix(check, "mount cgroup2 at /sys/fs/cgroup, in a container writable "
				 "(docker: --cgroupns=private --privileged)");
	} else if (!is_v2) {
		check_say(check, CHECK_DEGRADED,
			  "this host has cgroup v1, which gives ordinary users "
			  "no limits: rlimits and a watcher stand in");
		check_fix(check,
			  "boot with systemd.unified_cgroup_hierarchy=1, or run hotcell as root");
	} else if (!runtime) {
		check_say(check, CHECK_DEGRADED,
			  "no systemd session of yours (XDG_RUNTIME_DIR is not "
			  "set): rlimits and a watcher stand in");
		check_fix(check,
			  "log in by ssh or machinectl shell instead of su, or: sudo loginctl "
			  "enable-linger $USER");
	} else {
		check_say(check, CHECK_DEGRADED,
			  "your systemd session gives no cgroup: rlimits and a "
			  "watcher stand in");
		check_fix(check, "%s", setup_host);
	}
}

static void look_cgroups(const struct doctor *doctor, struct check *check)
{
	static const struct {
		enum cgroup_controller controller;
		const char *name;
	} needed[] = { { CGROUP_MEMORY, "memory" }, { CGROUP_PIDS, "pids" } };
	const struct trial *t = &doctor->trial;
	bool is_root = t->identity.privilege == PRIVILEGE_ROOT, misses = false;

	if (!t->has_cgroups) {
		explain_none(doctor, check);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		misses |= !(t->controllers & 1u << needed[i].controller);
	if (!misses) {
		check_say(check, CHECK_OK, "memory and processes are limited by cgroup %s",
			  t->kind == CGROUP_V2 ? "v2" : "v1");
		return;
	}
	check_say(check, CHECK_DEGRADED, "cgroup %s lacks", t->kind == CGROUP_V2 ? "v2" : "v1");
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!(t->controllers & 1u << needed[i].controller))
			append_missing(check, needed[i].name);
	append_missing(check, is_root ? "(the kernel or its boot line switches it off)"
				      : "(not delegated to your session)");
	check_fix(check, "%s",
		  is_root ? "remove cgroup_disable= from the kernel's boot line" : setup_host);
}

static void look_cpu_limit(const struct doctor *doctor, struct check *check)
{
	const struct trial *t = &doctor->trial;

	if (t->controllers & 1u << CGROUP_CPU) {
		check_say(check, CHECK_OK, "CPU time is limited by cgroup");
		return;
	}
	check_say(check, CHECK_DEGRADED, "no CPU limit: %s",
		  t->has_cgroups ? "the cpu controller is not there or not delegated"
				 : "there are no cgroups");
	if (t->kind == CGROUP_V2 && t->identity.privilege != PRIVILEGE_ROOT)
		check_fix(check, "%s", setup_host);
}

static void look_kill(const struct doctor *doctor, struct check *check)
{
	if (doctor->trial.has_kill)
		check_say(check, CHECK_OK, "a cell is ended at once by cgroup.kill");
	else
		check_say(
			check, CHECK_DEGRADED,
			"no cgroup.kill: a cell is ended through its pid namespace, which is slower");
}

static void look_peak(const struct doctor *doctor, struct check *check)
{
	if (doctor->trial.has_cgroups && doctor->trial.has_peak)
		check_say(check, CHECK_OK, "the kernel keeps the peak of a cell's memory");
	else
		check_say(check, CHECK_DEGRADED,
			  "no peak of a cell's memory (memory.peak, Linux 5.19): sampled instead");
}

static void look_landlock(const struct doctor *doctor, struct check *check)
{
	int abi = doctor->trial.landlock_abi;

	if (abi > 0) {
		check_say(check, CHECK_OK, "Landlock ABI %d", abi);
		return;
	}
	check_say(check, CHECK_DEGRADED, "no Landlock: files are guarded by mounts alone");
	check_fix(check, "add landlock to lsm= on the kernel's boot line (Linux 5.13 or newer)");
}

static void look_landlock_abi(const struct doctor *doctor, struct check *check)
{
	int abi = doctor->trial.landlock_abi;

	if (abi >= 6)
		check_say(check, CHECK_OK, "Landlock also bounds signals and abstract sockets");
	else
		check_say(check, CHECK_DEGRADED,
			  "Landlock ABI %d is below 6 (Linux 6.12): signals and "
			  "abstract sockets are bounded by namespaces alone",
			  abi);
}

static void look_overlay(const struct doctor *doctor, struct check *check)
{
	const struct trial *t = &doctor->trial;

	if (!t->has_userns) {
		check_say(check, CHECK_DEGRADED,
			  "not tried: there is no user namespace to mount it in");
		return;
	}
	if (t->has_overlay) {
		check_say(check, CHECK_OK,
			  "every cell has overlays of its own over the host's files");
		return;
	}
	check_say(
		check, CHECK_DEGRADED,
		"no overlay in a user namespace%s%s: bind mounts, over which cells could signal each "
		"other by locks",
		t->overlay_errnum ? ": " : "",
		t->overlay_errnum ? strerror(t->overlay_errnum) : "");
	check_fix(check, "modprobe overlay, and Linux 5.11 or newer");
}

static void look_proc(const struct doctor *doctor, struct check *check)
{
	_cleanup_close_ int fd = -1;
	_cleanup_buf_ struct buf text;
	char path[256], first[128], name[64];
	const char *container = container_name(doctor->root, name, sizeof(name));
	unsigned masks = 0;

	buf_init(&text, MOUNTINFO_MAX);
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", doctor->root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fd_read_all(fd, &text) == 0)
		masks = count_proc_masks(buf_string(&text), first, sizeof(first));
	if (masks == 0) {
		check_say(check, CHECK_OK, "%s%s%s",
			  container ? "inside a container (" : "nothing hides",
			  container ? container : " parts of /proc",
			  container ? "), which hides nothing of /proc" : "");
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "%s hides %u parts of /proc (%s, ...): the kernel may then "
		  "refuse to mount a cell's own",
		  container ? container : "something", masks, first);
	check_fix(check, "docker: --security-opt systempaths=unconfined; podman: --security-opt "
			 "unmask=ALL");
}

static void look_wsl(const struct doctor *doctor, struct check *check)
{
	char release[128] = "";

	(void)read_fact(doctor->root, "/proc/sys/kernel/osrelease", release, sizeof(release));
	if (!strcasestr(release, "microsoft"))
		check_say(check, CHECK_OK, "not WSL");
	else if (strcasestr(release, "wsl2") || strstr(release, "-microsoft-standard"))
		check_say(check, CHECK_OK, "WSL 2, which is a Linux kernel");
	else {
		check_say(check, CHECK_FATAL, "WSL 1 has no namespaces");
		check_fix(check, "wsl --set-version <distribution> 2");
	}
}

const struct check_row doctor_isolation_rows[] = {
	{ "kernel", false, look_kernel },
	{ "wsl", true, look_wsl },
	{ "user_namespaces", true, look_user_namespaces },
	{ "uids", true, look_uids },
	{ "cgroups", true, look_cgroups },
	{ "landlock", true, look_landlock },
	{ "overlay", true, look_overlay },
	{ "cpu_limit", false, look_cpu_limit },
	{ "cgroup_kill", false, look_kill },
	{ "memory_peak", false, look_peak },
	{ "landlock_abi", false, look_landlock_abi },
	{ "proc_masks", false, look_proc },
};
const size_t doctor_n_isolation_rows = ARRAY_SIZE(doctor_isolation_rows);
