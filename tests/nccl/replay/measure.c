#define _GNU_SOURCE
#include "measure.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Means. */

static void rest(void) {
  struct timespec t = {0, 5000000};
  nanosleep(&t, NULL);
}

/* Calls come in bursts with rests in between, in which a recorder can make room: the cost of recording, not that of losing. */
static double per_call(const struct ladder *l, uint64_t events) {
  const uint64_t burst = 100000;
  uint64_t calls = 0;
  int64_t spent = 0;
  for (uint64_t left = events; left > 0; left -= left < burst ? left : burst) {
    int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);
    calls += climb(l, left < burst ? left : burst);
    spent += now_ns(CLOCK_THREAD_CPUTIME_ID) - from;
    rest();
  }
  return (double)spent / (double)calls;
}

static double clock_cost(void) {
  int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);
  struct timespec t;
  for (int k = 0; k < 1000000; k++) clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - from) / 1e6;
}

static double counter_cost(void) {
#if defined(__x86_64__)
  int64_t from = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int k = 0; k < 1000000; k++) __asm__ volatile("rdtsc" : : : "eax", "edx");
  return (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - from) / 1e6;
#else
  return 0;
#endif
}

/* A plug-in that does nothing: what the loop itself costs, with its calls. */
static int idle_start(void *context, void **handle, void *d) { (void)context; (void)d; *handle = NULL; return 0; }
static int idle_stop(void *handle) { (void)handle; return 0; }
static int idle_state(void *handle, uint32_t state, const void *args) { (void)handle; (void)state; (void)args; return 0; }
static const struct table idle = {"idle", NULL, (void *)idle_start, (void *)idle_stop, (void *)idle_state, NULL};

/* With REPLAY_IDLE the calls of many threads go to nobody: what the machine itself offers. */
static struct ladder open_or_idle(struct seat *s) {
  struct ladder l = open_operation(s);
  if (getenv("REPLAY_IDLE")) plugin.tables[l.v] = &idle;
  return l;
}

static double loop_cost(const struct ladder *l, uint64_t events) {
  const struct table *own = plugin.tables[l->v];
  plugin.tables[l->v] = &idle;
  double cost = per_call(l, events);
  plugin.tables[l->v] = own;
  return cost;
}

int mode_steps(char **args) {
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct ladder l = open_operation(&s);
  uint64_t events = strtoull(args[0], NULL, 10);
  rest();
  climb(&l, 100000);
  rest();
  printf("ns a callback %.2f, clock_gettime %.2f, counter %.2f, loop %.2f", per_call(&l, events), clock_cost(), counter_cost(), loop_cost(&l, events));
  int (*set_mask)(int, uint64_t) = (int (*)(int, uint64_t))dlsym(plugin.library, "prlx_nccl_set_mask");
  if (set_mask) {
    set_mask(0, UINT64_MAX & ~UINT64_C(16));
    printf(", masked %.2f", per_call(&l, events));
  }
  printf("\n");
  return 0;
}

/* Tails: how long single callbacks take, beside a control on the same thread that takes as long: what a busy machine does is in both. */

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void say_tail(const char *what, int64_t *took, size_t n) {
  qsort(took, n, sizeof *took, by_value);
  printf("%s p50 %" PRId64 " p99 %" PRId64 " p99.99 %" PRId64 " max %" PRId64 " ns\n", what, took[n / 2], took[n - n / 100 - 1], took[n - n / 10000 - 1], took[n - 1]);
}

static void read_counter(void) {
#if defined(__x86_64__)
  __asm__ volatile("rdtsc" : : : "eax", "edx");
#elif defined(__aarch64__)
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
#endif
}

/* One start, timed, and beside it what takes as long and touches nothing: a call that does nothing, and a reading of the counter. */
static void time_one(const struct ladder *l, struct event_bytes *d, int64_t *with, int64_t *without) {
  void *h = NULL;
  int64_t a = now_ns(CLOCK_MONOTONIC);
  ((start_fn)plugin.tables[l->v]->start)((void *)(uintptr_t)l->context, &h, d);
  int64_t b = now_ns(CLOCK_MONOTONIC);
  h = NULL;
  ((start_fn)idle.start)((void *)(uintptr_t)l->context, &h, d);
  read_counter();
  int64_t c = now_ns(CLOCK_MONOTONIC);
  *with = b - a;
  *without = c - b;
}

static void step_of(const struct ladder *l, struct event_bytes *d) {
  struct event e = {.type = ProxyStep, .context = l->context, .parent = l->op.id};
  event_encode(d, &e, l->v);
}

int mode_tail(char **args) {
  size_t n = strtoull(args[0], NULL, 10);
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct ladder l = open_operation(&s);
  struct event_bytes d;
  step_of(&l, &d);
  int64_t *with = calloc(n, sizeof *with), *without = calloc(n, sizeof *without);
  memset(with, 1, n * sizeof *with);
  memset(without, 1, n * sizeof *without);
  struct rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  for (size_t k = 0; k < n; k++) time_one(&l, &d, &with[k], &without[k]);
  getrusage(RUSAGE_THREAD, &after);
  say_tail("callback", with, n);
  say_tail("control", without, n);
  printf("switches involuntary %ld voluntary %ld, page faults %ld\n", after.ru_nivcsw - before.ru_nivcsw, after.ru_nvcsw - before.ru_nvcsw, after.ru_minflt - before.ru_minflt);
  free(with);
  free(without);
  return 0;
}

/* Many threads. */

struct runner {
  struct ladder ladder;
  uint64_t events, calls; /* asked for; made */
  double rate, seconds;   /* calls a second; 0: as fast as they go */
  int64_t behind_ns, processor_ns; /* of the schedule, at the end; of this thread */
  uint64_t slow[2], preempted[2]; /* of callbacks and of the control: longer than 10 us, and of those with a switch in between */
  long voluntary;
  pthread_t thread;
};

