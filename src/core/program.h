/* The program of a run: code, arguments and environment, checked, as a sealed bundle (wire/bundle.h). */
#pragma once

#include <stdbool.h>

struct error;
struct run_request;

/* Checks the bundle that came with the request, or makes one. */
bool program_bundle(const struct run_request *request, int *ret_fd, struct error *err);
