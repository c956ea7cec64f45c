/* The segments of the file: allocated and touched before anybody writes into them, so that a full disk is an error and never a signal in a
 * thread of NCCL. When the file may not grow, the oldest full segment is taken again.
 *
 * The file is mapped once. Pages of full segments leave the memory of the process many at a time: each such call interrupts every processor
 * on which a thread of the process runs. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "recorder.h"

static uint32_t *full;                                 /* ring of segments that are sealed, the oldest first; under prepare_lock */
static uint64_t full_first, full_mapped, full_next;    /* to be taken again next; the first whose pages are still ours; the end */
enum { most_ready = 192, first_ready = 48, most_kept = 64, tries = 50 };

static struct segment *segment_at(uint32_t index) {
  return (struct segment *)(void *)(recorder.base + recorder.header->segments_offset + (uint64_t)index * segment_bytes);
}

/* The stack of segments that are ready. */

static void push_ready(uint32_t index) {
  uint64_t head = atomic_load(&recorder.ready), next;
  do {
    atomic_store_explicit(&recorder.next[index], (uint32_t)head, memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!atomic_compare_exchange_weak(&recorder.ready, &head, next));
  atomic_fetch_add(&recorder.ready_count, 1);
}

static uint32_t pop_ready(void) {
  uint64_t head = atomic_load_explicit(&recorder.ready, memory_order_acquire), next;
  do {
    uint32_t index = (uint32_t)head;
    if (index == 0) return 0;
    next = ((head >> 32) + 1) << 32 | atomic_load_explicit(&recorder.next[index - 1], memory_order_relaxed);
  } while (!atomic_compare_exchange_weak(&recorder.ready, &head, next));
  atomic_fetch_sub(&recorder.ready_count, 1);
  return (uint32_t)head;
}


static int prepare_locked(void);

/* Prepares a segment unless another thread is at it. */
static void prepare_here(void) {
  if (!lock_try(&recorder.prepare_lock)) {
    sched_yield();
    return;
  }
  store_finish_sealed_locked();
  prepare_locked();
  lock_leave(&recorder.prepare_lock);
}

/* Whether nothing is ready and the keeper will see to it. It is asked in every callback of an overload, so it only looks. */
int store_is_dry(void) {
  if ((uint32_t)atomic_load_explicit(&recorder.ready, memory_order_relaxed) != 0) return 0;
  if (atomic_load_explicit(&recorder.keeping, memory_order_relaxed) == 0) return 0;
  if (relaxed32(&recorder.starved) == 0 || relaxed32(&recorder.sealed) != 0) keeper_wake();
  return 1;
}

/* Many threads may begin at once, more than there is room ready for: the first segment of a thread is prepared by itself, as all are where
 * there is no keeper. It is tried so many times and then given up: nobody waits for a disk. */
struct segment *store_take(uint32_t *index, int is_first) {
  uint32_t found = pop_ready();
  int keeping = atomic_load_explicit(&recorder.keeping, memory_order_relaxed) != 0;
  for (int i = 0; found == 0 && i < (is_first ? tries : !keeping); i++) {
    prepare_here();
    found = pop_ready();
  }
  if (keeping) {
    uint32_t left = atomic_load_explicit(&recorder.ready_count, memory_order_relaxed), target = atomic_load_explicit(&recorder.ready_target, memory_order_relaxed);
    if (left < target / 2) atomic_store_explicit(&recorder.ready_target, target * 2 < recorder.most_ready ? target * 2 : recorder.most_ready, memory_order_relaxed);
    if (left < target / 2) keeper_wake(); /* else it looks by itself */
  }
  if (found == 0) return NULL;
  *index = found - 1;
  return segment_at(found - 1);
}

void store_seal(struct segment *s, uint32_t index) {
  s->sealed_ticks = ticks_now();
  atomic_store_explicit(&s->state, segment_sealed, memory_order_release);
  uint32_t head = atomic_load(&recorder.sealed);
  do atomic_store_explicit(&recorder.next[index], head, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&recorder.sealed, &head, index + 1));
}

/* The checksum of what a reader reads: the head up to it, and the slots. */
static void check_in(struct segment *s) {
  uint64_t n = atomic_load_explicit(&s->committed, memory_order_acquire);
  uint32_t crc = crc32c(0, s, offsetof(struct segment, crc));
  s->crc = crc32c(crc, s + 1, (n < segment_slots ? n : segment_slots) * sizeof(struct record));
  atomic_store_explicit(&s->crc_made, 1, memory_order_release);
}

/* Goes on with the checksum of an open segment: what is whole of it. prepare_lock is held, so that nobody takes the segment again. Only its thread
 * adds slots, and changes none that are whole. */
static void check_open(struct segment *s) {
  uint64_t n = atomic_load_explicit(&s->committed, memory_order_acquire), running = relaxed64(&s->running), covered = running >> 32;
  if (n > segment_slots || covered >= n || relaxed32(&s->state) == segment_ready) return;
  uint32_t crc = covered ? (uint32_t)running : crc32c_of_head(s);
  crc = crc32c(crc, (const struct record *)(const void *)(s + 1) + covered, (n - covered) * sizeof(struct record));
  atomic_store_explicit(&s->running, n << 32 | crc, memory_order_release);
}

void store_check_open_locked(void) {
  uint32_t used = relaxed32(&recorder.header->threads_used);
  for (uint32_t i = 0; i < used && i < thread_entries; i++) {
    struct segment *s = atomic_load_explicit(&recorder.writers[i].in, memory_order_acquire);
    if (s != NULL) check_open(s);
  }
}

