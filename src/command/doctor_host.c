/* Advice about the host: what helps an attacker who has found a hole, and what runs short. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "command/context.h"
#include "command/doctor.h"

enum {
	PIDS_RESERVED = 4096,   /* for the host, whatever all cells do */
	FDS_PER_CELL = 16,      /* enum cell_fd, and some */
	FDS_OTHERS = 256,       /* connections, files, libraries */
	INOTIFY_INSTANCES = 64, /* what one cell of a language server may take */
	POLICY_STANDARD = 1,
};

/* ---- settings that are one number ---- */

static const struct knob {
	const char *id, *path;
	uint64_t least, most; /* good values */
	bool absent_is_bad;
	const char *good, *bad, *fix;
} knobs[] = {
	{ "io_uring", "/proc/sys/kernel/io_uring_disabled", 1, 2, true,
	  "io_uring is closed to ordinary users",
	  "io_uring is open on the host; in cells only seccomp keeps it away",
	  "sudo sysctl kernel.io_uring_disabled=2 (if nothing here needs it)" },
	{ "ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", 1, 3, true,
	  "Yama keeps processes of one user from tracing each other",
	  "Yama is off: processes of one user may trace each other",
	  "sudo sysctl kernel.yama.ptrace_scope=1 (with yama in lsm= on the kernel's boot line)" },
	{ "tiocsti", "/proc/sys/dev/tty/legacy_tiocsti", 0, 0, false,
	  "no program can type into a terminal (TIOCSTI)",
	  "programs may type into their terminal (TIOCSTI); cells have none",
	  "sudo sysctl dev.tty.legacy_tiocsti=0" },
	{ "protected_symlinks", "/proc/sys/fs/protected_symlinks", 1, 1, true,
	  "links in /tmp are protected", "links in /tmp are not protected",
	  "sudo sysctl fs.protected_symlinks=1" },
	{ "protected_hardlinks", "/proc/sys/fs/protected_hardlinks", 1, 1, true,
	  "hard links to others' files are refused", "hard links to others' files are allowed",
	  "sudo sysctl fs.protected_hardlinks=1" },
	{ "protected_fifos", "/proc/sys/fs/protected_fifos", 1, 2, true,
	  "FIFOs in /tmp are protected", "FIFOs in /tmp are not protected",
	  "sudo sysctl fs.protected_fifos=1" },
	{ "protected_regular", "/proc/sys/fs/protected_regular", 1, 2, true,
	  "files in /tmp are protected", "files in /tmp are not protected",
	  "sudo sysctl fs.protected_regular=1" },
	{ "ksm", "/sys/kernel/mm/ksm/run", 0, 0, false, "equal pages are not merged (KSM)",
	  "equal pages are merged (KSM), which tells one program what another has in memory",
	  "echo 0 | sudo tee /sys/kernel/mm/ksm/run" },
	{ "inotify", "/proc/sys/fs/inotify/max_user_instances", INOTIFY_INSTANCES, UINT64_MAX,
	  false, "enough inotify instances",
	  "few inotify instances: programs that watch files will fail",
	  "sudo sysctl fs.inotify.max_user_instances=1024" },
};

static void look_knob(const struct doctor *doctor, struct check *check)
{
	const struct knob *knob = knobs;
	uint64_t value = 0;
	bool is_there;

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		if (strcmp(knobs[i].id, check->id) == 0)
			knob = &knobs[i];
	is_there = read_number(doctor->root, knob->path, &value);
	if (is_there ? value >= knob->least && value <= knob->most : !knob->absent_is_bad) {
		check_say(check, CHECK_OK, "%s", knob->good);
		return;
	}
	if (is_there)
		check_say(check, CHECK_DEGRADED, "%s (%s = %" PRIu64 ")", knob->bad, knob->path,
			  value);
	else
		check_say(check, CHECK_DEGRADED, "%s (there is no %s)", knob->bad, knob->path);
	check_fix(check, "%s", knob->fix);
}

/* ---- the rest ---- */

