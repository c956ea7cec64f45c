#define _GNU_SOURCE
#include "discipline.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#ifdef __linux__
#include <sys/timex.h>
#endif

#include "ask.h"
#include "clocks.h"

int prlx_discipline_kernel(prlx_discipline *d) {
#ifdef __linux__
  struct timex t;
  memset(&t, 0, sizeof t);
  int state = adjtimex(&t);
  if (state < 0) return -1;
  memset(d, 0, sizeof *d);
  d->sys_ns = prlx_kernel_ns(CLOCK_REALTIME);
  d->synchronized = state != TIME_ERROR && !(t.status & STA_UNSYNC);
  d->max_error_ns = (int64_t)t.maxerror * 1000;
  d->estimated_error_ns = (int64_t)t.esterror * 1000;
  d->drift_ppb = (int64_t)t.freq * 1000 / 65536;
  d->growth_ppb = 500000; /* by which the kernel lets its maximum grow */
  d->source = "adjtimex";
  strcpy(d->reference, "UTC");
  return 0;
#else
  (void)d;
  return -1;
#endif
}

enum { asked_in_vain = 3 }; /* a daemon that is silent so often in a row is not asked again */

static int ask(int (*read)(prlx_discipline *), int *silent, prlx_discipline *d) {
  if (*silent >= asked_in_vain) return 0;
  memset(d, 0, sizeof *d);
  int result = read(d);
  *silent = result == prlx_silent ? *silent + 1 : 0;
  d->sys_ns = prlx_kernel_ns(CLOCK_REALTIME);
  return result == 0;
}

int prlx_discipline_daemons(prlx_daemons *state, prlx_discipline out[prlx_disciplines]) {
  int n = 0, never = 0;
  n += ask(prlx_chrony_read, &state->chrony_silent, &out[n]);
  n += ask(prlx_ptp4l_read, &state->ptp_silent, &out[n]);
  n += ask(prlx_hypervisor_read, &never, &out[n]);
  return n;
}

int64_t prlx_ask_until(int ms) { return prlx_kernel_ns(CLOCK_MONOTONIC) + ms * INT64_C(1000000); }

ssize_t prlx_ask_next(int fd, unsigned char *b, size_t room, int64_t until) {
  for (;;) {
    int64_t left = until - prlx_kernel_ns(CLOCK_MONOTONIC);
    if (left <= 0) return -2;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n = poll(&p, 1, (int)(left / 1000000) + 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? -1 : -2;
    ssize_t got = recv(fd, b, room, MSG_DONTWAIT);
    if (got >= 0) return got;
    if (errno != EAGAIN && errno != EINTR) return -1;
  }
}
