#include "protocol/flights.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "protocol/call.h"
#include "protocol/call_owner.h"

struct flight {
	struct flight *next;
	struct flights *all;
	struct call *call;
	json_t *id;
	unsigned era;
	size_t bytes;
	bool cancelled; /* of one that runs: its end is nobody's business */
};

struct flights {
	struct flights_config config;
	struct flight *running, *waiting;
	size_t n_running, n_waiting, waiting_bytes, n_cancelled;
	bool held;
	bool starting;
};

struct flights *flights_new(const struct flights_config *config)
{
	struct flights *flights = xcalloc(1, sizeof(*flights));

	flights->config = *config;
	return flights;
}

static void append(struct flight **list, struct flight *flight)
{
	while (*list)
		list = &(*list)->next;
	flight->next = NULL;
	*list = flight;
}

static void take_out(struct flight **list, const struct flight *flight)
{
	while (*list && *list != flight)
		list = &(*list)->next;
	if (*list)
		*list = flight->next;
}

static void flight_free(struct flight *flight)
{
	json_decref(flight->id);
	free(flight);
}

/* The first that waits, which then waits no more; NULL when there is none. */
static struct flight *next_waiting(struct flights *flights)
{
	struct flight *flight = flights->waiting;

	if (flight) {
		flights->waiting = flight->next;
		flights->n_waiting--;
		flights->waiting_bytes -= flight->bytes;
	}
	return flight;
}

static void discard_waiting(struct flights *flights)
{
	struct flight *flight;

	while ((flight = next_waiting(flights))) {
		call_free(flight->call);
		flight_free(flight);
	}
}

void flights_free(struct flights *flights)
{
	struct flight *flight;

	if (!flights)
		return;
	discard_waiting(flights);
	while ((flight = flights->running)) {
		struct call *call = flight->call;

		flights->running = flight->next;
		flight_free(flight);
		call_orphan(call);
	}
	free(flights);
}

/* A call can end inside its own start; then the loop here goes on, not a deeper one. */
static void start_waiting(struct flights *flights)
{
	struct flight *flight;

	if (flights->starting)
		return;
	flights->starting = true;
	while (flights->n_running < flights->config.running_max && !flights->held &&
	       (flight = next_waiting(flights))) {
		append(&flights->running, flight);
		flights->n_running++;
		call_start(flight->call);
	}
	flights->starting = false;
}

static void on_done(json_t *result, void *data)
{
	struct flight *flight = data;
	struct flights *flights = flight->all;

	take_out(&flights->running, flight);
	flights->n_running--;
	flights->n_cancelled -= flight->cancelled;
	/* A result that is there after a cancellation has crossed it. */
	if (result && !flight->cancelled)
		flights->config.answer(flight->id, flight->era, result, flights->config.data);
	else
		json_decref(result);
	flight_free(flight);
	start_waiting(flights);
	flights->config.ended(flights->config.data);
}

static void on_progress(json_t *params, void *data)
{
	const struct flight *flight = data;

	flight->all->config.progress(params, flight->all->config.data);
}

void flights_add(struct flights *flights, json_t *id, unsigned era, size_t bytes,
		 const struct call_config *call)
{
	struct flight *flight = xcalloc(1, sizeof(*flight));
	struct call_config config = *call;

	config.progress = on_progress;
	config.done = on_done;
	config.data = flight;
	flight->all = flights;
	flight->id = json_incref(id);
	flight->era = era;
	flight->bytes = bytes;
	flight->call = call_new(&config);
	append(&flights->waiting, flight);
	flights->n_waiting++;
	flights->waiting_bytes += bytes;
	start_waiting(flights);
}

static struct flight *find(struct flight *list, const json_t *id)
{
	while (list && (list->cancelled || !json_equal(list->id, id)))
		list = list->next;
	return list;
}

bool flights_has(const struct flights *flights, const json_t *id)
{
	return find(flights->running, id) || find(flights->waiting, id);
}

static void cancel_running(struct flights *flights, struct flight *flight)
{
	flight->cancelled = true;
	flights->n_cancelled++;
	call_cancel(flight->call);
}

void flights_cancel(struct flights *flights, const json_t *id)
{
	struct flight *flight = find(flights->running, id);

	if (flight) {
		cancel_running(flights, flight);
		return;
	}
	flight = find(flights->waiting, id);
	if (!flight)
		return;
	take_out(&flights->waiting, flight);
	flights->n_waiting--;
	flights->waiting_bytes -= flight->bytes;
	call_free(flight->call);
	flight_free(flight);
	flights->config.ended(flights->config.data);
}

/* Those that wait first, or they would be started in the place of those that end. */
void flights_cancel_all(struct flights *flights)
{
	struct flight *next;

	discard_waiting(flights);
	for (struct flight *flight = flights->running; flight; flight = next) {
		next = flight->next; /* a call may end inside its cancellation */
		if (!flight->cancelled)
			cancel_running(flights, flight);
	}
	flights->config.ended(flights->config.data);
}

void flights_hold(struct flights *flights, bool on)
{
	if (flights->held == on)
		return;
	flights->held = on;
	for (struct flight *flight = flights->running; flight; flight = flight->next)
		if (!flight->cancelled)
			call_hold(flight->call, on);
	start_waiting(flights);
}

size_t flights_count(const struct flights *flights)
{
	return flights->n_running + flights->n_waiting - flights->n_cancelled;
}

size_t flights_waiting(const struct flights *flights)
{
	return flights->n_waiting;
}

size_t flights_waiting_bytes(const struct flights *flights)
{
	return flights->waiting_bytes;
}