static void look_swap(const struct doctor *doctor, struct check *check)
{
	char text[4096], *line;
	char path[256];
	FILE *file;
	bool is_on = false;

	snprintf(path, sizeof(path), "%s/proc/swaps", doctor->root);
	file = fopen(path, "re");
	/* The first line is the heading. */
	line = file ? fgets(text, sizeof(text), file) : NULL;
	is_on = line && fgets(text, sizeof(text), file);
	if (file)
		fclose(file);
	if (!is_on)
		check_say(check, CHECK_OK, "no swap");
	else if (doctor->trial.has_swap_limit)
		check_say(check, CHECK_OK, "swap is on, and cells get none of it");
	else {
		check_say(check, CHECK_DEGRADED,
			  "swap is on and cannot be limited: a cell may use more "
			  "than its memory, and leave its data there");
		check_fix(check, "boot with swapaccount=1, or: sudo swapoff -a");
	}
}

static void look_core_pattern(const struct doctor *doctor, struct check *check)
{
	char text[256];

	if (!read_fact(doctor->root, "/proc/sys/kernel/core_pattern", text, sizeof(text)) ||
	    text[0] != '|') {
		check_say(check, CHECK_OK, "crashes are not handed to a program");
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "crashes are handed to a program of the host (%s); cells have a core limit of 0, "
		  "which most of them respect",
		  text);
	check_fix(check, "sudo sysctl kernel.core_pattern=core (if you need no crash reports)");
}

static void look_smt(const struct doctor *doctor, struct check *check)
{
	uint64_t active = 0;

	if (!read_number(doctor->root, "/sys/devices/system/cpu/smt/active", &active) || !active) {
		check_say(check, CHECK_OK, "no two programs share a core (SMT is off)");
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "SMT is on: a cell may share a core with another program, which "
		  "can leak through its caches");
	check_fix(check,
		  "echo off | sudo tee /sys/devices/system/cpu/smt/control (if that matters)");
}

static void look_vulnerabilities(const struct doctor *doctor, struct check *check)
{
	char path[256], name[320], text[256], names[256] = "";
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/vulnerabilities", doctor->root);
	dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		size_t used = strlen(names);

		snprintf(name, sizeof(name), "/sys/devices/system/cpu/vulnerabilities/%s",
			 entry->d_name);
		if (entry->d_name[0] == '.' || !read_fact(doctor->root, name, text, sizeof(text)) ||
		    strncmp(text, "Vulnerable", 10) != 0)
			continue;
		count++;
		snprintf(names + used, sizeof(names) - used, "%s%.60s", used ? ", " : "",
			 entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (count == 0) {
		check_say(check, CHECK_OK, "the kernel knows no open vulnerability of this CPU");
		return;
	}
	check_say(check, CHECK_DEGRADED, "this CPU has %u open vulnerabilities: %s", count, names);
	check_fix(check, "install microcode updates; see /sys/devices/system/cpu/vulnerabilities");
}

static void look_descriptors(const struct doctor *doctor, struct check *check)
{
	uint64_t cells = doctor->context->config.cells_max;
	uint64_t needed = cells * FDS_PER_CELL + FDS_OTHERS;
	struct rlimit limit = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= needed) {
		check_say(check, CHECK_OK, "%" PRIu64 " descriptors suffice for %" PRIu64 " cells",
			  (uint64_t)limit.rlim_max, cells);
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "%" PRIu64 " descriptors (RLIMIT_NOFILE) are too few for %" PRIu64
		  " cells at once: %" PRIu64 " are needed",
		  (uint64_t)limit.rlim_max, cells, needed);
	check_fix(check, "raise it (ulimit -Hn %" PRIu64 "), or lower cells.max", needed);
}

static void look_pids(const struct doctor *doctor, struct check *check)
{
	const struct config *config = &doctor->context->config;
	uint64_t needed = config->cells_max * config->policies[POLICY_STANDARD].processes;
	uint64_t max = 0;

	if (!read_number(doctor->root, "/proc/sys/kernel/pid_max", &max)) {
		check_say(check, CHECK_OK, "the host's limit of processes is not known");
		return;
	}
	if (max >= needed + PIDS_RESERVED) {
		check_say(check, CHECK_OK,
			  "%" PRIu64 " process numbers suffice for %" PRIu64 " cells", max,
			  config->cells_max);
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "%" PRIu64 " process numbers are too few for %" PRIu64
		  " cells at once (cells.max) with all their processes",
		  max, config->cells_max);
	check_fix(check, "sudo sysctl kernel.pid_max=4194304");
}

static void look_vsock(const struct doctor *doctor, struct check *check)
{
	if (!has_path(doctor->root, "/dev/vsock")) {
		check_say(check, CHECK_OK, "no socket to a hypervisor");
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "/dev/vsock is there: AF_VSOCK has no namespaces; in cells only "
		  "seccomp keeps it away");
}

