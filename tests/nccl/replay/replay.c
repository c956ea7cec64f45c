/* replay PLUGIN MODE ...: plays NCCL to a profiler plug-in.
 *
 *   sequences RELEASE TRUTH STORM       what NCCL of a release does (223 is 2.23)
 *   random TRUTH SEED EVENTS THREADS    legal and illegal events of all versions
 *   flood THREADS EVENTS                steps as fast as they go; prints how many calls there were, and the growth of memory in KiB
 *   paced THREADS RATE SECONDS          so many calls a second of each thread; prints how many there were and what was achieved; REPLAY_IDLE: without a plug-in
 *   overload THREADS EVENTS             a flood of which every start is timed beside a control; prints calls, and how many took long
 *   steps EVENTS                        the cost of a callback in ns, of the five of a step, in bursts; the clock's, a masked type's
 *   tail EVENTS                         percentiles of single callbacks, and of a control that takes as long, in turn
 *   pxn                                 an operation of another process, whose context and parent lead nowhere in this one
 *   pair TRUTH COLLECTIVES              two processes, of which one does the sends of the other (PXN); prints their numbers
 *   finalized                           proxy control with the context of a communicator that is gone
 *   channel63                           a proxy operation on the last channel
 *   allreduces TRUTH COUNT CHANNELS     collectives one after the other
 *   channels                            kernels on channels 0 to 63; prints how many handles were given
 *   churn THREADS                       threads that come, record an event and go; prints the growth of memory
 *   comms COUNT                         communicators that come and go
 *   fork TRUTH                          a child that goes on as if nothing had happened
 *   ends, reload, daemon, exec, limits, signals, user, memory, held, texts     what faults.c says
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "measure.h"

struct plugin plugin;

int64_t now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long resident_kib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Random. */

struct hand { const char *truth; uint64_t seed, events; int number; pthread_t thread; };

static void *play_hand(void *arg) {
  struct hand *h = arg;
  struct seat s;
  seat_open(&s, &plugin, h->truth, h->number, h->seed);
  play_random(&s, h->events);
  seat_close(&s);
  return NULL;
}

static int mode_random(char **args) {
  int threads = atoi(args[3]);
  struct hand *hands = calloc((size_t)threads, sizeof *hands);
  for (int k = 0; k < threads; k++) {
    hands[k] = (struct hand){args[0], strtoull(args[1], NULL, 10), strtoull(args[2], NULL, 10) / (uint64_t)threads, k, 0};
    if (pthread_create(&hands[k].thread, NULL, play_hand, &hands[k]) != 0) abort();
  }
  for (int k = 0; k < threads; k++) pthread_join(hands[k].thread, NULL);
  free(hands);
  return 0;
}

/* Steps. The operation that they belong to is opened as NCCL opens one, for plug-ins that follow parents. */

struct ladder open_operation(struct seat *s) {
  int v = plugin.newest;
  struct ladder l = {call_init(s, v, 77, &nccl_mask, "bench", 1, 2, 0), {0, 0}, v, 0};
  struct event api = {.type = GroupApi, .context = l.context, .depth = 1};
  struct handle group_api = call_start(s, v, &api);
  struct event coll_api = {.type = CollApi, .context = l.context, .parent = group_api.id, .func = "AllReduce", .datatype = "ncclFloat32", .count = 1};
  struct handle c = call_start(s, v, &coll_api);
  struct event group = {.type = Group, .context = l.context};
  struct handle g = call_start(s, v, &group);
  struct event coll = {.type = Coll, .context = l.context, .parent = v >= 5 ? c.id : g.id, .group = g.id, .func = "AllReduce", .datatype = "ncclFloat32", .algo = "RING", .proto = "SIMPLE", .name = "bench", .channels = 1};
  struct handle h = call_start(s, v, &coll);
  struct event op = {.type = ProxyOp, .context = l.context, .parent = h.id, .pid = (int32_t)getpid(), .peer = 1, .steps = 8, .chunk = 1024, .is_send = 1};
  l.op = call_start(s, v, &op);
  l.parent = h.id;
  return l;
}

