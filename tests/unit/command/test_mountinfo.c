/* Where the hierarchies are, as real hosts and broken texts tell it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "command/mountinfo.h"

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
#define V2   "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

struct places {
	const char *unified, *memory, *pids, *cpu, *cpuacct, *freezer;
};

static const struct {
	const char *what, *text;
	int expect;
	struct places places;
} cases[] = {
	{ "an empty text", "", 0, { "", "", "", "", "", "" } },
	{ "no cgroups", ROOT, 0, { "", "", "", "", "", "" } },
	{ "v2", ROOT V2, 0, { "/sys/fs/cgroup", "", "", "", "", "" } },
	{ "v1 with cpu,cpuacct in one and the empty v2",
	  ROOT "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	       "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	       "36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n"
	       "37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
	       "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	       "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
	       "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
	  0,
	  { "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids",
	    "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct",
	    "/sys/fs/cgroup/freezer" } },
	{ "a hierarchy named like a controller is none",
	  "1 1 0:1 / /x rw - cgroup cgroup rw,name=memory,xattr\n",
	  0,
	  { "", "", "", "", "", "" } },
	{ "a later mount hides an earlier one",
	  V2 "32 23 0:28 / /other rw - cgroup2 none rw\n",
	  0,
	  { "/other", "", "", "", "", "" } },
	{ "a part of the hierarchy does not hide the whole",
	  V2 "32 23 0:28 /docker/abc /var/x rw - cgroup2 none rw\n",
	  0,
	  { "/sys/fs/cgroup", "", "", "", "", "" } },
	{ "the whole replaces a part",
	  "32 23 0:28 /docker/abc /var/x rw - cgroup2 none rw\n" V2,
	  0,
	  { "/sys/fs/cgroup", "", "", "", "", "" } },
	{ "several optional fields",
	  "1 2 0:3 / /a rw shared:1 master:2 unbindable - cgroup2 x rw\n",
	  0,
	  { "/a", "", "", "", "", "" } },
	{ "a blank in the name",
	  "1 2 0:3 / /a\\040b\\134 rw - cgroup2 x rw\n",
	  0,
	  { "/a b\\", "", "", "", "", "" } },
	{ "no newline at the end",
	  "1 2 0:3 / /a rw - cgroup2 x rw",
	  0,
	  { "/a", "", "", "", "", "" } },
	{ "no separator", "1 2 0:3 / /a rw cgroup2 x rw\n", -EINVAL, { 0 } },
	{ "nothing after the separator", "1 2 0:3 / /a rw -\n", -EINVAL, { 0 } },
	{ "no options", "1 2 0:3 / /a rw - cgroup2 x\n", -EINVAL, { 0 } },
	{ "an id that is no number", "x 2 0:3 / /a rw - cgroup2 x rw\n", -EINVAL, { 0 } },
	{ "an empty line", ROOT "\n" V2, -EINVAL, { 0 } },
	{ "a broken escape", "1 2 0:3 / /a\\04 rw - cgroup2 x rw\n", -EINVAL, { 0 } },
	{ "an escaped NUL", "1 2 0:3 / /a\\000 rw - cgroup2 x rw\n", -EINVAL, { 0 } },
	{ "an escape past a byte", "1 2 0:3 / /a\\777 rw - cgroup2 x rw\n", -EINVAL, { 0 } },
	{ "a relative place", "1 2 0:3 / a rw - cgroup2 x rw\n", -EINVAL, { 0 } },
};

static void test_mountinfo(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct places *p = &cases[i].places;
		struct cgroup_mounts m;

		print_message("# %s\n", cases[i].what);
		assert_int_equal(mountinfo_parse(cases[i].text, &m), cases[i].expect);
		if (cases[i].expect < 0)
			continue;
		assert_string_equal(m.place[CGROUP_UNIFIED], p->unified);
		assert_string_equal(m.place[CGROUP_MEMORY], p->memory);
		assert_string_equal(m.place[CGROUP_PIDS], p->pids);
		assert_string_equal(m.place[CGROUP_CPU], p->cpu);
		assert_string_equal(m.place[CGROUP_CPUACCT], p->cpuacct);
		assert_string_equal(m.place[CGROUP_FREEZER], p->freezer);
	}
}

static void test_long_place(void **state)
{
	char text[2 * CGROUP_PLACE_MAX];
	struct cgroup_mounts m;
	char name[CGROUP_PLACE_MAX + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[CGROUP_PLACE_MAX] = '\0';
	snprintf(text, sizeof(text), "1 2 0:3 / %s rw - cgroup2 x rw\n", name);
	assert_int_equal(mountinfo_parse(text, &m), -EINVAL);
	name[CGROUP_PLACE_MAX - 1] = '\0';
	snprintf(text, sizeof(text), "1 2 0:3 / %s rw - cgroup2 x rw\n", name);
	assert_int_equal(mountinfo_parse(text, &m), 0);
	assert_string_equal(m.place[CGROUP_UNIFIED], name);
}

static const struct {
	const char *text;
	int expect;
	const char *path;
} own_cases[] = {
	{ "", 0, "" },
	{ "0::/\n", 0, "/" },
	{ "0::/user.slice/user-1000.slice/session-2.scope\n", 0,
	  "/user.slice/user-1000.slice/session-2.scope" },
	{ "9:name=systemd:/\n4:memory:/a:b\n0::/x:y\n", 0, "/x:y" },
	{ "4:memory:/a\n", 0, "" },
	{ "0:memory:/a\n", 0, "" },
	{ "0::\n", -EINVAL, NULL },
	{ "0::a\n", -EINVAL, NULL },
	{ "0:/\n", -EINVAL, NULL },
	{ "x::/\n", -EINVAL, NULL },
	{ "\n", -EINVAL, NULL },
};

static void test_own_cgroup(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(own_cases); i++) {
		char path[CGROUP_PLACE_MAX];

		print_message("# %s\n", own_cases[i].path ? own_cases[i].path : "(refused)");
		assert_int_equal(own_cgroup_parse(own_cases[i].text, path), own_cases[i].expect);
		if (own_cases[i].path)
			assert_string_equal(path, own_cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mountinfo),
		cmocka_unit_test(test_long_place),
		cmocka_unit_test(test_own_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
