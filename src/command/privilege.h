/*
 * The rights with which an instance works: root's, or those of an ordinary user in a user namespace.
 *
 * An ordinary user's command moves itself into a user namespace and mount namespace of its own, in
 * which it is uid 0; from there on everything is done as root would do it. With /etc/subuid and
 * newuidmap every cell has host uids of its own; without, all share the user's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum privilege {
	PRIVILEGE_ROOT,    /* root on this host, with the capabilities that takes */
	PRIVILEGE_SUBUIDS, /* an ordinary user with a range of uids */
	PRIVILEGE_ONE_UID, /* an ordinary user with his own */
};

struct identity {
	enum privilege privilege;
	uid_t user;         /* who started us, as the host counts */
	uint32_t uid_count; /* PRIVILEGE_SUBUIDS: 1 to this many are ours, in our namespace */
};

/* What this process could work with; changes nothing. */
void privilege_look(struct identity *ret);

/* Makes it so: for an ordinary user enters the namespaces. Once, while the process has one thread.
 * False with a sentence that names the knob of the host that is in the way. */
bool privilege_enter(struct identity *identity, struct error *err);

/* Finds NAME's (or the number's) range in the text of /etc/subuid; false when there is none. */
bool subuid_find(const char *text, const char *name, uid_t uid, uint32_t *ret_first,
		 uint32_t *ret_count);

const char *privilege_name(enum privilege privilege);
