/* A bundle as init and the drivers find it in their memfd. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/bundle.h"
#include "wire/cell_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char strings[BUNDLE_STRINGS_MAX];
	static char *list[BUNDLE_ARGS_MAX + BUNDLE_ENV_MAX + 1];
	struct bundle_header header;
	size_t n;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	if (bundle_header_check(&header, size) < 0)
		return 0;
	memcpy(strings, data + sizeof(header), header.strings_len);
	n = header.argc + header.envc;
	if (!strings_split(strings, header.strings_len, n, list))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (list[i] + strlen(list[i]) >= strings + header.strings_len)
			abort();
	}
	if (list[n])
		abort();
	return 0;
}
