/* A layer over a libcuda that fails on demand: the recorder's calls, once each, or every call once the context is lost. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char armed[64]; /* the function that fails next; empty: none */
static int calls, status, lost, fired, late;
static void *gone[256]; /* streams that were destroyed */
static int n_gone;

/* The function fails when it has been called so many times more. */
void fault_arm(const char *function, int after, int code) {
  pthread_mutex_lock(&lock);
  strncpy(armed, function, sizeof armed - 1), calls = after, status = code, fired = 0;
  pthread_mutex_unlock(&lock);
}
int fault_fired(void) { return fired; }
void fault_lose_context(void) { lost = 1; }
void fault_delay_copies(int on) { late = on; }

static int due(const char *function) {
  int code = 0;
  pthread_mutex_lock(&lock);
  if (lost) code = 700, fired = 1;
  else if (strcmp(function, armed) == 0 && calls-- == 0) code = status, fired = 1, *armed = 0;
  pthread_mutex_unlock(&lock);
  return code;
}
static int is_gone(void *stream) {
  for (int i = 0; i < n_gone; i++)
    if (gone[i] == stream) return 1;
  return 0;
}
static void *under(const char *name) {
  static void *library;
  if (!library) library = dlopen("libcudb.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return dlsym(library, name);
}

/* Copies home that are put off until somebody waits for their stream. */
static struct { void *to; uint64_t from; size_t n; void *stream; } copies[64];
static int n_copies;

#define LAYER(name, stream, params, args) \
  int name params { \
    int code = due(#name); \
    if (code) return code; \
    if (is_gone(stream)) return 400; \
    return ((int (*) params)under(#name)) args; \
  }
#define NONE ((void *)1)
LAYER(cuMemAlloc_v2, NONE, (uint64_t *at, size_t n), (at, n))
LAYER(cuMemHostAlloc, NONE, (void **at, size_t n, unsigned flags), (at, n, flags))
LAYER(cuMemcpyHtoDAsync_v2, s, (uint64_t to, const void *from, size_t n, void *s), (to, from, n, s))
LAYER(cuMemsetD8Async, s, (uint64_t at, unsigned char value, size_t n, void *s), (at, value, n, s))
LAYER(cuMemcpyHtoD_v2, NONE, (uint64_t to, const void *from, size_t n), (to, from, n))
LAYER(cuMemcpyDtoH_v2, NONE, (void *to, uint64_t from, size_t n), (to, from, n))
LAYER(cuEventCreate, NONE, (void **event, unsigned flags), (event, flags))
LAYER(cuEventRecord, s, (void *event, void *s), (event, s))
LAYER(cuEventSynchronize, NONE, (void *event), (event))
LAYER(cuStreamIsCapturing, s, (void *s, int *to), (s, to))
LAYER(cuModuleLoadData, NONE, (void **to, const void *image), (to, image))
LAYER(cuLaunchKernel, s, (void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **values, void **extra),
      (f, x, y, z, bx, by, bz, shared, s, values, extra))
struct config { unsigned sizes[7]; void *stream; };
LAYER(cuLaunchKernelEx, config->stream, (const struct config *config, void *f, void **values, void **extra), (config, f, values, extra))

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s) {
  int code = due("cuMemcpyDtoHAsync_v2");
  if (code) return code;
  if (late && n_copies < 64) {
    copies[n_copies].to = to, copies[n_copies].from = from, copies[n_copies].n = n, copies[n_copies++].stream = s;
    return 0;
  }
  return ((int (*)(void *, uint64_t, size_t, void *))under("cuMemcpyDtoHAsync_v2"))(to, from, n, s);
}
int cuStreamSynchronize(void *s) {
  int code = due("cuStreamSynchronize"), left = 0;
  for (int i = 0; i < n_copies; i++) {
    if (copies[i].stream != s) copies[left++] = copies[i];
    else if (!code) code = ((int (*)(void *, uint64_t, size_t, void *))under("cuMemcpyDtoHAsync_v2"))(copies[i].to, copies[i].from, copies[i].n, s);
  }
  n_copies = left;
  return code ? code : ((int (*)(void *))under("cuStreamSynchronize"))(s);
}
int cuStreamDestroy_v2(void *s) {
  if (n_gone < 256) gone[n_gone++] = s; /* its memory is kept, so that no other stream gets its name */
  return 0;
}
