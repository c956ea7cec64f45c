/* Loaded before everything else (LD_PRELOAD): a libc whose memory can end, whose wall clock can jump, and that can make no thread.
 *
 * no_memory(1) makes malloc, calloc and realloc return NULL. PRELOAD_STEP=N: CLOCK_REALTIME is an hour later from the N-th reading on.
 * PRELOAD_NO_THREAD=1: the first pthread_create fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);

static _Atomic int is_empty;

void no_memory(int on) { is_empty = on; }

static int refuse(void) {
  if (is_empty) errno = ENOMEM;
  return is_empty;
}

void *malloc(size_t n) { return refuse() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t each) { return refuse() ? NULL : __libc_calloc(n, each); }
void *realloc(void *p, size_t n) { return refuse() ? NULL : __libc_realloc(p, n); }

int clock_gettime(clockid_t id, struct timespec *t) {
  static _Atomic int readings;
  int failed = (int)syscall(SYS_clock_gettime, id, t);
  const char *from = getenv("PRELOAD_STEP");
  if (id == CLOCK_REALTIME && from && ++readings >= atoi(from)) t->tv_sec += 3600;
  return failed;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg) {
  static _Atomic int calls;
  if (getenv("PRELOAD_NO_THREAD") && calls++ == 0) return EAGAIN;
  int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attributes, run, arg);
}
