/* What scenes share: the communicators and handles that they hand on to each other, and the threads that play them. */
#ifndef PRLX_STAGE_H
#define PRLX_STAGE_H

#include "harness.h"

enum { User, Progress, Kernel, Host, Socket, seats };

struct stage {
  struct plugin *plugin;
  const char *truth;
  int v, storm, channels;
  uint64_t context[10];
  struct seat seats[seats];
  struct handle group_api, coll_api, group, coll, launch, op[2][64];
  uint64_t seq;
};

/* Plays one scene or two at once, each on a new thread in the seat that it names, and waits for them. */
void together(struct stage *st, void (*a)(struct stage *, struct seat *), int seat_a, void (*b)(struct stage *, struct seat *), int seat_b);

struct event coll_event(struct stage *st, const char *func);
struct handle simple(struct stage *st, struct seat *s, uint64_t type, uint64_t parent);
void stop(struct stage *st, struct seat *s, struct handle h);
void kernels(struct stage *st, struct seat *s);
void one_step(struct stage *st, struct seat *s, int channel, int send, int number);

/* rare.c: what happens less often, or should not. */
void play_rare(struct stage *st);
void after_finalize(struct stage *st, struct seat *s);

#endif
