#include "wire/verdict.h"

const char *run_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {
#define X(name, text) [VERDICT_##name] = text,
		RUN_VERDICTS(X)
#undef X
	};

	return verdict < RUN_VERDICT_COUNT ? names[verdict] : "unknown";
}
