/* runtime.ini as anybody may write it; what is accepted must fit a cell. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime_ini.h"
#include "wire/cell_spec.h"

static void check_fits(const struct runtime *rt)
{
	static struct cell_spec spec;

	memset(&spec, 0, sizeof(spec));
	for (size_t i = 0; rt->argv[i]; i++) {
		if (cell_spec_add_arg(&spec, rt->argv[i]) < 0)
			abort();
	}
	for (size_t i = 0; i < rt->n_env; i++) {
		if (cell_spec_add_env(&spec, rt->env[i].name, rt->env[i].value) < 0)
			abort();
	}
	if (!rt->argv[0] || rt->argv[0][0] != '/' || rt->profile >= CELL_PROFILE_COUNT)
		abort();
	if (rt->kind == RUNTIME_COMMAND &&
	    strlen(rt->code_file) + strlen("/tmp/") >= CELL_CODE_PATH_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err;
	struct runtime_file *file = runtime_file_parse("/runtimes/test", (const char *)data, size,
						       &err);

	if (file)
		check_fits(&file->runtime);
	else if (strncmp(err.message, "/runtimes/test/runtime.ini:", 27) != 0)
		abort();
	runtime_file_free(file);
	return 0;
}