void store_check_open(void) {
  lock_wait(&recorder.prepare_lock, UINT64_MAX);
  store_check_open_locked();
  lock_leave(&recorder.prepare_lock);
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Gives the pages of full segments back, neighbours in one call. They are the file's: what is in them stays. */
static void release_pages(void) {
  uint32_t all[most_kept], n = 0;
  while (full_mapped < full_next && n < most_kept) all[n++] = full[full_mapped++ % recorder.limit];
  qsort(all, n, sizeof *all, by_number);
  for (uint32_t i = 0, from = 0; i < n; i++) {
    if (i + 1 < n && all[i + 1] == all[i] + 1) continue;
    madvise(segment_at(all[from]), (uint64_t)(i + 1 - from) * segment_bytes, MADV_DONTNEED);
    from = i + 1;
  }
}

/* Gives what writers have sealed its checksum, and remembers it from the oldest to the newest. */
void store_finish_sealed_locked(void) {
  uint32_t index = atomic_exchange(&recorder.sealed, 0), reversed = 0;
  while (index != 0) { /* the newest came first */
    uint32_t next = atomic_load(&recorder.next[index - 1]);
    atomic_store(&recorder.next[index - 1], reversed);
    reversed = index;
    index = next;
  }
  while (reversed != 0) {
    uint32_t k = reversed - 1;
    reversed = atomic_load(&recorder.next[k]);
    check_in(segment_at(k));
    full[full_next++ % recorder.limit] = k;
    if (full_next - full_mapped >= most_kept) release_pages();
  }
}

void store_finish_sealed(void) {
  lock_wait(&recorder.prepare_lock, UINT64_MAX);
  store_finish_sealed_locked();
  lock_leave(&recorder.prepare_lock);
}

/* Counts what a segment holds that makes room for something newer. */
static void count_overwritten(const struct segment *s) {
  const struct record *r = (const struct record *)(const void *)(s + 1);
  uint64_t n = atomic_load(&s->committed), by_code[codes] = {0}, all = 0;
  for (uint64_t i = 0; i < n && i < segment_slots && r[i].slots != 0; i += r[i].slots) {
    if (r[i].kind == kind_loss || r[i].kind == kind_thread) continue;
    by_code[r[i].kind == kind_start && r[i].code < codes ? r[i].code : is_own(r[i].id) ? code_of(r[i].id) % codes : code_foreign]++;
    all++;
  }
  for (int code = 0; code < codes; code++) set64(&recorder.header->overwritten[code], relaxed64(&recorder.header->overwritten[code]) + by_code[code]);
  set64(&recorder.header->overwritten_records, relaxed64(&recorder.header->overwritten_records) + all);
  set64(&recorder.header->overwritten_segments, relaxed64(&recorder.header->overwritten_segments) + 1);
}

/* A new segment at the end of the file; its index + 1, or 0 where the file may not grow. */
static uint32_t grow(void) {
  uint32_t k = relaxed32(&recorder.header->segments);
  if (k >= recorder.limit) return 0;
  uint64_t at = recorder.header->segments_offset + (uint64_t)k * segment_bytes;
  int failed = file_may_grow(at + segment_bytes);
  if (failed == 0) failed = file_allocate(at, segment_bytes);
  if (failed == 0) failed = file_touch(recorder.base + at, segment_bytes);
  set32(&recorder.header->storage_errno, (uint32_t)failed);
  if (failed != 0) atomic_fetch_or(&recorder.header->flags, file_storage_short);
  return failed == 0 ? k + 1 : 0;
}

/* The oldest full segment; its index + 1, or 0 where there is none. */
static uint32_t take_again(void) {
  if (full_first == full_next) return 0;
  uint32_t k = full[full_first % recorder.limit];
  if (file_touch((char *)segment_at(k), segment_bytes) != 0) return 0;
  full_first++;
  if (full_mapped < full_first) full_mapped = full_first;
  count_overwritten(segment_at(k));
  return k + 1;
}

/* Makes one segment ready; 0 where there is none to make. */
static int prepare_locked(void) {
  uint32_t found = grow();
  int grown = found != 0;
  if (!grown) found = take_again();
  if (found == 0) return 0;
  struct segment *s = segment_at(found - 1);
  /* Readers look at the generation before and after: what they have read in between of the former one does not count. The new one never
   * stands beside what was committed in the former. */
  uint64_t generation = grown ? 0 : atomic_load(&s->generation);
  atomic_store(&s->committed, 0);
  atomic_store(&s->crc_made, 0);
  atomic_store(&s->running, 0);
  atomic_store(&s->state, segment_ready);
  atomic_store(&s->generation, generation + 1);
  s->magic = segment_magic;
  s->index = found - 1;
  s->sealed_ticks = 0;
  if (grown) atomic_store_explicit(&recorder.header->segments, found, memory_order_release);
  push_ready(found - 1);
  return 1;
}

int store_prepare(void) {
  lock_wait(&recorder.prepare_lock, UINT64_MAX);
  int made = prepare_locked();
  lock_leave(&recorder.prepare_lock);
  return made;
}

int store_open(char *error, size_t room) {
  recorder.most_ready = recorder.limit / 16; /* of a large file; the rest is what a file is for */
  if (recorder.most_ready < most_ready) recorder.most_ready = recorder.limit / 4 < most_ready ? recorder.limit / 4 : most_ready;
  recorder.next = calloc(recorder.limit, sizeof *recorder.next);
  full = calloc(recorder.limit, sizeof *full);
  if (!recorder.next || !full) {
    snprintf(error, room, "no memory");
    return -1;
  }
  atomic_store(&recorder.ids, 1);
  atomic_store(&recorder.ready_target, first_ready < recorder.most_ready ? first_ready : recorder.most_ready);
  return 0;
}
