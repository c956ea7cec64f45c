/* What the program does wrong with the runtime: frees what is none of its, and reads what an asynchronous copy has not brought yet. */
#define _GNU_SOURCE
#include "work.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

void wrong(const char *check, const char *call) {
  const char *why = NULL;
  cuGetErrorString(cudaErrorInvalidValue, &why);
  prlx_cuda_note(check, call, why ? why : "an error of the driver", NULL);
}

/* ---- targets of copies ---- */

/* A copy into pinned memory is there at once, but the program may not know that: until it waits, the pages of the target cannot be read or
 * written by the program. What waits for anything ends that for all targets, so a program that waits in any way is never blamed. */
enum { page = 4096, most = 256 };
static struct { char *from, *to; } pending[most];
static struct { char *at; void *pc; } touched[16];
static int pending_count, touched_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction former;

static void fault(int number, siginfo_t *info, void *context) {
  char *at = info->si_addr;
  ucontext_t *u = context;
  for (int i = 0; i < __atomic_load_n(&pending_count, __ATOMIC_ACQUIRE); i++) {
    if (at < pending[i].from || at >= pending[i].to) continue;
    mprotect(pending[i].from, (size_t)(pending[i].to - pending[i].from), PROT_READ | PROT_WRITE);
    int n = __atomic_fetch_add(&touched_count, 1, __ATOMIC_RELAXED);
    if (n < 16) {
      touched[n].at = at;
#if defined __x86_64__
      touched[n].pc = (void *)(uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
      touched[n].pc = (void *)(uintptr_t)u->uc_mcontext.pc;
#else
      (void)u;
#endif
    }
    return;
  }
  if (former.sa_flags & SA_SIGINFO) former.sa_sigaction(number, info, context);
  else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) former.sa_handler(number);
  else sigaction(number, &former, NULL); /* comes again, and ends the process */
}

static void say_touched(void) {
  int n = touched_count < 16 ? touched_count : 16;
  touched_count = 0;
  for (int i = 0; i < n; i++) {
    char text[200];
    snprintf(text, sizeof text, "the program uses %p, into which an asynchronous copy writes that it has not waited for", (void *)touched[i].at);
    struct place where = {{touched[i].pc}};
    prlx_cuda_note("unwaited-copy", "cudaMemcpyAsync", text, &where);
  }
}

void waited(void) {
  if (!__atomic_load_n(&pending_count, __ATOMIC_RELAXED)) return;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < pending_count; i++) mprotect(pending[i].from, (size_t)(pending[i].to - pending[i].from), PROT_READ | PROT_WRITE);
  pending_count = 0;
  say_touched();
  pthread_mutex_unlock(&lock);
}

void not_waited(const struct cudaMemcpy3DParms *p) {
  char *at = p->dstPtr.ptr;
  size_t bytes = p->extent.width, size = 0;
  CUdeviceptr base = 0;
  if (p->dstArray || p->extent.height != 1 || p->extent.depth != 1 || !watched() || kind_of(at) != cudaMemoryTypeHost) return;
  if (!p->srcArray && kind_of(p->srcPtr.ptr) == cudaMemoryTypeUnregistered) return; /* from memory of the program, which it has */
  if (cuMemGetAddressRange_v2(&base, &size, (CUdeviceptr)(uintptr_t)at)) return;   /* registered memory shares its pages with others */
  uintptr_t from = ((uintptr_t)at + page - 1) / page * page, to = (uintptr_t)at + bytes;
  to = to == base + size ? (to + page - 1) / page * page : to / page * page; /* behind the allocation the page is nobody's */
  if (from >= to || pending_count == most) return;
  pthread_mutex_lock(&lock);
  static int installed;
  if (!installed++) {
    struct sigaction ours = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &ours, &former);
  }
  if (mprotect((void *)from, to - from, PROT_NONE) == 0) {
    pending[pending_count].from = (char *)from, pending[pending_count].to = (char *)to;
    __atomic_store_n(&pending_count, pending_count + 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void end(void) { waited(); }
