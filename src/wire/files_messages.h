/*
 * The front and hotcell-files: names go down, listings and open files come up.
 *
 * Names are relative to the workspace and plain (base/path.h); hotcell-files opens them by openat2
 * beneath its root, follows no link and opens nothing but regular files and directories.
 */
#pragma once

#include "base/path.h"
#include "wire/wire.h"

enum {
	FILES_FD = 3, /* the socket, in hotcell-files */
	FILES_LIST_MAX = 100000,
};

enum files_message {
	/* front to files */
	FILES_LIST = 1, /* everything below the workspace */
	FILES_OPEN,     /* a regular file, for reading */
	FILES_PUT,      /* fd: bytes that become a new regular file, parents made */
	/* files to front */
	FILES_ENTRY,  /* one each, in no order */
	FILES_END,    /* after the last ENTRY */
	FILES_OPENED, /* fd, when errnum is 0 */
	FILES_DONE,   /* after PUT */
	FILES_MESSAGE_COUNT,
};

enum files_kind { FILES_REGULAR, FILES_DIRECTORY, FILES_SYMLINK, FILES_SPECIAL };

struct files_list {
	struct wire_header header;
	uint32_t max; /* entries; the rest is only counted */
	uint32_t reserved;
};

struct files_open {
	struct wire_header header;
	char path[PATH_MAX_BYTES + 8]; /* ended by NUL */
};

struct files_put {
	struct wire_header header;
	uint32_t mode; /* 0644 or 0755 */
	uint32_t reserved;
	char path[PATH_MAX_BYTES + 8];
};

struct files_entry {
	struct wire_header header;
	uint32_t kind;
	uint32_t mode;
	uint64_t size;
	uint64_t mtime_ns;
	uint64_t inode;
	char path[PATH_MAX_BYTES + 8];
};

struct files_end {
	struct wire_header header;
	uint64_t count;   /* all that were seen */
	uint32_t skipped; /* not sent: over max, too deep or too long a name */
	int32_t errnum;   /* not 0: the walk broke off */
};

struct files_opened {
	struct wire_header header;
	int32_t errnum;
	uint32_t reserved;
	uint64_t size;
};

struct files_done {
	struct wire_header header;
	int32_t errnum;
	uint32_t reserved;
};
