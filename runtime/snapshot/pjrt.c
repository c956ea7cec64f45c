/* A profiler that XLA's profiler calls beside its own: it adds the plane /host:snapshots to whatever a session collects, whoever started it.
 *
 * XLA takes such profilers from an extension of a PJRT_Api. The layouts below are those of its C interface (pjrt_c_api.h,
 * pjrt_c_api_profiler_extension.h, profiler_c_api.h), as far as they are read: every struct begins with its size. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prlx_snapshot.h"

/* Arguments of the calls. */
typedef struct {
  size_t size;
  const char *options; /* a message ProfileOptions */
  size_t options_size;
  void *profiler; /* out */
} create_args;

typedef struct {
  size_t size;
  void *profiler;
} profiler_args;

typedef struct {
  size_t size;
  void *profiler;
  uint8_t *buffer; /* out: it is asked for once, and must stay until destroy */
  size_t buffer_size;
} collect_args;

/* One session. */
typedef struct {
  prlx_snapshot *sampler;
  uint8_t *bytes;
  size_t used, room;
  int short_of_memory;
  char period[32]; /* of the options, "" none */
} session;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static char configured_tracer[128];
static int64_t configured_period;

int prlx_snapshot_pjrt_configure(const char *tracer, int64_t period_ns, char *error, size_t room) {
  if (tracer && strlen(tracer) >= sizeof configured_tracer) {
    snprintf(error, room, "the name of the clock is too long");
    return -1;
  }
  if (period_ns != 0 && prlx_snapshot_period(period_ns, NULL, error, room) == 0) return -1;
  pthread_mutex_lock(&lock);
  snprintf(configured_tracer, sizeof configured_tracer, "%s", tracer ? tracer : "");
  configured_period = period_ns;
  pthread_mutex_unlock(&lock);
  return 0;
}

/* Protobuf. */

static size_t varint_size(uint64_t v) {
  size_t n = 1;
  for (; v > 127; v >>= 7) n++;
  return n;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v) {
  for (; v > 127; v >>= 7) *p++ = (uint8_t)(v | 128);
  *p++ = (uint8_t)v;
  return p;
}

static uint8_t *put_integer(uint8_t *p, unsigned field, uint64_t v) { return put_varint(put_varint(p, field << 3), v); }

static uint8_t *put_bytes(uint8_t *p, unsigned field, const void *bytes, size_t n) {
  p = put_varint(put_varint(p, field << 3 | 2), n);
  memcpy(p, bytes, n);
  return p + n;
}

static uint8_t *put_text(uint8_t *p, unsigned field, const char *text) { return put_bytes(p, field, text, strlen(text)); }

/* An entry of a table of names. */
static uint8_t *put_name(uint8_t *p, unsigned table, unsigned id, const char *name) {
  uint8_t value[128], entry[160];
  size_t n = (size_t)(put_text(put_integer(value, 1, id), 2, name) - value);
  n = (size_t)(put_bytes(put_integer(entry, 1, id), 2, value, n) - entry);
  return put_bytes(p, table, entry, n);
}

static void add(session *s, const uint8_t *bytes, size_t n) {
  if (s->used + n > s->room) {
    size_t more = s->room * 2 > s->used + n ? s->room * 2 : s->used + n + 4096;
    uint8_t *moved = realloc(s->bytes, more);
    if (!moved) {
      s->short_of_memory = 1;
      return;
    }
    s->bytes = moved;
    s->room = more;
  }
  memcpy(s->bytes + s->used, bytes, n);
  s->used += n;
}

enum { event_snapshot = 1, stat_tracer = 1, stat_bracket = 2, stat_name = 3 };

static size_t put_event(uint8_t *out, const prlx_snapshot_pair *p, int64_t first) {
  uint8_t stat[32], *at = put_integer(put_integer(out, 1, event_snapshot), 2, (uint64_t)(p->sys_ns - first) * 1000);
  at = put_bytes(at, 4, stat, (size_t)(put_integer(put_integer(stat, 1, stat_tracer), 3, (uint64_t)p->tracer_ns) - stat));
  at = put_bytes(at, 4, stat, (size_t)(put_integer(put_integer(stat, 1, stat_bracket), 3, (uint64_t)p->bracket_ns) - stat));
  return (size_t)(at - out);
}

/* Makes the XSpace with the plane in s->bytes. The line counts from its first reading, since 1970; XLA subtracts the start of the session. */
static void make_space(session *s, const prlx_snapshot_pair *pairs, size_t n, const char *clock) {
  uint8_t head[256], tail[768], event[160], tag[32];
  size_t events = 0;
  for (size_t i = 0; i < n; i++) {
    size_t k = put_event(event, &pairs[i], pairs[0].sys_ns);
    events += 1 + varint_size(k) + k;
  }
  uint8_t *line_end = put_integer(put_text(head, 2, "Clock Snapshots"), 3, (uint64_t)pairs[0].sys_ns);
  size_t line_head = (size_t)(line_end - head), line = line_head + events;
  uint8_t *end = put_name(tail, 4, event_snapshot, "Snapshot");
  end = put_name(end, 5, stat_tracer, strcmp(clock, "ROCm") == 0 ? "rocm_ns" : "tracer_clock_ns");
  end = put_name(put_name(end, 5, stat_bracket, "bracket_ns"), 5, stat_name, "tracer_clock_name");
  uint8_t stat[128];
  end = put_bytes(end, 6, stat, (size_t)(put_text(put_integer(stat, 1, stat_name), 5, clock) - stat));
  uint8_t name[64];
  size_t name_size = (size_t)(put_text(put_integer(name, 1, 0x70726c78), 2, "/host:snapshots") - name);
  size_t plane = name_size + 1 + varint_size(line) + line + (size_t)(end - tail);
  add(s, tag, (size_t)(put_varint(put_varint(tag, 1 << 3 | 2), plane) - tag));
  add(s, name, name_size);
  add(s, tag, (size_t)(put_varint(put_varint(tag, 3 << 3 | 2), line) - tag));
  add(s, head, line_head);
  for (size_t i = 0; i < n; i++) {
    size_t k = put_event(event, &pairs[i], pairs[0].sys_ns);
    add(s, tag, (size_t)(put_varint(put_varint(tag, 4 << 3 | 2), k) - tag));
    add(s, event, k);
  }
  add(s, tail, (size_t)(end - tail));
}

