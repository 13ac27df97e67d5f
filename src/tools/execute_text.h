/* What a model reads of sandbox_execute before it calls it: the description and the schema. */
#pragma once

#include "tools/execute.h"

/* The caller frees them. The schema is JSON text. */
char *execute_description(const struct execute_config *config);
char *execute_schema(const struct execute_config *config);
