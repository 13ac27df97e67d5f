#include "command/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "runtime/runtime.h"

/* The names at the host's root that a cell has too. On merged systems they are links into /usr. */
static const char *const root_names[] = { "bin", "sbin", "lib", "lib64", "lib32", "libx32" };

/* Whole directories of the host. The first must be there. */
static const char *const tree_places[] = { "/usr", "/etc/alternatives" };

static const struct {
	const char *place, *target;
} links[] = {
	{ "/data", "workspace" },
	{ "/var/tmp", "../tmp" },
	{ "/etc/os-release", "../usr/lib/os-release" },
};

static const struct {
	const char *place, *text;
} texts[] = {
	{ "/etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
			 "cell:x:1000:1000:cell:/workspace:/bin/bash\n"
			 "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n" },
	{ "/etc/group", "root:x:0:\ncell:x:1000:\nnogroup:x:65534:\n" },
	{ "/etc/hosts", "127.0.0.1 localhost cell\n::1 localhost ip6-localhost ip6-loopback\n" },
	{ "/etc/hostname", "cell\n" },
	/* Libraries that draw text want it; without it they complain to the program's stderr. */
	{ "/etc/fonts/fonts.conf",
	  "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n"
	  "<fontconfig><dir>/usr/share/fonts</dir>"
	  "<cachedir>/tmp/.cache/fontconfig</cachedir></fontconfig>\n" },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
				"networks: files\nprotocols: files\nservices: files\n" },
	{ "/etc/resolv.conf", "" },
	{ "/etc/profile", "PATH=/usr/local/bin:/usr/bin:/bin\nexport PATH\n" },
};

/* Files of the host that are the same for every program on it. */
static const char *const host_files[] = { "/etc/ld.so.cache", "/etc/localtime" };

static bool add_tree(struct setup *setup, const char *path, struct error *err)
{
	struct setup_tree *tree = &setup->trees[setup->n_trees];

	tree->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->fd < 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot open %s", path);
	snprintf(tree->place, sizeof(tree->place), "%s", path);
	setup->n_trees++;
	return true;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool setup_open(struct setup *ret, struct error *err)
{
	char path[16];

	*ret = (struct setup){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(tree_places); i++)
		if ((i == 0 || is_folder(tree_places[i])) && !add_tree(ret, tree_places[i], err))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(root_names); i++) {
		snprintf(path, sizeof(path), "/%s", root_names[i]);
		if (is_folder(path) && !add_tree(ret, path, err))
			return false;
	}
	return true;
}

void setup_done(struct setup *setup)
{
	for (size_t i = 0; i < setup->n_trees; i++)
		(void)fd_close(setup->trees[i].fd);
	setup->n_trees = 0;
}

uint32_t setup_trees(const struct setup *setup)
{
	return (1u << setup->n_trees) - 1;
}

static int send_link(int warden, const char *place, const char *target)
{
	WIRE_MESSAGE(warden_link, m, WARDEN_LINK);

	if (strlen(place) >= sizeof(m.place) || strlen(target) >= sizeof(m.target))
		return -ENAMETOOLONG;
	memcpy(m.place, place, strlen(place));
	memcpy(m.target, target, strlen(target));
	return wire_send(warden, &m, NULL, 0);
}

static int send_file(int warden, const char *place, int fd)
{
	WIRE_MESSAGE(warden_file, m, WARDEN_FILE);

	if (strlen(place) >= sizeof(m.place))
		return -ENAMETOOLONG;
	m.mode = 0644;
	memcpy(m.place, place, strlen(place));
	return wire_send(warden, &m, &fd, 1);
}

static int send_trees(const struct setup *setup, int warden)
{
	for (size_t i = 0; i < setup->n_trees; i++) {
		WIRE_MESSAGE(warden_tree, m, WARDEN_TREE);
		int r;

		m.index = (uint32_t)i;
		memcpy(m.place, setup->trees[i].place, sizeof(m.place));
		r = wire_send(warden, &m, &setup->trees[i].fd, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int send_links(int warden)
{
	char place[16], target[WARDEN_PLACE_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++)
		r = send_link(warden, links[i].place, links[i].target);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(root_names); i++) {
		ssize_t n;

		snprintf(place, sizeof(place), "/%s", root_names[i]);
		n = readlink(place, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		r = send_link(warden, place, target);
	}
	return r;
}

static int send_texts(int warden)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_close_ int fd = fd_from_bytes("etc", texts[i].text, strlen(texts[i].text));
		int r = fd < 0 ? fd : send_file(warden, texts[i].place, fd);

		if (r < 0)
			return r;
	}
	return 0;
}

static int send_host_files(int warden)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_files); i++) {
		_cleanup_close_ int fd = open(host_files[i],
					      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat st;
		int r;

		/* Programs do without: libraries are then searched, the time zone is UTC. */
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_size > WARDEN_FILE_BYTES_MAX)
			continue;
		r = send_file(warden, host_files[i], fd);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool send_runtime_file(int warden, const struct runtime *runtime, const char *path,
			      struct error *err)
{
	const char *name = path + strlen(runtime->folder);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char place[WARDEN_PLACE_MAX + 1];
	int r;

	snprintf(place, sizeof(place), "%s%s", runtime->place, name);
	r = fd < 0 ? -errno : send_file(warden, place, fd);
	return r < 0 ? error_set(err, ERR_SYSTEM, -r, "cannot give %s to the warden", path) : true;
}

static bool send_runtime(int warden, const struct runtime *runtime, struct error *err)
{
	bool good = true;

	for (size_t i = 0; good && runtime->files && runtime->files[i]; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", runtime->folder, runtime->files[i]);
		glob_t found = { 0 };

		if (!strpbrk(runtime->files[i], "*?[")) {
			good = send_runtime_file(warden, runtime, path, err);
			continue;
		}
		/* What a pattern stands for is made when hotcell is installed, if it can be. */
		if (glob(path, 0, NULL, &found) == 0) {
			for (size_t j = 0; good && j < found.gl_pathc; j++)
				good = send_runtime_file(warden, runtime, found.gl_pathv[j], err);
		}
		globfree(&found);
	}
	return good;
}

bool setup_send(const struct setup *setup, int warden, const struct runtimes *runtimes,
		const struct runtime *only, struct error *err)
{
	int r = send_trees(setup, warden);

	if (r == 0)
		r = send_links(warden);
	if (r == 0)
		r = send_texts(warden);
	if (r == 0)
		r = send_host_files(warden);
	if (r < 0)
		return error_set(err, ERR_SYSTEM, -r, "cannot set hotcell-warden up");
	if (only)
		return send_runtime(warden, only, err);
	for (size_t i = 0; i < runtimes_count(runtimes); i++) {
		const struct runtime *runtime = runtimes_at(runtimes, i);

		if (runtime->program && !send_runtime(warden, runtime, err))
			return false;
	}
	return true;
}
