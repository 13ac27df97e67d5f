/*
 * The command and the front: one order at a time on the front's fd FRONT_FD_ORDERS.
 *
 * `hotcell run` is such an order: the command has read the code and stands between the terminal and
 * the front, which sees no terminal, no file of the user's and no path.
 */
#pragma once

#include "base/path.h"
#include "wire/cell_spec.h"
#include "wire/wire.h"

enum {
	FRONT_FD_WARDEN = 3,
	FRONT_FD_ORDERS = 4,
	FRONT_FD_SETTINGS = 5, /* the resolved configuration as INI text */
	ORDER_LANGUAGE_MAX = 64,
	ORDER_OUTPUT_MAX = 8 * 1024,
	ORDER_MESSAGE_MAX = 600,
};

enum order_message {
	/* command to front */
	ORDER_RUN = 1, /* fds: bundle, and the reading end of the program's stdin */
	ORDER_CANCEL,
	ORDER_CREDIT, /* the output that came was written: more may come */
	/* front to command */
	ORDER_OUTPUT,
	ORDER_FILE,   /* fd: one regular file that the run made */
	ORDER_RESULT, /* fd: the whole result as JSON */
	ORDER_ERROR,  /* nothing was run */
	ORDER_MESSAGE_COUNT,
};

enum order_flags {
	ORDER_WANT_FILES = 1u << 0,
	ORDER_FLAGS_ALL = 1,
};

struct order_run {
	struct wire_header header;
	uint32_t flags;
	uint32_t reserved;
	uint64_t timeout_ms;
	/* 0 where the policy's own limit holds */
	struct cell_limits limits;
	char language[ORDER_LANGUAGE_MAX];
	char policy[ORDER_LANGUAGE_MAX]; /* empty: the configured one */
};

struct order_cancel {
	struct wire_header header;
};

struct order_credit {
	struct wire_header header;
	uint32_t bytes;
};

/* size varies */
struct order_output {
	struct wire_header header;
	uint32_t stream; /* 1 stdout, 2 stderr */
	uint8_t bytes[ORDER_OUTPUT_MAX];
};

struct order_file {
	struct wire_header header;
	uint32_t mode;
	uint32_t reserved;
	char path[PATH_MAX_BYTES + 8];
};

struct order_result {
	struct wire_header header;
	uint32_t verdict; /* enum run_verdict, for the sentence on stderr */
	int32_t exit_code;
	uint64_t limit; /* what was reached: milliseconds or bytes */
};

struct order_error {
	struct wire_header header;
	uint32_t code; /* enum error_code */
	char message[ORDER_MESSAGE_MAX];
};
