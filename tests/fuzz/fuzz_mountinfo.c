/* /proc/self/mountinfo and /proc/self/cgroup: mount points have whatever names people gave them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "command/mountinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	struct cgroup_mounts mounts;
	char own[CGROUP_PLACE_MAX];

	if (mountinfo_parse(text, &mounts) == 0)
		for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
			if (mounts.place[i][0] != '\0' && mounts.place[i][0] != '/')
				abort();
	if (own_cgroup_parse(text, own) == 0 && own[0] != '\0' && own[0] != '/')
		abort();
	return 0;
}