uint64_t climb(const struct ladder *l, uint64_t events) {
  const struct table *t = plugin.tables[l->v];
  start_fn start = (start_fn)t->start;
  stop_fn stop = (stop_fn)t->stop;
  state_fn state = (state_fn)t->state;
  struct event e = {.type = ProxyStep, .context = l->context, .parent = l->op.id};
  struct event_bytes d;
  event_encode(&d, &e, l->v);
  uint64_t args[2] = {65536, 0}, calls = 0;
  for (uint64_t k = 0; k < events; k += 5) {
    void *h = NULL;
    int32_t step = (int32_t)(k & 7);
    memcpy(d.at + 24, &step, 4);
    start((void *)(uintptr_t)l->context, &h, &d);
    state(h, 8, args);
    state(h, 20, args);
    state(h, 9, args);
    stop(h);
    calls += 5;
  }
  return calls;
}

uint64_t climb_steps(struct plugin *p, uint64_t context, uint64_t events) {
  plugin = *p;
  struct ladder l = {context, {context, 0}, p->newest, 0};
  return climb(&l, events);
}

/* What the example plug-in is known to fail at. */

static int mode_pxn(char **args) {
  (void)args;
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct ladder l = open_operation(&s);
  struct event op = {.type = ProxyOp, .context = 0x1234000000005678, .parent = 0x1234000000009998, .rank = 9, .pid = (int32_t)getpid() + 1, .channel = 3, .peer = 1, .steps = 8, .is_send = 1};
  struct handle h = call_start(&s, l.v, &op);
  struct event step = {.type = ProxyStep, .context = 0x1234000000005678, .parent = h.id, .rank = 9};
  struct handle st = call_start(&s, l.v, &step);
  if (st.id) call_stop(&s, l.v, st);
  if (h.id) call_stop(&s, l.v, h);
  printf("%" PRIu64 "\n", s.calls);
  return 0;
}

/* A proxy thread of shared resources goes on with the context of a communicator that is gone. */
static int mode_finalized(char **args) {
  (void)args;
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  uint64_t context = call_init(&s, plugin.newest, 77, &nccl_mask, "gone", 1, 2, 0);
  call_finalize(&s, plugin.newest, context);
  struct event e = {.type = ProxyCtrl, .context = context};
  struct handle h = call_start(&s, plugin.newest, &e);
  if (h.id) call_state(&s, plugin.newest, h, 13, NULL);
  if (h.id) call_stop(&s, plugin.newest, h);
  printf("%" PRIu64 "\n", s.calls);
  return 0;
}

/* NCCL has 64 channels. */
static int mode_channel63(char **args) {
  (void)args;
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct ladder l = open_operation(&s);
  struct event op = {.type = ProxyOp, .context = l.context, .parent = l.parent, .pid = (int32_t)getpid(), .channel = 63, .peer = 1, .steps = 8, .is_send = 1};
  call_stop(&s, l.v, call_start(&s, l.v, &op));
  printf("%" PRIu64 "\n", s.calls);
  return 0;
}

static int mode_allreduces(char **args) {
  play_all_reduces(&plugin, args[0], atoi(args[1]), atoi(args[2]));
  return 0;
}

static int mode_channels(char **args) {
  (void)args;
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  struct ladder l = open_operation(&s);
  int given = 0;
  for (int c = 0; c < 64; c++) {
    struct event e = {.type = KernelCh, .context = l.context, .parent = l.op.id, .channel = (uint8_t)c, .gpu_ns = 1};
    struct handle h = call_start(&s, l.v, &e);
    given += h.id != 0;
    call_stop(&s, l.v, h);
  }
  printf("%d\n", given);
  return 0;
}

static struct ladder flooded;

static void *one_event(void *arg) {
  struct seat *s = arg;
  struct event e = {.type = Group, .context = flooded.context};
  call_stop(s, plugin.newest, call_start(s, plugin.newest, &e));
  return NULL;
}

static int mode_churn(char **args) {
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  long before = resident_kib();
  flooded = open_operation(&s);
  for (int k = atoi(args[0]); k > 0; k--) {
    pthread_t t;
    if (pthread_create(&t, NULL, one_event, &s) != 0) abort();
    pthread_join(t, NULL);
  }
  printf("%" PRIu64 " %ld\n", s.calls, resident_kib() - before);
  return 0;
}

