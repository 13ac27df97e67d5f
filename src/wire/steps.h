/*
 * The steps of building a cell, in order. A step that fails ends the cell; its number and errno travel
 * up, so that a person reads "cannot mount /proc in the cell: Operation not permitted".
 */
#pragma once

#include <stdint.h>

#define CELL_STEPS(X)                                                     \
	X(NONE, "do nothing")                                             \
	X(SPEC, "accept the cell's description")                          \
	X(SLOT, "find a free uid slot (cells.max)")                       \
	X(CGROUP, "make the cell's cgroup")                               \
	X(CGROUP_LIMITS, "set the cgroup's limits")                       \
	X(CGROUP_ENTER, "enter the cell's cgroup")                        \
	X(OOM_SCORE, "offer the cell to the out-of-memory killer")        \
	X(WORKSPACE, "make the workspace file system")                    \
	X(SOCKETS, "make the cell's sockets")                             \
	X(CRADLE, "start the process that becomes the cell")              \
	X(UID, "switch to the cell's uid")                                \
	X(NAMESPACES, "make the cell's namespaces")                       \
	X(ID_MAP, "map the cell's uids")                                  \
	X(PARENT_DEATH, "tie the cell to the warden's life")              \
	X(SESSION, "leave the terminal and keyring")                      \
	X(HOSTNAME, "set the cell's host name")                           \
	X(LOOPBACK, "bring up the cell's loopback")                       \
	X(SYSCTLS, "limit what namespaces the cell may make")             \
	X(NO_NESTING, "prove that no user namespace can be made inside")  \
	X(PRIVATE_MOUNTS, "make the cell's mounts private")               \
	X(ROOT, "mount the cell's root")                                  \
	X(TREES, "mount /usr and the runtime's trees in the cell")        \
	X(PROC, "mount /proc in the cell")                                \
	X(DEV, "make /dev in the cell")                                   \
	X(TMP, "mount /tmp in the cell")                                  \
	X(WORKSPACE_MOUNT, "mount /workspace in the cell")                \
	X(PIVOT, "change to the cell's root")                             \
	X(VERIFY_ROOT, "prove that the host's root is out of reach")      \
	X(EXEC_INIT, "start hotcell-init in the cell")                    \
	X(INIT_DUMPABLE, "hide init from the cell")                       \
	X(INIT_CAPS, "drop init's capabilities")                          \
	X(INIT_FILTER, "load init's seccomp filter")                      \
	X(WORKER_FORK, "start the program's process")                     \
	X(WORKER_RLIMITS, "set the resource limits")                      \
	X(WORKER_BOUNDING, "drop the capability bounding set")            \
	X(WORKER_UID, "switch to the program's uid")                      \
	X(WORKER_CAPS, "drop the program's capabilities")                 \
	X(WORKER_VERIFY, "prove that no capability is left")              \
	X(WORKER_NNP, "set no_new_privs")                                 \
	X(WORKER_STDIO, "connect the program's stdin, stdout and stderr") \
	X(WORKER_FDS, "close every other descriptor")                     \
	X(WORKER_CODE, "write the program's code into the cell")          \
	X(WORKER_LANDLOCK, "load the Landlock rules")                     \
	X(WORKER_FILTER, "load the seccomp filter")                       \
	X(WORKER_EXEC, "start the program")

enum cell_step {
#define X(name, text) STEP_##name,
	CELL_STEPS(X)
#undef X
		CELL_STEP_COUNT,
};

/* "mount /proc in the cell", to follow "cannot"; never NULL. */
const char *cell_step_text(uint32_t step);
