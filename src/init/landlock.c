/*
 * Landlock: the second lock, should a mount be wrong. Reading goes everywhere in the cell's root, which
 * holds nothing of anybody's; writing only where the cell may write.
 *
 * The kernel's header here may be older than the kernel, so the numbers are written out.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "init/init.h"

enum {
	EXECUTE = 1u << 0,
	WRITE_FILE = 1u << 1,
	READ_FILE = 1u << 2,
	READ_DIR = 1u << 3,
	REMOVE_DIR = 1u << 4,
	REMOVE_FILE = 1u << 5,
	MAKE_CHAR = 1u << 6,
	MAKE_DIR = 1u << 7,
	MAKE_REG = 1u << 8,
	MAKE_SOCK = 1u << 9,
	MAKE_FIFO = 1u << 10,
	MAKE_BLOCK = 1u << 11,
	MAKE_SYM = 1u << 12,
	REFER = 1u << 13,     /* ABI 2 */
	TRUNCATE = 1u << 14,  /* ABI 3 */
	IOCTL_DEV = 1u << 15, /* ABI 5 */

	READ = EXECUTE | READ_FILE | READ_DIR,
	DEVICES = READ_FILE | READ_DIR | WRITE_FILE,
	EVERYTHING = (1u << 16) - 1,
	WRITE = EVERYTHING & ~(unsigned)(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV),

	NET_BIND_TCP = 1u << 0, /* ABI 4 */
	NET_CONNECT_TCP = 1u << 1,
	SCOPE_ABSTRACT_UNIX = 1u << 0, /* ABI 6 */
	SCOPE_SIGNAL = 1u << 1,

	RULE_PATH_BENEATH = 1,
};

struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

struct path_rule {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

static const struct {
	const char *path;
	uint64_t access;
} rules[] = {
	{ "/", READ },     { "/dev", DEVICES },     { "/dev/shm", WRITE },
	{ "/tmp", WRITE }, { "/workspace", WRITE },
};

/* What the ABI can handle: a right that is not handled is not refused. */
static uint64_t handled(uint32_t abi)
{
	uint64_t all = EVERYTHING;

	if (abi < 2)
		all &= ~(uint64_t)REFER;
	if (abi < 3)
		all &= ~(uint64_t)TRUNCATE;
	if (abi < 5)
		all &= ~(uint64_t)IOCTL_DEV;
	return all;
}

static size_t ruleset_size(uint32_t abi)
{
	if (abi < 4)
		return offsetof(struct ruleset, net);
	return abi < 6 ? offsetof(struct ruleset, scoped) : sizeof(struct ruleset);
}

int landlock_apply(uint32_t abi, bool loopback)
{
	struct ruleset ruleset = {
		.fs = handled(abi),
		.net = loopback ? 0 : NET_BIND_TCP | NET_CONNECT_TCP,
		.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL,
	};
	_cleanup_close_ int set = -1;

	if (abi == 0)
		return 0; /* told as such: isolation is not strong */
	set = (int)syscall(SYS_landlock_create_ruleset, &ruleset, ruleset_size(abi), 0);
	if (set < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		_cleanup_close_ int fd = open(rules[i].path, O_PATH | O_CLOEXEC);
		struct path_rule rule = { .access = rules[i].access & ruleset.fs, .fd = fd };

		if (fd < 0)
			return -errno;
		if (syscall(SYS_landlock_add_rule, set, RULE_PATH_BENEATH, &rule, 0) < 0)
			return -errno;
	}
	return syscall(SYS_landlock_restrict_self, set, 0) < 0 ? -errno : 0;
}
