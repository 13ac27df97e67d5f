#include "core/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"

enum { READ_CHUNK = 64 * 1024 };

struct digest {
	EVP_MD_CTX *context;
	bool begun;
	off_t at;
	uint8_t buffer[READ_CHUNK];
};

bool digest_prepare(void)
{
	struct digest *digest;
	bool good;

	if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
		return false;
	/* A first use makes the library load the algorithm. */
	digest = digest_new();
	good = digest && EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL);
	(void)digest_free(digest);
	return good;
}

struct digest *digest_new(void)
{
	struct digest *digest = xcalloc(1, sizeof(*digest));

	digest->context = EVP_MD_CTX_new();
	if (!digest->context) {
		free(digest);
		return NULL;
	}
	return digest;
}

struct digest *digest_free(struct digest *digest)
{
	if (digest) {
		EVP_MD_CTX_free(digest->context);
		free(digest);
	}
	return NULL;
}

static int finish(struct digest *digest, char hex[DIGEST_HEX_SIZE])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	digest->begun = false;
	if (!EVP_DigestFinal_ex(digest->context, sum, &len) || len * 2 >= DIGEST_HEX_SIZE)
		return -EIO;
	for (unsigned int i = 0; i < len; i++)
		snprintf(hex + (size_t)i * 2, 3, "%02x", sum[i]);
	return 0;
}

static int fail(struct digest *digest, int errnum)
{
	digest->begun = false;
	return -errnum;
}

int digest_slice(struct digest *digest, int fd, size_t max, char hex[DIGEST_HEX_SIZE])
{
	if (!digest->begun) {
		if (!EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL))
			return -EIO;
		digest->begun = true;
		digest->at = 0;
	}
	while (max > 0) {
		ssize_t n = pread(fd, digest->buffer, MIN(max, sizeof(digest->buffer)), digest->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(digest, errno);
		if (n == 0)
			return finish(digest, hex);
		if (!EVP_DigestUpdate(digest->context, digest->buffer, (size_t)n))
			return fail(digest, EIO);
		digest->at += n;
		max -= (size_t)n;
	}
	return 1;
}
