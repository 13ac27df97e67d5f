#include "core/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/macros.h"
#include "core/plan.h"
#include "core/run.h"
#include "wire/bundle.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static bool check_code(const char *code, size_t len, struct error *err)
{
	const char *nul;

	if (len == 0)
		return error_set(err, ERR_INPUT, 0, "code is empty; give a program to run");
	if (len > BUNDLE_CODE_MAX)
		return error_set(err, ERR_INPUT, 0,
				 "code has %zu bytes; allowed is at most %d (put data into files)",
				 len, BUNDLE_CODE_MAX);
	nul = memchr(code, '\0', len);
	if (nul)
		return error_set(err, ERR_INPUT, 0,
				 "code has a NUL byte at offset %zu; it must be text",
				 (size_t)(nul - code));
	return true;
}

static bool check_env(const char *text, struct error *err)
{
	const char *end = strchr(text, '=');

	if (end && env_name_is_valid(text, (size_t)(end - text)))
		return true;
	return error_set(
		err, ERR_INPUT, 0,
		"env has \"%.*s\"; a name is a letter or '_', then letters, digits and '_'",
		end ? (int)MIN(end - text, 60) : 60, text);
}

static bool bundle_failed(int errnum, struct error *err)
{
	if (errnum == E2BIG)
		return error_set(
			err, ERR_INPUT, 0,
			"args and env are too large; allowed are %d arguments, %d variables and %d bytes of both",
			BUNDLE_ARGS_MAX, BUNDLE_ENV_MAX, BUNDLE_STRINGS_MAX);
	return error_set(err, ERR_SYSTEM, errnum, "cannot keep the program in memory");
}

static bool make_bundle(const struct run_request *request, int *ret_fd, struct error *err)
{
	const struct bundle bundle = {
		.code = request->code,
		.code_len = request->code_len,
		.args = request->args,
		.n_args = request->n_args,
		.env = request->env,
		.n_env = request->n_env,
	};

	if (!check_code(request->code, request->code_len, err))
		return false;
	for (size_t i = 0; i < request->n_env; i++)
		if (!check_env(request->env[i], err))
			return false;
	*ret_fd = bundle_to_fd(&bundle);
	return *ret_fd >= 0 || bundle_failed(-*ret_fd, err);
}

/* argc + envc strings, each ended by NUL, exactly len bytes; names of the environment are good. */
static bool check_strings(const char *strings, const struct bundle_header *header,
			  struct error *err)
{
	size_t at = 0, left = header->strings_len;

	for (uint32_t i = 0; i < header->argc + header->envc; i++) {
		const char *end = left ? memchr(strings + at, '\0', left) : NULL;

		if (!end)
			return error_set(err, ERR_INPUT, 0, "the program's arguments do not end");
		if (i >= header->argc && !check_env(strings + at, err))
			return false;
		left -= (size_t)(end - (strings + at)) + 1;
		at = (size_t)(end - strings) + 1;
	}
	return left == 0 ||
	       error_set(err, ERR_INPUT, 0, "the program has more arguments than it says");
}

static bool check_bytes(const char *bytes, size_t size, struct error *err)
{
	struct bundle_header header;

	memcpy(&header, bytes, sizeof(header));
	/* Said first, because its own sentence helps. */
	if (header.code_len > BUNDLE_CODE_MAX)
		return check_code("", header.code_len, err);
	if (bundle_header_check(&header, size) < 0)
		return error_set(err, ERR_INPUT, 0, "the program's bundle is malformed");
	return check_strings(bytes + sizeof(header), &header, err) &&
	       check_code(bytes + sizeof(header) + header.strings_len, header.code_len, err);
}

/* The seals make sure that what was checked is what the cell reads, and that it cannot shrink under us. */
static bool check_bundle(int fd, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *bytes;
	bool good;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return error_set(err, ERR_INPUT, 0, "the program's bundle is not a sealed memfd");
	if (st.st_size < (off_t)sizeof(struct bundle_header) ||
	    st.st_size >
		    (off_t)(sizeof(struct bundle_header) + BUNDLE_STRINGS_MAX + BUNDLE_CODE_MAX))
		return error_set(err, ERR_INPUT, 0,
				 "the program's bundle has %jd bytes; code may have %d",
				 (intmax_t)st.st_size, BUNDLE_CODE_MAX);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return error_set(err, ERR_SYSTEM, errno, "cannot read the program's bundle");
	good = check_bytes(bytes, (size_t)st.st_size, err);
	(void)munmap(bytes, (size_t)st.st_size);
	return good;
}

bool program_bundle(const struct run_request *request, int *ret_fd, struct error *err)
{
	if (request->bundle_fd >= 0)
		return check_bundle(request->bundle_fd, err);
	return make_bundle(request, ret_fd, err);
}
