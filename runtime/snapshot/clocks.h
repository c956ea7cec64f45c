/* Clocks by their names. */
#ifndef PRLX_CLOCKS_H
#define PRLX_CLOCKS_H

#include "prlx_snapshot.h"

typedef struct {
  char name[64]; /* as files have it */
  prlx_snapshot_clock read;
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

/* What the system says of its own clock. */
typedef struct {
  int64_t sys_ns, max_error_ns, estimated_error_ns, drift_ppb;
  int synchronized;
} prlx_discipline;

/* 0, or -1 where the system does not say it. */
int prlx_discipline_read(prlx_discipline *d);

#endif