static void look_clock(const struct doctor *doctor, struct check *check)
{
	char text[64];

	if (!read_fact(doctor->root,
		       "/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
		       sizeof(text))) {
		check_say(check, CHECK_OK, "the clock source is not known");
		return;
	}
	if (strcmp(text, "jiffies") != 0 && strcmp(text, "refined-jiffies") != 0) {
		check_say(check, CHECK_OK, "times are measured by %s", text);
		return;
	}
	check_say(check, CHECK_DEGRADED, "times are measured by %s, which is coarse", text);
}

static void look_resource_right(const struct doctor *doctor, struct check *check)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	(void)doctor;
	if (geteuid() != 0 || syscall(SYS_capget, &header, data) < 0 ||
	    data[0].effective & 1u << CAP_SYS_RESOURCE) {
		check_say(check, CHECK_OK, "hard limits are as this user may have them");
		return;
	}
	check_say(check, CHECK_DEGRADED,
		  "root has no CAP_SYS_RESOURCE here: hard limits cannot be raised");
	check_fix(check, "give the container or service CAP_SYS_RESOURCE");
}

static void look_run_directory(const struct doctor *doctor, struct check *check)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];
	struct stat st;

	if (geteuid() == 0)
		snprintf(path, sizeof(path), "%s/run/hotcell", doctor->root);
	else if (runtime && runtime[0] == '/')
		snprintf(path, sizeof(path), "%s%s/hotcell", doctor->root, runtime);
	else
		snprintf(path, sizeof(path), "%s/tmp/hotcell-%u", doctor->root,
			 (unsigned)geteuid());
	if (lstat(path, &st) < 0) {
		check_say(check, CHECK_OK, "the run directory %s is made when it is needed", path);
		return;
	}
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022)) {
		check_say(check, CHECK_OK, "the run directory %s is ours alone", path);
		return;
	}
	check_say(check, CHECK_FATAL, "the run directory %s is not ours alone", path);
	check_fix(check, "remove %s, after a look at who made it", path);
}

static const char *const programs[] = { "hotcell-warden", "hotcell-front", "hotcell-init",
					"hotcell-files" };

/* 2: others may write it; 1: we may, without being root; 0: neither. */
static int writable_by(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	if (st.st_mode & 002 || ((st.st_mode & 020) && st.st_gid != 0) ||
	    (st.st_uid != 0 && st.st_uid != geteuid()))
		return 2;
	return st.st_uid != 0 && access(path, W_OK) == 0;
}

static void look_programs(const struct doctor *doctor, struct check *check)
{
	const char *folder = doctor->context->installation.programs;
	int worst = writable_by(folder);
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int by;

		snprintf(path, sizeof(path), "%s/%s", folder, programs[i]);
		by = writable_by(path);
		worst = MAX(worst, by);
	}
	if (worst == 0) {
		check_say(check, CHECK_OK, "hotcell's programs can be changed by root alone");
		return;
	}
	check_say(check, CHECK_DEGRADED, "hotcell's programs in %s can be changed by %s", folder,
		  worst == 2 ? "others" : "you, and so by anything that runs as you");
	check_fix(check, "install them as root: sudo ./dev install");
}

const struct check_row doctor_host_rows[] = {
	{ "programs", false, look_programs },
	{ "run_directory", true, look_run_directory },
	{ "swap", false, look_swap },
	{ "io_uring", false, look_knob },
	{ "ptrace_scope", false, look_knob },
	{ "tiocsti", false, look_knob },
	{ "protected_symlinks", false, look_knob },
	{ "protected_hardlinks", false, look_knob },
	{ "protected_fifos", false, look_knob },
	{ "protected_regular", false, look_knob },
	{ "core_pattern", false, look_core_pattern },
	{ "ksm", false, look_knob },
	{ "smt", false, look_smt },
	{ "vulnerabilities", false, look_vulnerabilities },
	{ "vsock", false, look_vsock },
	{ "descriptors", false, look_descriptors },
	{ "pids", false, look_pids },
	{ "inotify", false, look_knob },
	{ "clock", false, look_clock },
	{ "resource_right", false, look_resource_right },
};
const size_t doctor_n_host_rows = ARRAY_SIZE(doctor_host_rows);
