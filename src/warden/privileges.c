#include "warden/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Why each is needed:
 * SYS_ADMIN  makes user namespaces for uids that may not, mounts workspaces, joins a cell's namespace
 * SETUID, SETGID  take a slot's uid; write the uid maps of cells
 * KILL       ends cells, which have other uids
 * SETPCAP    lets the children drop their bounding set */
static const uint64_t needed = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SETUID | 1ull << CAP_SETGID |
			       1ull << CAP_KILL | 1ull << CAP_SETPCAP;

int privileges_keep(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)capabilities, .permitted = (uint32_t)capabilities },
		{ .effective = (uint32_t)(capabilities >> 32),
		  .permitted = (uint32_t)(capabilities >> 32) },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

int privileges_drop(void)
{
	for (int cap = 0; cap <= 63; cap++) {
		int there = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (there < 0 && errno == EINVAL && cap > CAP_AUDIT_READ)
			break; /* past the last one this kernel knows */
		if (there < 0)
			return -errno;
		if (there && !(needed & (1ull << cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	}
	return privileges_keep(needed);
}
