/* What keeps the system clock, and how well, as the kernel and the daemons of this host say. */
#ifndef PRLX_DISCIPLINE_H
#define PRLX_DISCIPLINE_H

#include <stdint.h>

/* What one of them says. It is a claim: nothing here was measured by prlx but the distance of the system clock from a PTP hardware clock. */
typedef struct {
  int64_t sys_ns;             /* when, on the system clock */
  int64_t max_error_ns;       /* how far the system clock can be from the reference; 0: not stated */
  int64_t estimated_error_ns; /* how far it probably is */
  int64_t drift_ppb;          /* the correction of its rate that is applied */
  int64_t growth_ppb;         /* by how much the error grows until the next statement; 0: not stated */
  int synchronized;
  const char *source; /* "adjtimex", "chrony", "ptp4l", "PTP-KVM" */
  char reference[48]; /* "UTC"; "PTP <grandmaster>"; "hypervisor" */
} prlx_discipline;

/* How many there can be at once. */
enum { prlx_disciplines = 4 };

/* Daemons that do not answer are not asked for ever. Set to 0 before the first call. */
typedef struct {
  int chrony_silent, ptp_silent;
} prlx_daemons;

/* Asks the kernel alone. 0, or -1 where the system does not say it. */
int prlx_discipline_kernel(prlx_discipline *d);

/* Asks chronyd, ptp4l and the hypervisor, where there are some: at most a tenth of a second. Returns how many have stated something. */
int prlx_discipline_daemons(prlx_daemons *state, prlx_discipline out[prlx_disciplines]);

#endif
