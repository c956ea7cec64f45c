/* The writers of threads: which entry a thread has, how it gets its next segment, and what it counts while there is none. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder.h"

__thread struct writer *own_writer __attribute__((tls_model("initial-exec"))) = NULL;

enum { id_block = 4096, looked_at = 64 };

static int is_gone(uint32_t tid) {
  return syscall(SYS_tgkill, getpid(), (int)tid, 0) != 0 && errno == ESRCH;
}

/* Sees all that the former owner has done. The kernel orders it already, for that thread has ended; the language knows it from this. */
static struct writer *heir(struct writer *w) {
  struct segment *in = atomic_load_explicit(&w->in, memory_order_acquire);
  if (in != NULL) atomic_load_explicit(&in->committed, memory_order_acquire);
  atomic_load_explicit(&w->entry->pending, memory_order_acquire);
  atomic_store_explicit(&w->busy, 0, memory_order_relaxed); /* it may have ended within a callback */
  return w;
}

/* Takes the entry of a thread that has ended, with the segment that it left half full. Threads have no destructor of ours: NCCL may unload
 * libraries, and a program may end threads without one. */
static struct writer *inherit(uint32_t tid, uint32_t from, uint32_t entries) {
  uint32_t used = relaxed32(&recorder.header->threads_used);
  if (used > thread_entries) used = thread_entries;
  for (uint32_t i = 0; i < used && i < entries; i++) {
    uint32_t k = (from + i) % used;
    uint32_t owner = relaxed32(&recorder.threads[k].tid);
    if (owner == 0 || (owner != tid && !is_gone(owner))) continue; /* the same number: ours now, so that thread has ended */
    if (atomic_compare_exchange_strong(&recorder.threads[k].tid, &owner, tid)) return heir(&recorder.writers[k]);
  }
  return NULL;
}

static struct writer *fresh(uint32_t tid) {
  uint32_t k = relaxed32(&recorder.header->threads_used);
  do {
    if (k >= thread_entries) return NULL;
  } while (!atomic_compare_exchange_weak(&recorder.header->threads_used, &k, k + 1));
  recorder.writers[k].index = k;
  recorder.writers[k].entry = &recorder.threads[k];
  atomic_store(&recorder.threads[k].tid, tid);
  return &recorder.writers[k];
}

/* Says in the segment that another thread goes on in it. */
static void announce(struct writer *w, uint32_t tid, uint32_t generation) {
  struct record *r = writer_reserve(w, 1);
  if (r == NULL) return; /* whoever opens the next segment says it there */
  *r = (struct record){.ticks = ticks_now(), .id = tid, .comm = comm_elsewhere, .kind = kind_thread, .slots = 1, .extra = (uint16_t)w->index};
  r->value = generation;
  writer_commit(w, 1);
}

struct writer *writer_attach(void) {
  if (!recording()) return NULL;
  static _Atomic uint32_t turn;
  int before = errno; /* NCCL's */
  uint32_t tid = (uint32_t)syscall(SYS_gettid);
  struct writer *w = inherit(tid, atomic_fetch_add(&turn, looked_at), looked_at);
  if (w == NULL) w = fresh(tid);
  if (w == NULL) w = inherit(tid, 0, thread_entries);
  if (w != NULL) {
    uint32_t generation = relaxed32(&w->entry->generation) + 1;
    set32(&w->entry->generation, generation);
    prctl(PR_GET_NAME, w->entry->name, 0, 0, 0);
    if (atomic_load_explicit(&w->in, memory_order_relaxed) != NULL) announce(w, tid, generation);
    own_writer = w;
  }
  errno = before;
  return w;
}

uint64_t writer_ids(struct writer *w) {
  w->next_id = atomic_fetch_add_explicit(&recorder.ids, id_block, memory_order_relaxed);
  w->last_id = w->next_id + id_block;
  return w->next_id++;
}

/* Writes what was lost since the last loss record, if there is any. */
static void report_losses(struct writer *w) {
  struct thread_entry *e = w->entry;
  if (relaxed64(&e->pending) == 0) return;
  for (uint32_t code = 0; code < codes; code++) {
    uint64_t lost = relaxed64(&e->lost[code]) - w->reported[code];
    if (lost == 0) continue;
    *w->at = (struct record){.ticks = relaxed64(&e->pending_last), .id = lost, .value = relaxed64(&e->pending_first), .comm = comm_elsewhere, .kind = kind_loss, .slots = 1, .code = (uint8_t)code};
    writer_commit(w, 1);
    w->reported[code] += lost;
  }
  atomic_store_explicit(&e->pending, 0, memory_order_release);
}

struct record *writer_next(struct writer *w, uint32_t slots) {
  uint32_t index;
  struct segment *before = atomic_load_explicit(&w->in, memory_order_relaxed);
  if (before != NULL && store_is_dry()) return NULL;
  struct segment *s = store_take(&index, before == NULL && relaxed64(&w->entry->pending) == 0);
  if (s == NULL) return NULL;
  if (before != NULL) store_seal(before, w->segment);
  s->thread = w->index;
  s->thread_generation = relaxed32(&w->entry->generation);
  s->tid = relaxed32(&w->entry->tid);
  s->order = atomic_fetch_add_explicit(&recorder.header->opened, 1, memory_order_relaxed);
  s->opened = clock_anchor(1);
  atomic_store_explicit(&s->state, segment_open, memory_order_release);
  w->segment = index;
  w->at = (struct record *)((char *)s + sizeof *s);
  w->left = segment_slots;
  atomic_store_explicit(&w->in, s, memory_order_release);
  report_losses(w);
  return w->left >= slots ? w->at : NULL;
}

void writer_lose(struct writer *w, uint32_t code, uint64_t ticks) {
  struct thread_entry *e = w->entry;
  if (relaxed64(&e->pending) == 0) set64(&e->pending_first, ticks);
  set64(&e->pending_last, ticks);
  set64(&e->lost[code], relaxed64(&e->lost[code]) + 1);
  atomic_store_explicit(&e->pending, relaxed64(&e->pending) + 1, memory_order_release);
}

void writer_lose_nowhere(uint32_t code) {
  if (recorder.header) atomic_fetch_add_explicit(&recorder.header->lost[code], 1, memory_order_relaxed);
}
