/* What the files of the recorder share: the one recorder of a process, its writers, and the path of a record that every callback takes.
 *
 * A callback costs a look at the gate, a reading of the processor's counter, 32 bytes and a release-store. It takes no lock, makes no
 * system call and waits for nobody: where no room is ready, it counts what is lost. A thread of ours, the keeper, keeps room ready. */
#ifndef PRLX_NCCL_RECORDER_H
#define PRLX_NCCL_RECORDER_H

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

/* One page that is all zeros in a forked child, which so does nothing. Until there is one, the gate is shut. */
struct gate {
  _Atomic uint64_t cookie;   /* 0: nothing is recorded */
  _Atomic uint64_t recorded; /* which types are, by code */
  _Atomic uint32_t chained;  /* calls are passed on to a second plug-in */
};

/* A thread's place in its segment. Only that thread touches it, and who inherits it from a thread that has ended: every change is followed
 * by a release-store of `in`, of what is committed in it or of what is pending in the entry, which the heir acquires. */
struct writer {
  struct record *at;
  uint32_t left;       /* slots */
  _Atomic uint32_t busy; /* its thread is in a callback: a signal handler that calls us from within is turned away */
  uint32_t index, segment;
  _Atomic(struct segment *) in;
  uint64_t next_id, last_id; /* of the block that was taken from recorder.ids */
  struct thread_entry *entry;
  uint64_t reported[codes]; /* of entry->lost, what loss records tell of */
};

/* A lock that only threads of ours and of beginners take, the latter if it is free. */
struct lock { _Atomic uint32_t is_held; };

struct recorder {
  struct file_header *header;
  struct thread_entry *threads;
  struct comm_entry *comms;
  struct anchor_entry *anchors;
  struct mask_entry *masks;
  char *strings, *environment;
  uint64_t cookie; /* in its place in identifiers */
  int fd;
  char *base; /* of the file, which is mapped as a whole; what is not allocated yet is not touched */
  uint32_t clock, limit, most_ready; /* segments at most; of those, how many are kept ready */
  _Atomic uint32_t *next; /* of each segment: index + 1 in the stack that it is in */
  _Atomic uint64_t ready; /* stack: a count against ABA above, index + 1 below */
  _Atomic uint32_t ready_count, ready_target, sealed, asleep, stopping, keeping;
  _Atomic uint32_t starved; /* there is nothing to make ready before a segment is full */
  _Atomic uint64_t ids, inits; /* inits: that there were */
  _Atomic int live; /* communicators */
  _Atomic(int *) mask; /* NCCL's, valid while a communicator lives */
  struct lock mask_lock, prepare_lock, anchor_lock;
  int wanted, duty_on_ms, duty_period_ms; /* what NCCL is asked for; the duty cycle, 0: always */
  uint32_t level;
  struct writer writers[thread_entries];
  char path[4096], host[256];
};

extern INTERNAL struct recorder recorder;
extern INTERNAL struct gate *recorder_gate; /* never NULL */
extern INTERNAL __thread struct writer *own_writer __attribute__((tls_model("initial-exec")));

/* clock.c */
INTERNAL uint32_t clock_choose(uint64_t *ticks_per_second);
INTERNAL uint64_t clock_monotonic_ns(void);
INTERNAL struct anchor clock_anchor(int tries);

/* settings.c: what the environment asks for; 0 or a sentence in error. */
struct settings { uint32_t level; uint64_t max_bytes; int duty_on_ms, duty_period_ms; char directory[3800], chain[4096]; };
INTERNAL int settings_read(struct settings *s, char *error, size_t room);
INTERNAL uint64_t number_in(const char *text, const char **end);
INTERNAL int settings_mask(uint32_t level);
INTERNAL uint32_t settings_environment(char *out, uint32_t room);

/* file.c: the file, its header and its tables. `caller` is an address in the library that called init: NCCL. */
INTERNAL int file_open(const struct settings *s, const void *caller, char *error, size_t room);
INTERNAL int file_may_grow(uint64_t to);
INTERNAL int file_allocate(uint64_t offset, uint64_t bytes);
INTERNAL int file_touch(char *at, uint64_t bytes);

/* describe.c: what is known of the process. */
INTERNAL void describe_process(struct file_header *h, const struct settings *s, const void *caller, struct gpu_entry *gpus);

/* crc.c */
INTERNAL uint32_t crc32c(uint32_t before, const void *bytes, size_t n);
INTERNAL uint32_t crc32c_of_head(const struct segment *s);
INTERNAL uint32_t crc32c_of_facts(const struct file_header *h, const struct gpu_entry *gpus);
INTERNAL void crc32c_of_comm(struct comm_entry *c);

/* store.c: the segments. */
INTERNAL int store_open(char *error, size_t room);
INTERNAL struct segment *store_take(uint32_t *index, int is_first);
INTERNAL int store_is_dry(void);
INTERNAL void store_seal(struct segment *s, uint32_t index);
INTERNAL int store_prepare(void);
INTERNAL void store_finish_sealed(void);
INTERNAL void store_finish_sealed_locked(void);
INTERNAL void store_check_open(void);
INTERNAL void store_check_open_locked(void);

/* keeper.c */
INTERNAL int keeper_start(void);
INTERNAL void keeper_wake(void);
INTERNAL void keeper_anchor(void);
INTERNAL int lock_try(struct lock *l);
INTERNAL int lock_wait(struct lock *l, uint64_t at_most_ns);
INTERNAL void lock_leave(struct lock *l);
INTERNAL void mask_set(int nccl, uint64_t recorded, uint32_t cause);
INTERNAL void mask_note(uint32_t cause);
INTERNAL void mask_follow_chain(void);

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
static inline int recording(void) { return atomic_load_explicit(&recorder_gate->cookie, memory_order_relaxed) != 0; }

static inline int wants(uint32_t code) { return atomic_load_explicit(&recorder_gate->recorded, memory_order_relaxed) >> code & 1; }

static inline int is_own(uint64_t id) { return recorder.cookie != 0 && (id ^ recorder.cookie) >> 48 == 0; }
static inline uint32_t code_of(uint64_t id) { return (uint32_t)(id >> sequence_bits) & 63; }
/* Of ours, and of an event that was not recorded. */
static inline int is_unrecorded(uint64_t id) { return (id ^ recorder.cookie) >> (sequence_bits + 5) == 1; }
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

/* The writer of this thread, NULL where it has none or is in it already: a signal handler came in between. */
static inline struct writer *writer_enter(void) {
  struct writer *w = likely(own_writer != NULL) ? own_writer : writer_attach();
  if (unlikely(w == NULL || atomic_load_explicit(&w->busy, memory_order_relaxed))) return NULL;
  atomic_store_explicit(&w->busy, 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  return w;
}

static inline void writer_leave(struct writer *w) {
  atomic_signal_fence(memory_order_seq_cst);
  atomic_store_explicit(&w->busy, 0, memory_order_relaxed);
}

#endif
