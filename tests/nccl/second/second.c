/* A second plug-in for the chain: it follows the pointers that it has given away, as most plug-ins do, and ends the process when one is not
 * its own. What it was called with is counted and written to $SECOND_SAYS when the process ends.
 *
 * SECOND_VERSIONS (when compiling): bits of the versions that it exports. SECOND_MASK: what it asks for. SECOND_FAILS: its init fails.
 * SECOND_SILENT: it gives no handles. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SECOND_VERSIONS
#define SECOND_VERSIONS 0xfe
#endif

enum { context_mark = 0x5ec0c0de, handle_mark = 0x5ec0a4d1, gone = 0x60e60e };

struct context { uint32_t mark; int version; };
struct handle { uint32_t mark; uint64_t type; };

static _Atomic uint64_t starts[64], parents, groups, stops, states, nulls, inits, finals, sums;

static void is_ours(const void *p, uint32_t mark, const char *what) {
  if (p && *(const uint32_t *)p == mark) return;
  fprintf(stderr, "the second plug-in got a %s that is not its own: %p\n", what, p);
  abort();
}

static int start(struct context *c, void **handle, const char *d, int v) {
  is_ours(c, context_mark, "context");
  if (c->version != v) abort();
  uint64_t type = v <= 4 ? *(const uint8_t *)d : *(const uint64_t *)(const void *)d;
  const void *parent = *(void *const *)(const void *)(d + 8), *group = NULL;
  if (parent) {
    is_ours(parent, handle_mark, "parent");
    parents++;
  }
  if (v >= 5 && type == 2) group = *(void *const *)(const void *)(d + 104);
  if (v >= 5 && type == 4) group = *(void *const *)(const void *)(d + 64);
  if (group) {
    is_ours(group, handle_mark, "group");
    groups++;
  }
  if (type == 16) sums += (uint64_t)(uint32_t)*(const int32_t *)(const void *)(d + 24);
  starts[type && !(type & (type - 1)) ? __builtin_ctzll(type) : 63]++;
  if (getenv("SECOND_SILENT")) return 0;
  struct handle *h = malloc(sizeof *h);
  *h = (struct handle){handle_mark, type};
  *handle = h;
  return 0;
}

static int stop(struct handle *h) {
  stops++;
  if (!h) nulls++;
  else is_ours(h, handle_mark, "handle"); /* is kept: NCCL uses handles after their stop */
  return 0;
}

static int state(struct handle *h, uint32_t s, const void *args) {
  (void)s; (void)args;
  states++;
  if (!h) nulls++;
  else is_ours(h, handle_mark, "handle");
  return 0;
}

static int init(void **context, int *mask, int v) {
  inits++;
  if (getenv("SECOND_FAILS")) return 3;
  const char *wanted = getenv("SECOND_MASK");
  __atomic_store_n(mask, wanted ? atoi(wanted) : 65535, __ATOMIC_RELAXED); /* NCCL reads it meanwhile */
  struct context *c = malloc(sizeof *c);
  *c = (struct context){context_mark, v};
  *context = c;
  return 0;
}

static int finalize(struct context *c) {
  is_ours(c, context_mark, "context");
  c->mark = gone;
  free(c);
  finals++;
  return 0;
}

__attribute__((destructor)) static void say(void) {
  const char *path = getenv("SECOND_SAYS");
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return;
  fprintf(f, "inits %" PRIu64 " finals %" PRIu64 " stops %" PRIu64 " states %" PRIu64 " nulls %" PRIu64 " parents %" PRIu64 " groups %" PRIu64 " sums %" PRIu64 "\n", inits, finals, stops, states, nulls, parents, groups, sums);
  for (int k = 0; k < 64; k++) fprintf(f, "type %d %" PRIu64 "\n", k, starts[k]);
  fclose(f);
}

struct table { const char *name; void *init, *start, *stop, *state, *finalize; };

#define VERSION(v)                                                                                                                           \
  static int start_##v(void *c, void **handle, void *d) { return start(c, handle, d, v); }                                                    \
  __attribute__((visibility("default"))) const struct table ncclProfiler_v##v = {"second", (void *)init_##v, (void *)start_##v, (void *)stop, (void *)state, (void *)finalize};
#define OLD(v)                                                                                                                               \
  static int init_##v(void **c, int *mask) { return init(c, mask, v); }                                                                       \
  VERSION(v)
#define NEW(v)                                                                                                                               \
  static int init_##v(void **c, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank, void *log) {                        \
    (void)id; (void)name; (void)nodes; (void)ranks; (void)rank; (void)log;                                                                    \
    return init(c, mask, v);                                                                                                                  \
  }                                                                                                                                          \
  VERSION(v)

#if SECOND_VERSIONS & 2
OLD(1)
#endif
#if SECOND_VERSIONS & 4
OLD(2)
#endif
#if SECOND_VERSIONS & 8
OLD(3)
#endif
#if SECOND_VERSIONS & 16
static int init_4(void **c, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank, void *log) {
  (void)hash; (void)name; (void)nodes; (void)ranks; (void)rank; (void)log;
  return init(c, mask, 4);
}
VERSION(4)
#endif
#if SECOND_VERSIONS & 32
NEW(5)
#endif
#if SECOND_VERSIONS & 64
NEW(6)
#endif
#if SECOND_VERSIONS & 128
NEW(7)
#endif
