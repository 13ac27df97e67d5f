/* One message of a stranger's: whatever it is, it becomes a message or a refusal that is itself JSON. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/jsonrpc.h"

static void check_line(char *text)
{
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	if (!json_is_object(value) || strchr(text, '\n'))
		abort();
	json_decref(value);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jsonrpc_message m;

	jsonrpc_parse(&m, (const char *)data, size);
	switch (m.kind) {
	case JSONRPC_INVALID:
		check_line(jsonrpc_error(m.id, m.code, m.why, NULL));
		break;
	case JSONRPC_REQUEST:
		if (!m.id || !m.method)
			abort();
		check_line(jsonrpc_result(m.id, json_object()));
		check_line(jsonrpc_error(m.id, -1, m.method, json_incref(m.params)));
		break;
	case JSONRPC_NOTIFICATION:
		if (m.id || !m.method)
			abort();
		break;
	case JSONRPC_RESPONSE:
		if (m.method)
			abort();
		break;
	}
	jsonrpc_message_done(&m);
	return 0;
}
