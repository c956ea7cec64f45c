/* The keeper: a thread that keeps segments ready, reads the clocks once a second, looks whether somebody else has changed NCCL's mask,
 * and switches it for the duty cycle. It blocks all signals and never ends before the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"
#include "libc.h"

AS_IN_OLD_GLIBC(pthread_create);

static const uint64_t second = 1000000000, nap = 2000000, first_anchor = 2000000;

/* Locks. Nobody holds one for longer than a disk takes to make a segment ready. */

int lock_try(struct lock *l) {
  uint32_t is_free = 0;
  return atomic_compare_exchange_strong_explicit(&l->is_held, &is_free, 1, memory_order_acquire, memory_order_relaxed);
}

int lock_wait(struct lock *l, uint64_t at_most_ns) {
  const uint64_t pause = 20000;
  for (uint64_t waited = 0; !lock_try(l); waited += pause) {
    if (waited >= at_most_ns) return 0;
    struct timespec t = {0, (long)pause};
    if (waited < 4 * pause) sched_yield();
    else nanosleep(&t, NULL);
  }
  return 1;
}

void lock_leave(struct lock *l) { atomic_store_explicit(&l->is_held, 0, memory_order_release); }

void keeper_wake(void) {
  if (atomic_load_explicit(&recorder.asleep, memory_order_relaxed) == 0) return;
  if (atomic_exchange(&recorder.asleep, 0) == 0) return;
  int before = errno;
  syscall(SYS_futex, &recorder.asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = before;
}

/* From a nap nobody wakes it: a wake is a system call in a callback. */
static void sleep_until_woken(uint64_t ns) {
  struct timespec wait = {(time_t)(ns / second), (long)(ns % second)};
  if (ns <= nap) {
    nanosleep(&wait, NULL);
    return;
  }
  atomic_store(&recorder.asleep, 1);
  if (atomic_load(&recorder.ready_count) < atomic_load(&recorder.ready_target) / 2 && (atomic_load(&recorder.starved) == 0 || atomic_load(&recorder.sealed) != 0)) {
    atomic_store(&recorder.asleep, 0); /* somebody took one in between */
    return;
  }
  syscall(SYS_futex, &recorder.asleep, FUTEX_WAIT_PRIVATE, 1, &wait, NULL, 0);
  atomic_store(&recorder.asleep, 0);
}

/* anchor_lock is held, or there is no second thread yet. */
void keeper_anchor(void) {
  struct file_header *h = recorder.header;
  uint64_t n = relaxed64(&h->anchors_written);
  struct anchor_entry *e = &recorder.anchors[n % anchor_entries];
  atomic_store_explicit(&e->number, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  e->anchor = clock_anchor(3);
  uint64_t number = n + 1;
  e->crc = crc32c(crc32c(0, &number, sizeof number), &e->anchor, sizeof e->anchor);
  atomic_store_explicit(&e->number, number, memory_order_release);
  atomic_store_explicit(&h->anchors_written, n + 1, memory_order_release);
  set64(&h->heartbeat_ticks, e->anchor.ticks);
}

/* Masks. mask_lock is held. */
static void write_mask(int nccl, uint32_t cause) {
  struct file_header *h = recorder.header;
  uint64_t n = relaxed64(&h->masks_written);
  struct mask_entry *e = &recorder.masks[n % mask_entries];
  atomic_store_explicit(&e->number, 0, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  e->ticks = ticks_now();
  e->nccl = (uint32_t)nccl;
  e->recorded = (uint32_t)atomic_load(&recorder_gate->recorded);
  e->cause = cause;
  uint64_t number = n + 1;
  e->crc = crc32c(crc32c(0, &number, sizeof number), &e->ticks, offsetof(struct mask_entry, crc) - offsetof(struct mask_entry, ticks));
  atomic_store_explicit(&e->number, number, memory_order_release);
  atomic_store_explicit(&h->masks_written, n + 1, memory_order_release);
}

static int last_seen;

void mask_note(uint32_t cause) {
  int *mask = atomic_load(&recorder.mask);
  if (mask == NULL || atomic_load(&recorder.live) <= 0) return;
  int now = __atomic_load_n(mask, __ATOMIC_RELAXED);
  if (now == last_seen && cause == mask_other) return;
  last_seen = now;
  write_mask(now, cause);
}

/* Asks NCCL for other types and records other types. NCCL's variable is written only while a communicator lives: its library is there. */
void mask_set(int nccl, uint64_t recorded, uint32_t cause) {
  atomic_store(&recorder_gate->recorded, recorded);
  int *mask = atomic_load(&recorder.mask);
  nccl |= chain_mask();
  if (mask != NULL && atomic_load(&recorder.live) > 0) __atomic_store_n(mask, nccl, __ATOMIC_RELAXED);
  last_seen = nccl;
  write_mask(nccl, cause);
}

/* The second plug-in may change what it asks for as it may change NCCL's mask, of which it has the address without a first one. */
void mask_follow_chain(void) {
  static int before;
  int now = chain_mask();
  if (now == before) return;
  before = now;
  mask_set(recorder.wanted, atomic_load(&recorder_gate->recorded), mask_chain);
}

/* The duty cycle: the level that was asked for during a part of each period, level 0 else. */
static void turn_duty(uint64_t now, uint64_t began) {
  if (recorder.duty_period_ms == 0) return;
  static int is_on = 1;
  uint64_t in_period = (now - began) / 1000000 % (uint64_t)recorder.duty_period_ms;
  int on = in_period < (uint64_t)recorder.duty_on_ms;
  if (on == is_on) return;
  is_on = on;
  lock_wait(&recorder.mask_lock, UINT64_MAX);
  recorder.wanted = settings_mask(on ? recorder.level : 0);
  mask_set(recorder.wanted, atomic_load(&recorder_gate->recorded), mask_duty);
  lock_leave(&recorder.mask_lock);
}

/* How long to sleep. While segments are taken the keeper looks after each nap, so that callbacks need not wake it. */
static uint64_t pause_ns(uint64_t until_anchor, int busy) {
  uint64_t wait = until_anchor;
  if (recorder.duty_period_ms && wait > second / 20) wait = second / 20;
  return busy && wait > nap ? nap : wait;
}

static void *keep(void *unused) {
  (void)unused;
  struct sched_param none = {0};
  prctl(PR_SET_NAME, "prlx-nccl", 0, 0, 0);
  sched_setscheduler(0, SCHED_BATCH, &none); /* a thread of this kind does not take the processor from the one that wakes it */
  uint64_t began = clock_monotonic_ns(), next_anchor = began, until_next = first_anchor;
  while (!atomic_load(&recorder.stopping)) {
    int starved = 0, busy = 0;
    store_finish_sealed();
    while (!starved && atomic_load(&recorder.ready_count) < atomic_load(&recorder.ready_target)) {
      starved = !store_prepare();
      busy = !starved;
      store_finish_sealed();
    }
    uint64_t now = clock_monotonic_ns();
    if (now >= next_anchor) {
      store_check_open(); /* before the clocks: what is older than the last reading is in a checksum */
      store_finish_sealed(); /* also of those that were full before they were looked at */
      if (lock_try(&recorder.anchor_lock)) { /* else the process ends, and that is the last one */
        keeper_anchor();
        lock_leave(&recorder.anchor_lock);
      }
      next_anchor = now + until_next;
      until_next = until_next < second / 4 ? 4 * until_next : second; /* the rate of the counter is known early */
      lock_wait(&recorder.mask_lock, UINT64_MAX);
      mask_note(mask_other);
      mask_follow_chain();
      lock_leave(&recorder.mask_lock);
    }
    turn_duty(now, began);
    atomic_store(&recorder.starved, (uint32_t)starved);
    sleep_until_woken(pause_ns(next_anchor - now, busy));
  }
  return NULL;
}

int keeper_start(void) {
  sigset_t all, before;
  pthread_attr_t attributes;
  pthread_t thread;
  if (!pthread_create || pthread_attr_init(&attributes) != 0) return -1;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all); /* but for the two by which libc makes all threads change their user */
  sigprocmask(SIG_SETMASK, &all, &before); /* of this thread, and the new one inherits it: no handler of the program runs on it */
  atomic_store(&recorder.keeping, 1);
  int failed = pthread_create(&thread, &attributes, keep, NULL);
  sigprocmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (failed) atomic_store(&recorder.keeping, 0);
  return failed;
}
