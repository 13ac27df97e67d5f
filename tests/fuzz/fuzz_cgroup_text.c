/* The kernel's text about a cgroup. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cgroup_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t value;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	(void)cgroup_text_number(text, &value);
	(void)cgroup_text_line(text, "oom_kill", &value);
	(void)cgroup_text_cpu_us(text, &value);
	free(text);
	return 0;
}
