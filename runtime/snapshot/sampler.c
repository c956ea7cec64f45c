/* The sampler: a thread, a ring of pairs, a file of JSON lines. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "discipline.h"
#include "prlx_snapshot.h"

enum { default_tries = 8, wide_ns = 5000, headroom = 16, unannounced = 1 << 16, most_room = 1 << 22 };
static const int64_t default_period = INT64_C(4000000000), least_period = INT64_C(10000000), longest_period = INT64_C(3600000000000);
static const int64_t discipline_every = INT64_C(4000000000);

struct prlx_snapshot {
  prlx_clock tracer;
  prlx_snapshot_clock system, timer;
  int (*wait)(void *, int64_t);
  void *machine;
  int64_t period, start;
  int tries, fd, stopping, running, broken;
  pid_t owner;
  pthread_t thread;
  pthread_mutex_t lock; /* of all below, and of the file */
  pthread_cond_t stop;
  prlx_snapshot_pair *ring;
  size_t used, room, held, next; /* pairs in the ring, its room, what memory is taken, where the next goes once it is full */
  prlx_snapshot_counters counters;
  prlx_daemons daemons; /* of the thread */
};

static int machine_clock(void *user, int64_t *ns) {
  (void)user;
  *ns = prlx_kernel_ns(CLOCK_REALTIME);
  return *ns < 0;
}

static int machine_timer(void *user, int64_t *ns) {
  (void)user;
  *ns = prlx_kernel_ns(CLOCK_MONOTONIC);
  return *ns < 0;
}

/* Waits for an instant of the monotonic clock, or until the recording is to end. */
static int machine_wait(void *user, int64_t until) {
  prlx_snapshot *s = user;
  struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
  pthread_mutex_lock(&s->lock);
  int over = 0;
  while (!s->stopping && over != ETIMEDOUT) over = pthread_cond_timedwait(&s->stop, &s->lock, &at);
  int stopping = s->stopping;
  pthread_mutex_unlock(&s->lock);
  return stopping;
}

/* The cadence. */

static int64_t period_in(const char *text) {
  char *end;
  double ms = strtod(text, &end);
  while (*end == ' ') end++;
  if (end == text || *end || !(ms >= (double)least_period / 1e6) || !(ms <= (double)longest_period / 1e6)) return 0;
  return (int64_t)(ms * 1e6 + 0.5);
}

int64_t prlx_snapshot_period(int64_t argument_ns, const char *option, char *error, size_t room) {
  if (argument_ns != 0) {
    if (argument_ns >= least_period && argument_ns <= longest_period) return argument_ns;
    snprintf(error, room, "a cadence of %" PRId64 " ns is not between 10 ms and 1 h", argument_ns);
    return 0;
  }
  const char *names[] = {"snapshot_pair_period_ms", "PRLX_SNAPSHOT_PERIOD_MS", "XLA_ROCM_SNAPSHOT_PERIOD_MS"};
  const char *texts[] = {option, getenv(names[1]), getenv(names[2])};
  for (int i = 0; i < 3; i++) {
    if (!texts[i] || !texts[i][strspn(texts[i], " \t")]) continue;
    int64_t ns = period_in(texts[i]);
    if (ns == 0) snprintf(error, room, "%s: \"%.40s\" is not a number of milliseconds between 10 and 3600000", names[i], texts[i]);
    return ns;
  }
  return default_period;
}

/* The file. Each line is one write. */

static void write_line(prlx_snapshot *s, const char *line, int length, int counted) {
  if (s->fd < 0) return;
  ssize_t wrote = s->broken ? -1 : write(s->fd, line, (size_t)length);
  if (wrote == length) return;
  if (wrote > 0) { /* half a line on a full disk: readers would take what follows for its rest */
    off_t end = lseek(s->fd, 0, SEEK_END);
    s->broken = end < wrote || ftruncate(s->fd, end - wrote) != 0;
  }
  if (counted) s->counters.unstored++;
}

