#include "command/installation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/config.h"

static bool find_own_folder(char folder[PATH_MAX], struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return error_set(err, ERR_SYSTEM, errno,
				 "cannot find my own program file (is /proc mounted?)");
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return true;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds a folder if it is one; a relative path counts from the working directory. */
static void add_folder(struct installation *to, const char *path)
{
	size_t n = 0;
	char *full;

	if (!*path || !is_folder(path))
		return;
	while (to->runtimes[n])
		n++;
	if (n == INSTALLATION_FOLDERS_MAX)
		return;
	full = realpath(path, NULL);
	if (full)
		to->runtimes[n] = full;
}

static void add_shipped(struct installation *to, const char *own)
{
	_cleanup_free_ char *beside = xasprintf("%s/runtimes", own);
	_cleanup_free_ char *installed = xasprintf("%s/../share/hotcell/runtimes", own);

	add_folder(to, is_folder(beside) ? beside : installed);
}

static void add_users(struct installation *to)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	_cleanup_free_ char *path = NULL;

	if (base && base[0] == '/')
		path = xasprintf("%s/hotcell/runtimes.d", base);
	else if (home && home[0] == '/')
		path = xasprintf("%s/.config/hotcell/runtimes.d", home);
	if (path)
		add_folder(to, path);
}

static void add_configured(struct installation *to, const struct config *config)
{
	_cleanup_free_ char *list = xstrdup(config->paths_runtimes ? config->paths_runtimes : "");
	char *rest = list;

	for (char *path; (path = strsep(&rest, ":"));)
		add_folder(to, path);
}

static char *find_programs(const char *own)
{
	static const char *const places[] = { ".", "../libexec/hotcell" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *warden = xasprintf("%s/%s/hotcell-warden", own, places[i]);

		if (access(warden, X_OK) == 0)
			return xasprintf("%s/%s", own, places[i]);
	}
	return NULL;
}

bool installation_find(struct installation *ret, const struct config *config, struct error *err)
{
	char own[PATH_MAX];

	*ret = (struct installation){ 0 };
	if (!find_own_folder(own, err))
		return false;
	ret->programs = find_programs(own);
	if (!ret->programs)
		return error_set(err, ERR_SYSTEM, 0,
				 "hotcell-warden is neither in %s nor in %s/../libexec/hotcell: "
				 "install hotcell again",
				 own, own);
	add_shipped(ret, own);
	add_folder(ret, "/etc/hotcell/runtimes.d");
	add_users(ret);
	add_configured(ret, config);
	return true;
}

void installation_done(struct installation *installation)
{
	free(installation->programs);
	for (size_t i = 0; installation->runtimes[i]; i++)
		free(installation->runtimes[i]);
	*installation = (struct installation){ 0 };
}