/* Processor time of all threads. */
static double processor_s(void) {
  struct rusage all;
  getrusage(RUSAGE_SELF, &all);
  return (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) + (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) / 1e6;
}

static uint64_t run_all(int threads, const struct runner *model, void *(*run)(void *), struct runner *all) {
  uint64_t calls = 0;
  for (int k = 0; k < threads; k++) {
    all[k] = *model;
    if (pthread_create(&all[k].thread, NULL, run, &all[k]) != 0) abort();
  }
  for (int k = 0; k < threads; k++) {
    pthread_join(all[k].thread, NULL);
    calls += all[k].calls;
  }
  return calls;
}

static void *flood(void *arg) {
  struct runner *r = arg;
  r->calls = climb(&r->ladder, r->events);
  return NULL;
}

int mode_flood(char **args) {
  int threads = atoi(args[0]);
  struct seat s;
  long before = resident_kib();
  seat_open(&s, &plugin, NULL, 0, 1);
  struct runner model = {.ladder = open_operation(&s), .events = strtoull(args[1], NULL, 10)};
  struct runner *all = calloc((size_t)threads, sizeof *all);
  uint64_t calls = run_all(threads, &model, flood, all);
  printf("%" PRIu64 " %ld\n", s.calls + calls, resident_kib() - before);
  free(all);
  return 0;
}

/* Bursts of a step's five calls, spread evenly: NCCL's threads poll and have work in bursts as well. Who is late goes on at once. */
static void *pace(void *arg) {
  struct runner *r = arg;
  const uint64_t burst = 200;
  int64_t began = now_ns(CLOCK_MONOTONIC), end = began + (int64_t)(r->seconds * 1e9);
  for (uint64_t wanted = 0;; wanted += burst) {
    int64_t due = began + (int64_t)((double)wanted / r->rate * 1e9), now = now_ns(CLOCK_MONOTONIC);
    if (due >= end || now >= end + (int64_t)5e9) {
      r->behind_ns = now - due;
      r->processor_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
      return NULL;
    }
    if (now < due) {
      struct timespec t = {0, due - now};
      nanosleep(&t, NULL);
    }
    r->calls += climb(&r->ladder, burst);
  }
}

int mode_paced(char **args) {
  int threads = atoi(args[0]);
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct runner model = {.ladder = open_or_idle(&s), .rate = strtod(args[1], NULL), .seconds = strtod(args[2], NULL)};
  struct runner *all = calloc((size_t)threads, sizeof *all);
  int64_t from = now_ns(CLOCK_MONOTONIC), behind = 0, own = now_ns(CLOCK_THREAD_CPUTIME_ID);
  double before = processor_s(), spent = 0;
  uint64_t calls = run_all(threads, &model, pace, all);
  double seconds = (double)(now_ns(CLOCK_MONOTONIC) - from) / 1e9;
  for (int k = 0; k < threads; k++) {
    behind = all[k].behind_ns > behind ? all[k].behind_ns : behind;
    spent += (double)all[k].processor_ns / 1e9;
  }
  double others = processor_s() - before - spent - (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - own) / 1e9;
  printf("%" PRIu64 " calls in %.2f s, %.2f million a second; asked for %.2f; %.3f s behind at the end; processor %.2f s of threads, %.2f s of the recorder's own\n", s.calls + calls, seconds, (double)calls / seconds / 1e6, threads * model.rate / 1e6, (double)behind / 1e9, spent, others);
  free(all);
  return 0;
}

static void *overload(void *arg) {
  struct runner *r = arg;
  struct event_bytes d;
  struct rusage before, last, now;
  step_of(&r->ladder, &d);
  climb(&r->ladder, 5); /* the first segment of a thread */
  r->calls = 5;
  getrusage(RUSAGE_THREAD, &before);
  last = before;
  for (; r->calls < r->events; r->calls++) {
    int64_t took[2];
    time_one(&r->ladder, &d, &took[0], &took[1]);
    for (int k = 0; k < 2; k++) {
      if (took[k] <= 10000) continue;
      getrusage(RUSAGE_THREAD, &now);
      r->slow[k]++;
      r->preempted[k] += now.ru_nivcsw != last.ru_nivcsw;
      last = now;
    }
  }
  getrusage(RUSAGE_THREAD, &now);
  r->voluntary = now.ru_nvcsw - before.ru_nvcsw;
  return NULL;
}

int mode_overload(char **args) {
  int threads = atoi(args[0]);
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct runner model = {.ladder = open_operation(&s), .events = strtoull(args[1], NULL, 10)}, sum = {0};
  struct runner *all = calloc((size_t)threads, sizeof *all);
  int64_t from = now_ns(CLOCK_MONOTONIC);
  uint64_t calls = run_all(threads, &model, overload, all);
  double seconds = (double)(now_ns(CLOCK_MONOTONIC) - from) / 1e9;
  for (int k = 0; k < threads; k++) {
    sum.voluntary += all[k].voluntary;
    for (int i = 0; i < 2; i++) {
      sum.slow[i] += all[k].slow[i];
      sum.preempted[i] += all[k].preempted[i];
    }
  }
  printf("%" PRIu64 " calls, %.2f million a second; over 10 us: callbacks %" PRIu64 " (of these with a switch %" PRIu64 "), control %" PRIu64 " (%" PRIu64 "); voluntary switches %ld\n", s.calls + calls, (double)calls / seconds / 1e6, sum.slow[0], sum.preempted[0], sum.slow[1], sum.preempted[1], sum.voluntary);
  free(all);
  return 0;
}
