/* What callbacks cost and bear. */
#ifndef PRLX_MEASURE_H
#define PRLX_MEASURE_H

#include <time.h>

#include "harness.h"

typedef int (*start_fn)(void *, void **, void *);
typedef int (*stop_fn)(void *);
typedef int (*state_fn)(void *, uint32_t, const void *);

/* An open proxy operation, whose steps are played. */
struct ladder { uint64_t context; struct handle op; int v; uint64_t parent; };

extern struct plugin plugin;

int64_t now_ns(clockid_t clock);
long resident_kib(void);
struct ladder open_operation(struct seat *s);
uint64_t climb(const struct ladder *l, uint64_t events);

int mode_steps(char **args);
int mode_tail(char **args);
int mode_flood(char **args);
int mode_paced(char **args);
int mode_overload(char **args);

#endif
