/* The records that a program writes to its "outputs" pipe. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/outputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outputs outputs;

	outputs_init(&outputs);
	outputs_add(&outputs, data, size / 2);
	outputs_add(&outputs, data + size / 2, size - size / 2);
	outputs_parse(&outputs);
	for (size_t i = 0; i < outputs.n; i++) {
		const struct run_output *output = &outputs.list[i];
		const uint8_t *end = (const uint8_t *)output->data + output->len;

		if (strlen(output->mime) > OUTPUTS_MIME_MAX ||
		    end > outputs.raw.data + outputs.raw.len)
			abort();
	}
	outputs_done(&outputs);
	return 0;
}
