/*
 * The attempts of hotcell-probe: each prints one line "NAME OUTCOME".
 *
 * OUTCOME is "ok", the name of an errno, "killed:SIGSYS", or a value without blanks. What it should be
 * is not known here: hotcell doctor has that table.
 */
#pragma once

#include <stddef.h>

/* Prints one line; the name is printed with it. */
void probe_say(const char *name, const char *outcome);

/* A call's return value as an outcome: "ok", or what errno is now. */
void probe_say_result(const char *name, long result);

void probe_system_calls(void);
void probe_files(void);
void probe_network(void);
void probe_process(void);