/* A name as JSON has it. Names of clocks and hosts have no control characters; what has is written with question marks. */
static void quoted(char *out, size_t room, const char *text) {
  size_t n = 0;
  out[n++] = '"';
  for (; *text && n + 4 < room; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') out[n++] = '\\';
    out[n++] = c < ' ' || c >= 0x7f ? '?' : (char)c;
  }
  out[n++] = '"';
  out[n] = 0;
}

static void write_header(prlx_snapshot *s, const prlx_snapshot_options *o) {
  char line[1024], name[160], host[400];
  quoted(name, sizeof name, s->tracer.name);
  int n = snprintf(line, sizeof line, "{\"meta\":true,\"tracer_clock_name\":%s,\"sampling_period_ns\":%" PRId64, name, s->period);
  if (s->tracer.ticks_per_second > 0) n += snprintf(line + n, sizeof line - (size_t)n, ",\"ticks_per_second\":%" PRId64, s->tracer.ticks_per_second);
  if (o->host && *o->host) {
    quoted(host, sizeof host, o->host);
    n += snprintf(line + n, sizeof line - (size_t)n, ",\"host\":%s", host);
  }
  if (o->rank >= 0) n += snprintf(line + n, sizeof line - (size_t)n, ",\"rank\":%d", o->rank);
  n += snprintf(line + n, sizeof line - (size_t)n, ",\"pid\":%ld}\n", (long)getpid());
  write_line(s, line, n, 0);
}

static void write_statement(prlx_snapshot *s, const prlx_discipline *d) {
  char line[512];
  int n = snprintf(line, sizeof line,
                   "{\"system_clock\":{\"sys_clock_ns\":%" PRId64 ",\"synchronized\":%s,\"max_error_ns\":%" PRId64 ",\"estimated_error_ns\":%" PRId64
                   ",\"drift_ppb\":%" PRId64 ",\"source\":\"%s\",\"growth_ppb\":%" PRId64 ",\"reference\":\"%s\"}}\n",
                   d->sys_ns, d->synchronized ? "true" : "false", d->max_error_ns, d->estimated_error_ns, d->drift_ppb, d->source, d->growth_ppb, d->reference);
  pthread_mutex_lock(&s->lock);
  write_line(s, line, n, 0);
  pthread_mutex_unlock(&s->lock);
}

/* What the kernel states: at once. */
static void write_kernel(prlx_snapshot *s) {
  prlx_discipline d;
  if (s->fd >= 0 && prlx_discipline_kernel(&d) == 0) write_statement(s, &d);
}

/* What all state. Daemons may take a tenth of a second: this is for the sampler's thread. */
static void write_discipline(prlx_snapshot *s) {
  prlx_discipline of[prlx_disciplines];
  if (s->fd < 0) return;
  write_kernel(s);
  int n = prlx_discipline_daemons(&s->daemons, of);
  for (int i = 0; i < n; i++) write_statement(s, &of[i]);
}

static void write_counters(prlx_snapshot *s) {
  prlx_snapshot_counters *c = &s->counters;
  char line[512];
  int n = snprintf(line, sizeof line,
                   "{\"counters\":{\"snapshots_taken\":%" PRId64 ",\"missed_deadline\":%" PRId64 ",\"dropped_samples\":%" PRId64
                   ",\"wide_brackets\":%" PRId64 ",\"failed_reads\":%" PRId64 ",\"unstored\":%" PRId64 "}}\n",
                   c->taken, c->missed, c->dropped, c->wide, c->failed, c->unstored);
  write_line(s, line, n, 0);
}

/* Pairs. */

