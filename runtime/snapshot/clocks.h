/* Clocks by their names. */
#ifndef PRLX_CLOCKS_H
#define PRLX_CLOCKS_H

#include "prlx_snapshot.h"

typedef struct {
  char name[64]; /* as files have it */
  prlx_snapshot_clock read;
  /* Reads both clocks together, the narrowest of several brackets; NULL where this clock has no such call. Not for another system clock
   * than the machine's. */
  int (*pair)(void *user, int tries, prlx_snapshot_pair *best);
  void *user;
  int64_t id;               /* of a clock of the kernel */
  int64_t ticks_per_second; /* of a counter; 0: it counts ns */
  int fd;                   /* of a clock that is a device, else -1 */
} prlx_clock;

/* Opens a clock. 0, or -1 and a sentence in error. The clock must stay where it is until it is closed. */
int prlx_clock_open(prlx_clock *c, const char *name, char *error, size_t room);
void prlx_clock_close(prlx_clock *c);

/* Clocks of the kernel, in ns; -1 where it cannot be read. */
int64_t prlx_kernel_ns(int64_t id);

/* v ticks of a counter in ns. */
int64_t prlx_scaled(uint64_t v, int64_t ticks_per_second);

#endif
