/* Two languages for tests: "driven" has a driver, "plain" a command. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"

static inline void languages_write(const char *folder, const char *name, const char *run)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/%s/runtime.ini", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f,
		"[runtime]\nname = %s\ntitle = Test\nextensions = %s\n"
		"[toolchain]\nfind = /bin/sh\nversion = {program} --version\ninstall = none\n"
		"[run]\n%s\nfile = main.txt\n[cell]\nprofile = bash\nloopback = no\n"
		"[example]\ncode = x\n",
		name, name, run);
	fclose(f);
	/* Read again by nobody: gone when the test has loaded it. */
}

static inline struct runtimes *languages_load(void)
{
	char folder[] = "/tmp/hotcell-test-XXXXXX";
	const char *const folders[] = { folder, NULL };
	struct runtimes *runtimes = NULL;
	struct error err = { 0 };
	char command[128];

	assert_non_null(mkdtemp(folder));
	languages_write(folder, "driven",
			"driver = {program} {place}/driver.sh\nfiles = driver.sh");
	languages_write(folder, "plain", "command = {program} {file}");
	snprintf(command, sizeof(command), "touch %s/driven/driver.sh", folder);
	assert_int_equal(system(command), 0);
	if (!runtimes_load(&runtimes, folders, &err))
		fail_msg("%s", err.message);
	if (runtimes_problem(runtimes, 0))
		fail_msg("%s", runtimes_problem(runtimes, 0));
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	return runtimes;
}
