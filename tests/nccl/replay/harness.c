#define _GNU_SOURCE
#include "harness.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What plug-ins may ask of the library that calls them. */
__attribute__((visibility("default"))) int ncclGetVersion(int *version) {
  *version = 23203;
  return 0;
}

int nccl_mask; /* one for all communicators, as in NCCL */

void test_log(int level, unsigned long subsystem, const char *file, int line, const char *format, ...) {
  (void)subsystem; (void)file; (void)line;
  if (!getenv("REPLAY_LOG") && level > 2) return;
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

static int newest_of(int release) {
  static const int first[] = {223, 224, 226, 227, 228, 229, 231};
  int v = 0;
  while (v < 7 && release >= first[v]) v++;
  return v;
}

int plugin_open(struct plugin *p, const char *path, int release) {
  memset(p, 0, sizeof *p);
  p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!p->library) {
    fprintf(stderr, "%s\n", dlerror());
    return -1;
  }
  for (int v = release ? newest_of(release) : 7; v >= 1; v--) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", v);
    p->tables[v] = dlsym(p->library, symbol);
    if (p->tables[v] && !p->newest) p->newest = v;
    if (release && p->newest) break; /* the first hit counts */
  }
  const char *base = strrchr(path, '/');
  p->rccl = strncmp(base ? base + 1 : path, "librccl", 7) == 0;
  return p->newest ? 0 : -1;
}

/* Seats. */

void seat_open(struct seat *s, struct plugin *p, const char *truth, int number, uint64_t seed) {
  *s = (struct seat){.plugin = p, .number = number, .random = seed * 0x9e3779b97f4a7c15u + (uint64_t)number};
  if (!truth) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", truth, number);
  s->truth = fopen(path, "w");
  if (!s->truth) abort();
  if (getenv("REPLAY_SYNC")) setvbuf(s->truth, NULL, _IOLBF, 1 << 16);
  seat_thread(s);
}

void seat_thread(struct seat *s) {
  static _Atomic unsigned long order;
  if (s->truth) fprintf(s->truth, "T %ld %lu\n", (long)syscall(SYS_gettid), order++);
}

void seat_close(struct seat *s) {
  if (s->truth) fclose(s->truth);
  s->truth = NULL;
}

uint64_t seat_random(struct seat *s) { /* splitmix64 */
  uint64_t z = s->random += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
uint64_t seat_below(struct seat *s, uint64_t n) { return seat_random(s) % n; }

static void write_line(struct seat *s, const char *line) {
  s->calls++;
  if (s->truth) fprintf(s->truth, "%s\n", line);
}

/* Calls. */

uint64_t call_init(struct seat *s, int v, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank) {
  void *context = (void *)0x5ca1ab1e;
  void *init = s->plugin->tables[v]->init;
  int failed;
  if (v <= 3) failed = ((int (*)(void **, int *))init)(&context, mask);
  else if (v == 4) failed = ((int (*)(void **, int *, const char *, uint64_t, int, int, int, logger))init)(&context, mask, name, id, nodes, ranks, rank, s->no_log ? NULL : test_log);
  else failed = ((int (*)(void **, uint64_t, int *, const char *, int, int, int, logger))init)(&context, id, mask, name, nodes, ranks, rank, s->no_log ? NULL : test_log);
  if (failed || !context || context == (void *)0x5ca1ab1e) {
    fprintf(stderr, "init of version %d: result %d, context %p\n", v, failed, context);
    abort();
  }
  if (v <= 3) {
    name = NULL;
    id = 0;
    nodes = ranks = rank = -1;
  }
  uint32_t h = 2166136261u;
  size_t n = 0;
  for (; name && n < 1024 && name[n]; n++) h = (h ^ (uint8_t)name[n]) * 16777619u;
  char line[256];
  snprintf(line, sizeof line, "I%d %" PRIx64 " %" PRIx64 " %d:%zu:%x %d %d %d", v, (uint64_t)(uintptr_t)context, id, name != NULL, n, h, nodes, ranks, rank);
  write_line(s, line);
  return (uint64_t)(uintptr_t)context;
}

void call_finalize(struct seat *s, int v, uint64_t context) {
  ((int (*)(void *))s->plugin->tables[v]->finalize)((void *)(uintptr_t)context);
  char line[64];
  snprintf(line, sizeof line, "F%d %" PRIx64, v, context);
  write_line(s, line);
}

struct handle call_send(struct seat *s, int v, const struct event *meant) {
  struct event cut = *meant;
  const struct event *e = &cut;
  if (v <= 4) cut.type = (uint8_t)cut.type; /* it is a byte there */
  struct event_bytes d;
  event_encode(&d, e, v);
  void *handle = (void *)0x5ca1ab1e;
  ((int (*)(void *, void **, void *))s->plugin->tables[v]->start)((void *)(uintptr_t)e->context, &handle, &d);
  uint64_t id = (uint64_t)(uintptr_t)handle;
  if (s->truth) {
    char line[4096];
    event_line(line, sizeof line, e, v, id, s->plugin->rccl);
    if (handle == (void *)0x5ca1ab1e) abort(); /* NCCL would go on with what lay in its stack */
    write_line(s, line);
  } else {
    s->calls++;
  }
  memset(&d, 0xdd, sizeof d); /* it lived for the call */
  int net = v >= 3 && e->type == NetPlugin;
  return (struct handle){id, net && e->net_id == 0x10001 ? 18 : net && e->net_id == 0x20001 ? 19 : 0};
}

struct handle call_start(struct seat *s, int v, const struct event *e) {
  if (!event_known(e->type, v)) return (struct handle){0, 0};
  return call_send(s, v, e);
}

void call_stop(struct seat *s, int v, struct handle h) {
  ((int (*)(void *))s->plugin->tables[v]->stop)((void *)(uintptr_t)h.id);
  char line[64];
  snprintf(line, sizeof line, "E%d %" PRIx64, v, h.id);
  write_line(s, line);
}

void call_state(struct seat *s, int v, struct handle h, uint32_t state, const void *args) {
  ((int (*)(void *, uint32_t, const void *))s->plugin->tables[v]->state)((void *)(uintptr_t)h.id, state, args);
  char line[512];
  if (s->truth) state_line(line, sizeof line, v, h.id, state, args, h.code);
  else line[0] = 0;
  write_line(s, line);
}
