/* NCCL, as far as a profiler plug-in can tell: libraries are opened and symbols resolved as releases do, calls come from real threads, and
 * what was passed is written down as the truth. */
#ifndef PRLX_HARNESS_H
#define PRLX_HARNESS_H

#include <pthread.h>
#include <stdint.h>

#include "event.h"

typedef void (*logger)(int level, unsigned long subsystem, const char *file, int line, const char *format, ...);

struct table { const char *name; void *init, *start, *stop, *state, *finalize; };

struct plugin {
  void *library;
  const struct table *tables[8]; /* by version; NULL where there is none or the release does not look for it */
  int newest;                    /* what a release would use */
  int rccl;
};

/* A thread of NCCL's and its truth. */
struct seat {
  struct plugin *plugin;
  FILE *truth; /* NULL: nothing is written down */
  uint64_t random, calls;
  int number, no_log; /* no_log: communicators get no logger */
};

struct handle { uint64_t id; int code; }; /* code: 18 and 19 of IB and socket events, else 0 */

/* Opens a library as NCCL of a release (223 is 2.23) does; 0 opens all versions. */
int plugin_open(struct plugin *p, const char *path, int release);

void seat_open(struct seat *s, struct plugin *p, const char *truth, int number, uint64_t seed);
void seat_close(struct seat *s);
/* Says in the truth that the calling thread goes on in this seat. */
void seat_thread(struct seat *s);
uint64_t seat_random(struct seat *s);
uint64_t seat_below(struct seat *s, uint64_t n);

/* Calls. Each writes a line once the plug-in has returned. A release does not start events that its version does not have; `send` does. */
uint64_t call_init(struct seat *s, int version, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank);
void call_finalize(struct seat *s, int version, uint64_t context);
struct handle call_send(struct seat *s, int version, const struct event *e);
struct handle call_start(struct seat *s, int version, const struct event *e);
void call_stop(struct seat *s, int version, struct handle h);
void call_state(struct seat *s, int version, struct handle h, uint32_t state, const void *args);

void play_random(struct seat *s, uint64_t events);
void play_sequences(struct plugin *p, const char *truth, int storm);
void play_all_reduces(struct plugin *p, const char *truth, int n, int channels);

extern int nccl_mask;
void test_log(int level, unsigned long subsystem, const char *file, int line, const char *format, ...);
#endif