/* The value of snapshot_pair_period_ms in a message ProfileOptions: an entry of a map {1: name, 2: {one of 1: text, 3: integer}}. Any other
 * layout gives "". */
static void read_period(const char *options, size_t size, char *out, size_t room) {
  static const char name[] = "snapshot_pair_period_ms";
  const size_t n = sizeof name - 1;
  out[0] = 0;
  for (size_t i = 0; i + n + 4 <= size; i++) {
    if (memcmp(options + i, name, n) != 0) continue;
    const uint8_t *p = (const uint8_t *)options + i + n, *end = (const uint8_t *)options + size;
    if (*p != (2 << 3 | 2) || p[1] > end - p - 2 || p[1] < 2) return;
    end = p + 2 + p[1];
    p += 2;
    if (*p == (1 << 3 | 2) && p[1] <= end - p - 2 && p[1] < room) {
      memcpy(out, p + 2, p[1]);
      out[p[1]] = 0;
    } else if (*p == 3 << 3 || *p == 2 << 3) {
      uint64_t v = 0;
      int shift = 0;
      for (p++; p < end && shift < 63; p++, shift += 7) {
        v |= (uint64_t)(*p & 127) << shift;
        if (!(*p & 128)) break;
      }
      snprintf(out, room, "%" PRIu64, v);
    }
    return;
  }
}

/* The calls. An error is null: without our plane the session is as it would be. */

static void *create(create_args *a) {
  session *s = calloc(1, sizeof *s);
  if (s && a->options) read_period(a->options, a->options_size, s->period, sizeof s->period);
  a->profiler = s;
  return NULL;
}

static void *start(profiler_args *a) {
  session *s = a->profiler;
  if (!s || s->sampler) return NULL;
  prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
  char tracer[sizeof configured_tracer], error[256];
  pthread_mutex_lock(&lock);
  memcpy(tracer, configured_tracer, sizeof tracer);
  o.period_ns = configured_period;
  pthread_mutex_unlock(&lock);
  o.tracer = tracer;
  o.period_option = s->period;
  s->sampler = prlx_snapshot_start(&o, error, sizeof error);
  if (!s->sampler) fprintf(stderr, "prlx: no clock snapshots: %s\n", error);
  return NULL;
}

static void *stop(profiler_args *a) {
  session *s = a->profiler;
  if (s) prlx_snapshot_stop(s->sampler);
  return NULL;
}

static void *collect(collect_args *a) {
  session *s = a->profiler;
  static uint8_t nothing[1];
  a->buffer = nothing;
  a->buffer_size = 0;
  if (!s || !s->sampler) return NULL;
  prlx_snapshot_stop(s->sampler);
  size_t n = prlx_snapshot_pairs(s->sampler, NULL, 0);
  prlx_snapshot_pair *pairs = n ? malloc(n * sizeof *pairs) : NULL;
  if (!pairs) return NULL;
  prlx_snapshot_pairs(s->sampler, pairs, n);
  s->used = 0;
  s->short_of_memory = 0;
  make_space(s, pairs, n, prlx_snapshot_clock_name(s->sampler));
  free(pairs);
  if (s->short_of_memory) return NULL;
  a->buffer = s->bytes;
  a->buffer_size = s->used;
  return NULL;
}

static void *destroy(profiler_args *a) {
  session *s = a->profiler;
  if (!s) return NULL;
  prlx_snapshot_free(s->sampler);
  free(s->bytes);
  free(s);
  return NULL;
}

static void error_destroy(void *a) { (void)a; }
static void error_message(void *a) { (void)a; }
static void *error_code(void *a) {
  (void)a;
  return NULL;
}

typedef struct {
  size_t size;
  void *priv;
  void (*error_destroy)(void *);
  void (*error_message)(void *);
  void *(*error_code)(void *);
  void *(*create)(create_args *);
  void *(*destroy)(profiler_args *);
  void *(*start)(profiler_args *);
  void *(*stop)(profiler_args *);
  void *(*collect)(collect_args *);
} profiler_api;

static profiler_api profiler = {sizeof profiler, NULL, error_destroy, error_message, error_code, create, destroy, start, stop, collect};

static struct {
  size_t size;
  int type; /* 1: a profiler */
  void *next;
  profiler_api *api;
  int64_t traceme_context_id;
} extension = {sizeof extension, 1, NULL, &profiler, 0};

static struct {
  size_t size;
  void *extensions;
  struct {
    size_t size;
    void *extensions;
    int major, minor;
  } version;
  void *functions[200]; /* of a device plug-in, which this is none */
} api = {sizeof api, &extension, {24, NULL, 0, 70}, {NULL}};

const void *prlx_snapshot_pjrt_api(void) { return &api; }
