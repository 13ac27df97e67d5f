#include "backend/isolation.h"

enum isolation_level isolation_rate(const struct isolation_facts *facts)
{
	int missing = !facts->own_uids + !facts->landlock + !facts->own_overlay;

	if (!facts->memory_limit || !facts->processes_limit || missing > 1)
		return ISOLATION_WEAK;
	return missing ? ISOLATION_FAIR : ISOLATION_STRONG;
}

const char *isolation_name(enum isolation_level level)
{
	switch (level) {
	case ISOLATION_STRONG:
		return "strong";
	case ISOLATION_FAIR:
		return "fair";
	case ISOLATION_WEAK:
		return "weak";
	}
	return "weak";
}
