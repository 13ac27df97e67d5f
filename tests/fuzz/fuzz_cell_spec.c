/* A cell's description as a front that was taken over would send it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/cell_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cell_spec spec;
	char *argv[CELL_ARGS_MAX + 1], *envp[CELL_ENV_MAX + 1];
	const char *why = NULL;

	memset(&spec, 0, sizeof(spec));
	if (size > 0)
		memcpy(&spec, data, size < sizeof(spec) ? size : sizeof(spec));
	if (cell_spec_check(&spec, &why) < 0) {
		if (!why)
			abort();
		return 0;
	}
	cell_spec_vectors(&spec, argv, envp);
	for (uint32_t i = 0; i < spec.argc; i++)
		(void)strlen(argv[i]);
	for (uint32_t i = 0; i < spec.envc; i++)
		(void)strlen(envp[i]);
	if (!argv[0] || argv[0][0] != '/' || argv[spec.argc] || envp[spec.envc])
		abort();
	return 0;
}
