/*
 * Where hotcell's programs and data are: beside the executable in a build tree, in ../libexec and
 * ../share of it when installed.
 */
#pragma once

#include "base/error.h"

struct config;

enum { INSTALLATION_FOLDERS_MAX = 16 };

struct installation {
	char *programs; /* folder with hotcell-warden, -front, -init, -files */
	/* Folders with runtimes that exist, absolute; later ones win. Ended by NULL. */
	char *runtimes[INSTALLATION_FOLDERS_MAX + 1];
};

/* False with ERR_SYSTEM when the programs are not there. */
bool installation_find(struct installation *ret, const struct config *config, struct error *err);
void installation_done(struct installation *installation);

static inline const char *const *installation_folders(const struct installation *installation)
{
	return (const char *const *)installation->runtimes;
}
