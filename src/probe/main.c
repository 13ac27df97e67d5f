/*
 * hotcell-probe: what a hostile program would try, one line each. `hotcell doctor` runs it in a cell
 * and compares; outside a cell it tells what the kernel would have allowed.
 *
 * Every attempt is harmless where it succeeds: it changes nothing of the host, and each runs in a
 * process of its own.
 */
#include "probe/probe.h"

int main(void)
{
	probe_process();
	probe_files();
	probe_network();
	probe_system_calls();
	probe_say("end", "ok");
	return 0;
}
