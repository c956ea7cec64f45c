/* Programs for the tests of the C library: record.c WHAT FILE [ARGUMENTS]. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "prlx_snapshot.h"

/* A machine whose time is ours, in virtual time: it passes when the sampler waits, and by cost at each reading. */
static int64_t now, cost = 20, stop, overshoot;

static int system_clock_of(void *user, int64_t *ns) {
  (void)user;
  *ns = INT64_C(1760000000000000000) + (now += cost);
  return 0;
}
static int timer_of(void *user, int64_t *ns) {
  (void)user;
  *ns = now;
  return 0;
}
static int tracer_of(void *user, int64_t *ns) {
  (void)user;
  *ns = INT64_C(3000000000) + (now += cost);
  return 0;
}
static volatile int over;
static int wait_of(void *user, int64_t until) {
  (void)user;
  if (until > stop) {
    if (now < stop) now = stop;
    over = 1;
    return 1;
  }
  now = until + overshoot;
  return 0;
}

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

static void say(prlx_snapshot *s) {
  prlx_snapshot_counters c;
  prlx_snapshot_count(s, &c);
  printf("%zu %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", prlx_snapshot_pairs(s, NULL, 0), c.taken, c.missed, c.dropped, c.wide,
         c.failed, c.unstored);
}

/* virtual FILE PERIOD_MS SECONDS DURATION_S COST_NS OVERSHOOT_NS */
static int in_virtual_time(char **argv, char *error, size_t room) {
  prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
  o.path = argv[2];
  o.period_ns = atoll(argv[3]) * 1000000;
  stop = atoll(argv[4]) * 1000000000;
  o.duration_ns = atoll(argv[5]) * 1000000000;
  cost = atoll(argv[6]);
  overshoot = atoll(argv[7]);
  o.tracer = "a test's clock";
  o.tracer_clock = tracer_of;
  o.system_clock = system_clock_of;
  o.timer_clock = timer_of;
  o.wait = wait_of;
  o.host = "a \"host\"";
  o.rank = 3;
  prlx_snapshot *s = prlx_snapshot_start(&o, error, room);
  if (!s) return fail(error);
  while (!over) usleep(1000);
  prlx_snapshot_stop(s);
  say(s);
  prlx_snapshot_free(s);
  return 0;
}

/* clock FILE NAME: five pairs of a clock of the machine, or of a library. */
static int of_clock(char **argv, char *error, size_t room) {
  prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
  o.path = argv[2];
  o.tracer = argv[3];
  o.period_ns = INT64_C(3600000000000);
  prlx_snapshot *s = prlx_snapshot_start(&o, error, room);
  if (!s) return fail(error);
  for (int i = 0; i < 3; i++) prlx_snapshot_now(s);
  prlx_snapshot_stop(s);
  prlx_snapshot_stop(s); /* does nothing */
  say(s);
  prlx_snapshot_free(s);
  return 0;
}

/* kill FILE: records every 10 ms until somebody kills it. */
static int until_killed(char **argv, char *error, size_t room) {
  prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
  o.path = argv[2];
  o.period_ns = 10000000;
  if (!prlx_snapshot_start(&o, error, room)) return fail(error);
  for (;;) pause();
}

/* fork FILE: a child that frees the sampler of its parent, which goes on. */
static int with_a_child(char **argv, char *error, size_t room) {
  prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
  o.path = argv[2];
  prlx_snapshot *s = prlx_snapshot_start(&o, error, room);
  if (!s) return fail(error);
  pid_t child = fork();
  if (child == 0) {
    prlx_snapshot_counters c;
    prlx_snapshot_count(s, &c);
    prlx_snapshot_stop(s);
    prlx_snapshot_free(s);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  prlx_snapshot_now(s);
  prlx_snapshot_stop(s);
  printf("child %d\n", WEXITSTATUS(status));
  say(s);
  return 0;
}

/* period ARGUMENT_NS OPTION */
static int period(char **argv, char *error, size_t room) {
  int64_t ns = prlx_snapshot_period(atoll(argv[2]), argv[3], error, room);
  if (!ns) return fail(error);
  printf("%" PRId64 "\n", ns);
  return 0;
}

int main(int argc, char **argv) {
  char error[256] = "";
  if (argc == 8 && !strcmp(argv[1], "virtual")) return in_virtual_time(argv, error, sizeof error);
  if (argc == 4 && !strcmp(argv[1], "clock")) return of_clock(argv, error, sizeof error);
  if (argc == 3 && !strcmp(argv[1], "kill")) return until_killed(argv, error, sizeof error);
  if (argc == 3 && !strcmp(argv[1], "fork")) return with_a_child(argv, error, sizeof error);
  if (argc == 4 && !strcmp(argv[1], "period")) return period(argv, error, sizeof error);
  return fail("usage: record virtual|clock|kill|fork|period FILE ...");
}
