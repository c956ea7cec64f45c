/* What the files of the recorder share: the one recorder of a process, its writers, and the path of a record that every callback takes.
 *
 * A callback costs a look at the gate, a reading of the processor's counter, 32 bytes and a release-store. It takes no lock, makes no
 * system call and waits for nobody: where no room is ready, it counts what is lost. A thread of ours, the keeper, keeps room ready. */
#ifndef PRLX_NCCL_RECORDER_H
#define PRLX_NCCL_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "abi.h"
#include "segment.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define INTERNAL __attribute__((visibility("hidden")))

/* Identifiers: 16 bits of the process, 6 of the type, 42 that count; those that count from 0 are of events that were not recorded. */
enum { sequence_bits = 42 };
static const uint64_t sequence_mask = (UINT64_C(1) << sequence_bits) - 1;

/* One page that is all zeros in a forked child, which so does nothing. */
struct gate {
  _Atomic uint64_t cookie;   /* 0: nothing is recorded */
  _Atomic uint64_t recorded; /* which types are, by code */
};

/* A thread's place in its segment. Only that thread touches it, and who inherits it from a thread that has ended: every change is followed
 * by a release-store of `in`, of what is committed in it or of what is pending in the entry, which the heir acquires. */
struct writer {
  struct record *at;
  uint32_t left; /* slots */
  uint32_t index, segment;
  _Atomic(struct segment *) in;
  uint64_t next_id, last_id; /* of the block that was taken from recorder.ids */
  struct thread_entry *entry;
  uint64_t reported[codes]; /* of entry->lost, what loss records tell of */
};

struct room { /* of a segment, in the memory of the process */
  void *map;
  _Atomic uint32_t next; /* index + 1 in the stack that it is in */
};

struct recorder {
  struct gate *gate;
  struct file_header *header;
  struct thread_entry *threads;
  struct comm_entry *comms;
  struct anchor_entry *anchors;
  struct mask_entry *masks;
  char *strings, *environment;
  uint64_t cookie; /* in its place in identifiers */
  int fd;
  uint32_t clock, limit, most_ready; /* segments at most; of those, how many are kept ready */
  struct room *rooms;
  _Atomic uint64_t ready; /* stack: a count against ABA above, index + 1 below */
  _Atomic uint32_t ready_count, ready_target, sealed, asleep, stopping, keeping;
  _Atomic uint64_t ids, order;
  _Atomic int live; /* communicators */
  _Atomic(int *) mask; /* NCCL's, valid while a communicator lives */
  pthread_mutex_t mask_lock, prepare_lock;
  int wanted, duty_on_ms, duty_period_ms; /* what NCCL is asked for; the duty cycle, 0: always */
  uint32_t level;
  struct writer writers[thread_entries];
  char path[4096], host[256];
};

extern INTERNAL struct recorder recorder;
extern INTERNAL __thread struct writer *own_writer __attribute__((tls_model("initial-exec")));

/* clock.c */
INTERNAL uint32_t clock_choose(uint64_t *ticks_per_second);
INTERNAL uint64_t clock_monotonic_ns(void);
INTERNAL struct anchor clock_anchor(void);

/* settings.c: what the environment asks for; 0 or a sentence in error. */
struct settings { uint32_t level; uint64_t max_bytes; int duty_on_ms, duty_period_ms; char directory[3800]; };
INTERNAL int settings_read(struct settings *s, char *error, size_t room);
INTERNAL int settings_mask(uint32_t level);
INTERNAL uint32_t settings_environment(char *out, uint32_t room);

/* store.c: the file and the room in it. */
INTERNAL int store_open(const struct settings *s, char *error, size_t room);
INTERNAL struct segment *store_take(uint32_t *index, int is_first);
INTERNAL void store_seal(struct segment *s, uint32_t index);
INTERNAL int store_prepare(void);
INTERNAL void store_unmap_sealed(void);

/* keeper.c */
INTERNAL int keeper_start(void);
INTERNAL void keeper_wake(void);
INTERNAL void keeper_anchor(void);
INTERNAL void mask_set(int nccl, uint64_t recorded, uint32_t cause);
INTERNAL void mask_note(uint32_t cause);

/* strings.c: the number of a text's entry; 0 of NULL, UINT32_MAX where there is no room. Reads at most string_longest bytes. */
INTERNAL uint32_t intern(const char *text);

/* writer.c */
INTERNAL struct writer *writer_attach(void);
INTERNAL struct record *writer_next(struct writer *w, uint32_t slots);
INTERNAL void writer_lose(struct writer *w, uint32_t code, uint64_t ticks);
INTERNAL void writer_lose_nowhere(uint32_t code);
INTERNAL uint64_t writer_ids(struct writer *w);

static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
  if (likely(recorder.clock == clock_tsc)) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
  }
#elif defined(__aarch64__)
  if (likely(recorder.clock == clock_cntvct)) {
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
  }
#endif
  return clock_monotonic_ns();
}

static inline uint64_t relaxed64(const shared64 *v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void set64(shared64 *v, uint64_t to) { atomic_store_explicit(v, to, memory_order_relaxed); }
static inline uint32_t relaxed32(const shared32 *v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void set32(shared32 *v, uint32_t to) { atomic_store_explicit(v, to, memory_order_relaxed); }

/* Whether this process records: false in a forked child. */
static inline int recording(void) {
  return recorder.gate != NULL && atomic_load_explicit(&recorder.gate->cookie, memory_order_relaxed) != 0;
}

static inline int wants(uint32_t code) {
  return recorder.gate != NULL && (atomic_load_explicit(&recorder.gate->recorded, memory_order_relaxed) >> code & 1);
}

static inline int is_own(uint64_t id) { return recorder.cookie != 0 && (id ^ recorder.cookie) >> 48 == 0; }
static inline uint32_t code_of(uint64_t id) { return (uint32_t)(id >> sequence_bits) & 63; }
static inline uint64_t identifier(uint32_t code, uint64_t sequence) {
  return recorder.cookie | (uint64_t)code << sequence_bits | (sequence & sequence_mask);
}

static inline uint64_t writer_id(struct writer *w) { return likely(w->next_id < w->last_id) ? w->next_id++ : writer_ids(w); }

/* Room for a record of so many slots; NULL where there is none. Nothing of it is seen before writer_commit. */
static inline struct record *writer_reserve(struct writer *w, uint32_t slots) {
  return likely(w->left >= slots) ? w->at : writer_next(w, slots);
}

static inline void writer_commit(struct writer *w, uint32_t slots) {
  w->at += slots;
  w->left -= slots;
  atomic_store_explicit(&atomic_load_explicit(&w->in, memory_order_relaxed)->committed, (uint64_t)segment_slots - w->left, memory_order_release);
}

static inline struct writer *writer_own(void) { return likely(own_writer != NULL) ? own_writer : writer_attach(); }

#endif
