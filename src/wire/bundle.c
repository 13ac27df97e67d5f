#include "wire/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

int bundle_header_check(const struct bundle_header *header, uint64_t file_size)
{
	if (header->magic != BUNDLE_MAGIC || header->code_len > BUNDLE_CODE_MAX ||
	    header->strings_len > BUNDLE_STRINGS_MAX || header->argc > BUNDLE_ARGS_MAX ||
	    header->envc > BUNDLE_ENV_MAX)
		return -EINVAL;
	if (sizeof(*header) + (uint64_t)header->code_len + header->strings_len != file_size)
		return -EINVAL;
	return 0;
}

static int append_strings(char *strings, uint32_t *len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t size = strlen(list[i]) + 1;

		if (size > BUNDLE_STRINGS_MAX - *len)
			return -E2BIG;
		memcpy(strings + *len, list[i], size);
		*len += (uint32_t)size;
	}
	return 0;
}

int bundle_to_fd(const struct bundle *bundle)
{
	char strings[BUNDLE_STRINGS_MAX];
	struct bundle_header header = { .magic = BUNDLE_MAGIC };
	_cleanup_close_ int fd = -1;
	int r;

	if (bundle->code_len > BUNDLE_CODE_MAX || bundle->n_args > BUNDLE_ARGS_MAX ||
	    bundle->n_env > BUNDLE_ENV_MAX)
		return -E2BIG;
	r = append_strings(strings, &header.strings_len, bundle->args, bundle->n_args);
	if (r == 0)
		r = append_strings(strings, &header.strings_len, bundle->env, bundle->n_env);
	if (r < 0)
		return r;
	header.code_len = (uint32_t)bundle->code_len;
	header.argc = (uint32_t)bundle->n_args;
	header.envc = (uint32_t)bundle->n_env;
	fd = memfd_create("run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, &header, sizeof(header));
	if (r == 0)
		r = fd_write_all(fd, strings, header.strings_len);
	if (r == 0)
		r = fd_write_all(fd, bundle->code, bundle->code_len);
	if (r < 0)
		return r;
	r = fd_seal(fd);
	if (r < 0)
		return r;
	return TAKE_FD(fd);
}
