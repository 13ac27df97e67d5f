#include "wire/steps.h"

const char *cell_step_text(uint32_t step)
{
	static const char *const texts[] = {
#define X(name, text) [STEP_##name] = text,
		CELL_STEPS(X)
#undef X
	};

	return step < CELL_STEP_COUNT ? texts[step] : "build the cell";
}