static int mode_comms(char **args) {
  struct seat s;
  seat_open(&s, &plugin, NULL, 0, 1);
  long before = resident_kib();
  for (int k = atoi(args[0]); k > 0; k--) {
    uint64_t c = call_init(&s, plugin.newest, (uint64_t)k, &nccl_mask, "name", 1, 2, 0);
    struct event e = {.type = Group, .context = c};
    call_stop(&s, plugin.newest, call_start(&s, plugin.newest, &e));
    call_finalize(&s, plugin.newest, c);
  }
  printf("%" PRIu64 " %ld\n", s.calls, resident_kib() - before);
  return 0;
}

/* Fork: the child plays on with handles of its parent, ends in either way, and leaves no trace. */
static int mode_fork(char **args) {
  struct seat s;
  seat_open(&s, &plugin, args[0], 0, 1);
  uint64_t c = call_init(&s, plugin.newest, 1, &nccl_mask, "parent", 1, 2, 0);
  struct event e = {.type = Group, .context = c};
  struct handle h = call_start(&s, plugin.newest, &e);
  for (int how = 0; how < 2; how++) {
    fflush(s.truth);
    pid_t child = fork();
    if (child == 0) {
      struct seat own;
      seat_open(&own, &plugin, NULL, 1, 1);
      uint64_t other = call_init(&own, plugin.newest, 2, &nccl_mask, "child", 1, 2, 0);
      for (int k = 0; k < 100000; k++) call_stop(&own, plugin.newest, call_start(&own, plugin.newest, &e));
      call_stop(&own, plugin.newest, h);
      call_finalize(&own, plugin.newest, other);
      if (how) _exit(0);
      fclose(s.truth);
      exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
    call_stop(&s, plugin.newest, call_start(&s, plugin.newest, &e));
  }
  call_stop(&s, plugin.newest, h);
  seat_close(&s);
  return 0;
}

int main(int argc, char **argv) {
  static const struct { const char *name; int args; int (*play)(char **); } modes[] = {
      {"random", 4, mode_random}, {"steps", 1, mode_steps}, {"tail", 1, mode_tail}, {"paced", 3, mode_paced}, {"overload", 2, mode_overload}, {"pxn", 0, mode_pxn}, {"finalized", 0, mode_finalized}, {"channel63", 0, mode_channel63}, {"allreduces", 3, mode_allreduces}, {"channels", 0, mode_channels}, {"flood", 2, mode_flood}, {"churn", 1, mode_churn}, {"comms", 1, mode_comms}, {"fork", 1, mode_fork},
  };
  static const struct { const char *name; int args; int (*play)(struct plugin *, char **); } faults[] = {
      {"ends", 2, mode_ends}, {"reload", 1, mode_reload}, {"daemon", 2, mode_daemon}, {"exec", 1, mode_exec}, {"limits", 2, mode_limits}, {"signals", 2, mode_signals}, {"user", 2, mode_user}, {"memory", 2, mode_memory}, {"held", 1, mode_held}, {"pair", 2, mode_pair}, {"texts", 1, mode_texts},
  };
  if (argc == 6 && strcmp(argv[2], "sequences") == 0) {
    if (plugin_open(&plugin, argv[1], atoi(argv[3])) != 0) return 1;
    play_sequences(&plugin, argv[4], atoi(argv[5]));
    return 0;
  }
  for (size_t i = 0; argc > 2 && i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(argv[2], modes[i].name) != 0 || argc != 3 + modes[i].args) continue;
    /* Random events go to all versions; everything else to the newest that there is. */
    if (plugin_open(&plugin, argv[1], i == 0 ? 0 : 231) != 0) return 1;
    return modes[i].play(argv + 3);
  }
  for (size_t i = 0; argc > 2 && i < sizeof faults / sizeof *faults; i++) {
    if (strcmp(argv[2], faults[i].name) != 0 || argc != 3 + faults[i].args) continue;
    if (plugin_open(&plugin, argv[1], 231) != 0) return 1;
    return faults[i].play(&plugin, argv + 3);
  }
  fprintf(stderr, "usage: see the head of replay.c\n");
  return 2;
}
