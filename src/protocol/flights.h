/* The calls of one connection: some running, the others waiting in order, each found by its id. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct call_config;
struct flights;

struct flights_config {
	size_t running_max;
	/* The answer of the call with this id, taken; in the era that was given with it. */
	void (*answer)(json_t *id, unsigned era, json_t *result, void *data);
	void (*progress)(json_t *params, void *data); /* taken */
	void (*ended)(void *data);                    /* one call less; after `answer` */
	void *data;
};

struct flights *flights_new(const struct flights_config *config);
void flights_free(struct flights *flights); /* cancels; nobody hears of it */

/* Starts the call or lets it wait. `call` has everything but its callbacks; bytes is what it holds. */
void flights_add(struct flights *flights, json_t *id, unsigned era, size_t bytes,
		 const struct call_config *call);

bool flights_has(const struct flights *flights, const json_t *id);

/* No answer will come. An id that is not there is ignored: its answer has crossed the cancellation. */
void flights_cancel(struct flights *flights, const json_t *id);
void flights_cancel_all(struct flights *flights);

void flights_hold(struct flights *flights, bool on);

size_t flights_count(const struct flights *flights); /* that will be answered */
size_t flights_waiting(const struct flights *flights);
size_t flights_waiting_bytes(const struct flights *flights);
