/* What can be seen and written by path, and how the places that can be written are mounted. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probe/probe.h"

static const struct {
	const char *name, *path;
	int flags;
} opens[] = {
	/* Positive controls first: a probe to which everything fails would prove nothing. */
	{ "write_workspace", "/workspace/.probe", O_WRONLY | O_CREAT },
	{ "write_tmp", "/tmp/.probe", O_WRONLY | O_CREAT },
	{ "read_usr", "/usr", O_RDONLY },
	{ "read_passwd", "/etc/passwd", O_RDONLY },
	{ "write_null", "/dev/null", O_WRONLY },

	{ "write_root", "/probe", O_WRONLY | O_CREAT },
	{ "write_usr", "/usr/probe", O_WRONLY | O_CREAT },
	{ "write_etc", "/etc/probe", O_WRONLY | O_CREAT },
	{ "write_dev", "/dev/probe", O_WRONLY | O_CREAT },
	{ "read_shadow", "/etc/shadow", O_RDONLY },
	{ "read_host_home", "/home", O_RDONLY },
	{ "read_host_root", "/root", O_RDONLY },
	{ "read_host_run", "/run", O_RDONLY },
	{ "read_sys", "/sys", O_RDONLY },
	{ "dev_tty", "/dev/tty", O_RDWR },
	{ "dev_kmsg", "/dev/kmsg", O_RDONLY },
	{ "dev_mem", "/dev/mem", O_RDONLY },
	{ "dev_fuse", "/dev/fuse", O_RDWR },
	{ "dev_vsock", "/dev/vsock", O_RDONLY },
	{ "dev_kvm", "/dev/kvm", O_RDWR },
	{ "proc_init_status", "/proc/1/status", O_RDONLY },
	{ "proc_init_environ", "/proc/1/environ", O_RDONLY },
	{ "proc_init_mem", "/proc/1/mem", O_RDWR },
	{ "proc_init_root", "/proc/1/root", O_RDONLY },
	{ "proc_sys", "/proc/sys/kernel/core_pattern", O_RDONLY },
	{ "proc_kcore", "/proc/kcore", O_RDONLY },
	{ "proc_keys", "/proc/keys", O_RDONLY },
	{ "proc_sysrq", "/proc/sysrq-trigger", O_WRONLY },
	{ "proc_uid_map", "/proc/self/uid_map", O_WRONLY },
};

static void try_open(const char *name, const char *path, int flags)
{
	bool makes = flags & O_CREAT;
	int fd = open(path, flags | (makes ? O_EXCL : 0) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

	probe_say_result(name, fd);
	if (makes && fd >= 0)
		(void)unlink(path);
	(void)fd_close(fd);
}

static void say_mount(const char *name, const char *path)
{
	struct statvfs fs;
	char outcome[64];

	if (statvfs(path, &fs) < 0) {
		probe_say_result(name, -1);
		return;
	}
	snprintf(outcome, sizeof(outcome), "%s,%s,%s", fs.f_flag & ST_RDONLY ? "ro" : "rw",
		 fs.f_flag & ST_NOSUID ? "nosuid" : "suid", fs.f_flag & ST_NODEV ? "nodev" : "dev");
	probe_say(name, outcome);
}

/* A program is written to /dev/shm and started; it would be this one, which says so by exit 0. */
static void exec_from_shm(void)
{
	_cleanup_close_ int fd = open("/dev/shm/probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10) {
		probe_say_result("exec_shm", -1);
		return;
	}
	(void)fd_close(TAKE_FD(fd));
	probe_say_result("exec_shm", access("/dev/shm/probe", X_OK));
	(void)unlink("/dev/shm/probe");
}

/* How many processes there are to see: this one. */
static void count_processes(void)
{
	DIR *dir = opendir("/proc");
	unsigned count = 0;
	char outcome[16];

	if (!dir) {
		probe_say_result("processes_seen", -1);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
	closedir(dir);
	snprintf(outcome, sizeof(outcome), "%u", count);
	probe_say("processes_seen", outcome);
}

void probe_files(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(opens); i++)
		try_open(opens[i].name, opens[i].path, opens[i].flags);
	say_mount("mount_root", "/");
	say_mount("mount_usr", "/usr");
	say_mount("mount_workspace", "/workspace");
	say_mount("mount_tmp", "/tmp");
	exec_from_shm();
	count_processes();
}