/* Takes the narrowest of several brackets. 0, or -1 where a clock cannot be read or the system clock went back in all of them. */
static int read_pair(prlx_snapshot *s, prlx_snapshot_pair *best) {
  if (s->tracer.pair && s->system == machine_clock) return s->tracer.pair(s->tracer.user, s->tries, best);
  best->bracket_ns = INT64_MAX;
  for (int i = 0; i < s->tries; i++) {
    int64_t before, at, after;
    if (s->system(s->machine, &before) != 0 || s->tracer.read(s->tracer.user, &at) != 0 || s->system(s->machine, &after) != 0) return -1;
    int64_t width = after - before;
    if (width < 0 || width >= best->bracket_ns) continue;
    *best = (prlx_snapshot_pair){before + width / 2, at, width};
  }
  return best->bracket_ns == INT64_MAX ? -1 : 0;
}

static void keep(prlx_snapshot *s, prlx_snapshot_pair p) {
  if (s->used < s->room && s->used == s->held) {
    size_t more = s->held ? s->held * 2 : 64;
    if (more > s->room) more = s->room;
    prlx_snapshot_pair *moved = realloc(s->ring, more * sizeof *moved);
    if (moved) {
      s->ring = moved;
      s->held = more;
    } else if (s->held == 0) { /* no memory at all: the file has the pair */
      s->counters.dropped++;
      return;
    } else {
      s->room = s->held;
    }
  }
  if (s->used < s->held) {
    s->ring[s->used++] = p;
    return;
  }
  s->ring[s->next] = p;
  s->next = (s->next + 1) % s->used;
  s->counters.dropped++;
}

int prlx_snapshot_now(prlx_snapshot *s) {
  prlx_snapshot_pair p;
  int failed = read_pair(s, &p);
  pthread_mutex_lock(&s->lock);
  if (failed) {
    s->counters.failed++;
  } else {
    char line[160];
    int n = snprintf(line, sizeof line, "{\"sys_clock_ns\":%" PRId64 ",\"tracer_clock_ns\":%" PRId64 ",\"bracket_ns\":%" PRId64 "}\n", p.sys_ns, p.tracer_ns,
                     p.bracket_ns);
    s->counters.taken++;
    if (p.bracket_ns > wide_ns) s->counters.wide++;
    keep(s, p);
    write_line(s, line, n, 1);
  }
  pthread_mutex_unlock(&s->lock);
  return failed;
}

static void *run(void *user) {
  prlx_snapshot *s = user;
  int64_t start = s->start, now = 0, every = discipline_every / s->period;
  write_discipline(s);
  for (int64_t tick = 0;;) {
    if (tick > 0) prlx_snapshot_now(s);
    if (tick > 0 && tick % (every > 0 ? every : 1) == 0) write_discipline(s);
    s->timer(s->machine, &now);
    int64_t late = (now - start) / s->period - tick;
    if (late > 0) { /* instants that went by while the thread did not run */
      pthread_mutex_lock(&s->lock);
      s->counters.missed += late;
      pthread_mutex_unlock(&s->lock);
      tick += late;
    }
    tick++;
    if (s->wait(s->machine, start + tick * s->period) != 0) break;
  }
  prlx_snapshot_now(s);
  write_discipline(s);
  return NULL;
}

static size_t room_for(int64_t duration, int64_t period) {
  if (duration <= 0) return unannounced;
  int64_t n = duration / period + 1;
  if (n >= most_room) return most_room;
  n += n / 10 + headroom;
  return (size_t)(n < most_room ? n : most_room);
}

/* Starts the thread with all signals blocked: they are for the program's own. */
static int start_thread(prlx_snapshot *s) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return -1;
  size_t stack = 256 << 10;
  pthread_attr_setstacksize(&attributes, stack);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&s->thread, &attributes, run, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
#ifdef __linux__
  if (!failed) pthread_setname_np(s->thread, "prlx-snapshot");
#endif
  return failed;
}

static prlx_snapshot *give_up(prlx_snapshot *s, int made, const char *path) {
  prlx_clock_close(&s->tracer);
  if (s->fd >= 0) close(s->fd);
  if (made) unlink(path);
  free(s->ring);
  free(s);
  return NULL;
}

