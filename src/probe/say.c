#include "probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void probe_say(const char *name, const char *outcome)
{
	printf("%s %s\n", name, outcome);
	/* Children inherit what is not written yet, and would write it again. */
	fflush(stdout);
}

void probe_say_result(const char *name, long result)
{
	const char *word = result < 0 ? strerrorname_np(errno) : "ok";

	probe_say(name, word ? word : "E?");
}
