/* What the generated cell_filters_*.h give for each profile: a program ready for seccomp(2). */
#pragma once

#include <linux/filter.h>

struct cell_filter {
	const struct sock_filter *code;
	unsigned short length; /* instructions, as in struct sock_fprog */
};
