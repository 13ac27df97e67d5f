/* Who the program is and what it still has: ids, capabilities, filters, descriptors, limits. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probe/probe.h"

/* Lines of /proc/self/status; blanks in their values become commas. */
static const struct {
	const char *name, *key;
} lines[] = {
	{ "uids", "Uid:" },
	{ "gids", "Gid:" },
	{ "groups", "Groups:" },
	{ "caps_inheritable", "CapInh:" },
	{ "caps_permitted", "CapPrm:" },
	{ "caps_effective", "CapEff:" },
	{ "caps_bounding", "CapBnd:" },
	{ "caps_ambient", "CapAmb:" },
	{ "no_new_privs", "NoNewPrivs:" },
	{ "seccomp", "Seccomp:" },
};

static void say_line(const char *status, const char *name, const char *key)
{
	const char *at = strstr(status, key);
	char outcome[256] = "";
	size_t n = 0;

	if (!at) {
		probe_say(name, "none");
		return;
	}
	at += strlen(key);
	for (at += strspn(at, "\t "); *at && *at != '\n' && n + 1 < sizeof(outcome); at++)
		outcome[n++] = *at == '\t' || *at == ' ' ? ',' : *at;
	while (n > 0 && outcome[n - 1] == ',')
		n--;
	outcome[n] = '\0';
	probe_say(name, n > 0 ? outcome : "none");
}

static void say_status(void)
{
	static char status[16 * 1024];
	_cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fd_read_text(fd, status, sizeof(status)) < 0) {
		probe_say_result("status", -1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		say_line(status, lines[i].name, lines[i].key);
}

/* Every open descriptor but the one that reads the list. */
static void say_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	char outcome[512] = "", own[16];

	if (!dir) {
		probe_say_result("descriptors", -1);
		return;
	}
	snprintf(own, sizeof(own), "%d", dirfd(dir));
	for (struct dirent *entry; (entry = readdir(dir));) {
		size_t used = strlen(outcome);

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0)
			continue;
		if (used < sizeof(outcome) - sizeof(entry->d_name) - 1)
			snprintf(outcome + used, sizeof(outcome) - used, "%s%s", used ? "," : "",
				 entry->d_name);
	}
	closedir(dir);
	probe_say("descriptors", outcome[0] ? outcome : "none");
}

static void say_hostname(void)
{
	char name[65] = "";

	if (gethostname(name, sizeof(name) - 1) < 0)
		probe_say_result("hostname", -1);
	else
		probe_say("hostname", name);
}

static void say_core_limit(void)
{
	struct rlimit limit = { 0 };

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		probe_say_result("core_limit", -1);
	else
		probe_say("core_limit", limit.rlim_max == 0 ? "0" : "unlimited");
}

static void try_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	probe_say_result("fork", child > 0 ? waitpid(child, NULL, 0) : child);
}

void probe_process(void)
{
	/* First: nothing of ours is open yet. */
	say_descriptors();
	say_status();
	say_hostname();
	say_core_limit();
	try_fork();
	probe_say_result("kill_init", kill(1, 0));
	probe_say_result("nice_up", setpriority(PRIO_PROCESS, 0, -5));
}