prlx_snapshot *prlx_snapshot_start(const prlx_snapshot_options *o, char *error, size_t room) {
  if (!o || o->size != sizeof *o) {
    snprintf(error, room, "the options are of another version of prlx_snapshot.h");
    return NULL;
  }
  prlx_snapshot *s = calloc(1, sizeof *s);
  if (!s) {
    snprintf(error, room, "no memory");
    return NULL;
  }
  s->fd = s->tracer.fd = -1;
  if ((s->period = prlx_snapshot_period(o->period_ns, o->period_option, error, room)) == 0) return give_up(s, 0, NULL);
  if (o->tracer_clock) {
    s->tracer.read = o->tracer_clock;
    s->tracer.user = o->tracer_user;
    snprintf(s->tracer.name, sizeof s->tracer.name, "%s", o->tracer && *o->tracer ? o->tracer : "a clock of the program");
  } else if (prlx_clock_open(&s->tracer, o->tracer, error, room) != 0) {
    return give_up(s, 0, NULL);
  }
  s->system = o->system_clock ? o->system_clock : machine_clock;
  s->timer = o->timer_clock ? o->timer_clock : machine_timer;
  s->wait = o->wait ? o->wait : machine_wait;
  s->machine = o->system_clock || o->timer_clock || o->wait ? o->machine_user : s;
  s->tries = o->tries > 0 ? o->tries : default_tries;
  s->room = room_for(o->duration_ns, s->period);
  s->owner = getpid();
  if (o->path) {
    s->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (s->fd < 0) {
      snprintf(error, room, "%s: %s", o->path, strerror(errno));
      return give_up(s, 0, NULL);
    }
    write_header(s, o);
  }
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->stop, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&s->lock, NULL);
  s->timer(s->machine, &s->start);
  write_kernel(s);
  prlx_snapshot_now(s); /* the first pair, before anybody goes on */
  if (start_thread(s) != 0) {
    snprintf(error, room, "no thread can be started");
    return give_up(s, s->fd >= 0, o->path);
  }
  s->running = 1;
  return s;
}

int prlx_snapshot_stop(prlx_snapshot *s) {
  if (!s || !s->running || s->owner != getpid()) return 0; /* the thread of a parent does not run in its child */
  s->running = 0;
  pthread_mutex_lock(&s->lock);
  s->stopping = 1;
  pthread_cond_signal(&s->stop);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  write_counters(s);
  int failed = s->counters.unstored > 0;
  if (s->fd >= 0 && close(s->fd) != 0) failed = 1;
  s->fd = -1;
  return failed;
}

void prlx_snapshot_free(prlx_snapshot *s) {
  if (!s) return;
  if (s->owner == getpid()) {
    prlx_snapshot_stop(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->stop);
  } else if (s->fd >= 0) {
    close(s->fd);
  }
  prlx_clock_close(&s->tracer);
  free(s->ring);
  free(s);
}

size_t prlx_snapshot_pairs(prlx_snapshot *s, prlx_snapshot_pair *out, size_t room) {
  if (s->owner != getpid()) return 0;
  pthread_mutex_lock(&s->lock);
  size_t n = s->used;
  for (size_t i = 0; i < n && i < room; i++) out[i] = s->ring[(s->next + i) % n];
  pthread_mutex_unlock(&s->lock);
  return n;
}

void prlx_snapshot_count(prlx_snapshot *s, prlx_snapshot_counters *out) {
  memset(out, 0, sizeof *out);
  if (s->owner != getpid()) return;
  pthread_mutex_lock(&s->lock);
  *out = s->counters;
  pthread_mutex_unlock(&s->lock);
}

const char *prlx_snapshot_clock_name(const prlx_snapshot *s) { return s->tracer.name; }
int64_t prlx_snapshot_period_of(const prlx_snapshot *s) { return s->period; }
