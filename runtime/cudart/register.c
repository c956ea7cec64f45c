/* What compilers register before a program begins: images of device code, the kernels and the variables in them. An image is loaded when the first of
 * its kernels or variables is asked for, so a program that uses no device starts none. */
#define _GNU_SOURCE
#include "cudart.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct variable { const void *host; struct binary *binary; const char *name; size_t bytes; };
struct table { void **at; size_t count, room; }; /* by their first member, an address */
static struct table kernels, handles, variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place(const struct table *t, const void *key) {
  size_t i = (size_t)((uintptr_t)key * 0x9e3779b97f4a7c15ull >> 20) & (t->room - 1);
  while (t->at[i] && *(const void **)t->at[i] != key) i = (i + 1) & (t->room - 1);
  return i;
}

static void *find(const struct table *t, const void *key) { return t->room && key ? t->at[place(t, key)] : NULL; }

/* Whether the entry is the table's now: of a template that several sources have, the first will do. */
static int add(struct table *t, void *entry) {
  if (t->count * 2 >= t->room) {
    struct table more = {calloc(t->room ? t->room * 2 : 256, sizeof *t->at), t->count, t->room ? t->room * 2 : 256};
    if (!more.at) return 0;
    for (size_t i = 0; i < t->room; i++)
      if (t->at[i]) more.at[place(&more, *(const void **)t->at[i])] = t->at[i];
    free(t->at);
    *t = more;
  }
  size_t i = place(t, *(const void **)entry);
  if (t->at[i]) return 0;
  t->at[i] = entry, t->count++;
  return 1;
}

/* A kernel is found by its host function, and by its handle, which is its own address. */
static void add_kernel(struct kernel *k) {
  pthread_mutex_lock(&lock);
  k->self = k;
  if (!add(&kernels, k) || !add(&handles, &k->self)) free(k);
  pthread_mutex_unlock(&lock);
}

API void **__cudaRegisterFatBinary(void *image) {
  struct binary *b = calloc(1, sizeof *b);
  if (b) b->image = image;
  return (void **)b;
}
API void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
API void __cudaUnregisterFatBinary(void **handle) { (void)handle; } /* the process ends */

API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid, void *bid, void *block, void *grid, int *warp) {
  (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  struct kernel *k = calloc(1, sizeof *k);
  if (!k) return;
  k->host = host, k->binary = (struct binary *)handle, k->name = name;
  add_kernel(k);
}

API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global) {
  (void)device, (void)external, (void)constant, (void)global;
  struct variable *v = calloc(1, sizeof *v);
  if (!v) return;
  v->host = host, v->binary = (struct binary *)handle, v->name = name, v->bytes = bytes;
  pthread_mutex_lock(&lock);
  if (!add(&variables, v)) free(v);
  pthread_mutex_unlock(&lock);
}
API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) { __cudaRegisterVar(handle, host, NULL, name, 0, bytes, 0, 0); }

static struct { void **pointer; struct binary *binary; const char *name; } managed[256];
static int managed_count;
API void __cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t bytes, int constant, int global) {
  __cudaRegisterVar(handle, (char *)pointer, device, name, external, bytes, constant, global);
  pthread_mutex_lock(&lock);
  if (managed_count < 256) managed[managed_count].pointer = pointer, managed[managed_count].binary = (struct binary *)handle, managed[managed_count++].name = name;
  pthread_mutex_unlock(&lock);
}

static cudaError_t load(struct binary *b) {
  cudaError_t code = ready();
  pthread_mutex_lock(&lock);
  if (!code && !b->module && !b->refused && (b->refused = cuModuleLoadData(&b->module, b->image))) tell("the device code of the program cannot be loaded", b->refused);
  code = code ? code : b->refused;
  pthread_mutex_unlock(&lock);
  return done(code);
}

/* Managed variables are read through pointers: they point somewhere before the first of them is read. */
API char __cudaInitModule(void **handle) {
  struct binary *b = (struct binary *)handle;
  for (int i = 0; i < managed_count; i++) {
    CUdeviceptr at;
    if (managed[i].binary == b && load(b) == cudaSuccess && cuModuleGetGlobal_v2(&at, NULL, b->module, managed[i].name) == 0) *managed[i].pointer = (void *)(uintptr_t)at;
  }
  return 1;
}

struct kernel *kernel_of(const void *function) {
  pthread_mutex_lock(&lock);
  struct kernel *k = find(&kernels, function);
  if (!k && find(&handles, function)) k = (struct kernel *)(uintptr_t)function;
  pthread_mutex_unlock(&lock);
  return k;
}

cudaError_t function_of(CUfunction *into, const void *function) {
  struct kernel *k = kernel_of(function);
  if (!k) return done(cudaErrorInvalidDeviceFunction);
  if (!k->function) {
    cudaError_t code = load(k->binary);
    if (code) return code;
    if (cuModuleGetFunction(&k->function, k->binary->module, k->name)) return done(cudaErrorInvalidDeviceFunction);
  }
  *into = k->function;
  return cudaSuccess;
}

cudaError_t variable_of(CUdeviceptr *at, size_t *bytes, const void *host) {
  pthread_mutex_lock(&lock);
  struct variable *v = find(&variables, host);
  pthread_mutex_unlock(&lock);
  if (!v) return done(cudaErrorInvalidSymbol);
  cudaError_t code = load(v->binary);
  return code ? code : done(cuModuleGetGlobal_v2(at, bytes, v->binary->module, v->name) ? cudaErrorInvalidSymbol : cudaSuccess);
}

API cudaError_t __cudaGetKernel(cudaKernel_t *into, const void *function) {
  *into = kernel_of(function);
  return *into ? cudaSuccess : done(cudaErrorInvalidDeviceFunction);
}
API cudaError_t cudaGetKernel(cudaKernel_t *into, const void *function) { return into ? __cudaGetKernel(into, function) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGetFuncBySymbol(CUfunction *into, const void *function) { return into ? function_of(into, function) : done(cudaErrorInvalidValue); }

/* Images that a program brings by itself. */

API cudaError_t cudaLibraryLoadData(CUmodule *into, const void *code, int *o, void **ov, unsigned n, int *lo, void **lv, unsigned ln) {
  (void)o, (void)ov, (void)n, (void)lo, (void)lv, (void)ln;
  cudaError_t first = ready();
  return first ? first : done(cuModuleLoadData(into, code));
}
API cudaError_t cudaLibraryLoadFromFile(CUmodule *into, const char *file, int *o, void **ov, unsigned n, int *lo, void **lv, unsigned ln) {
  (void)o, (void)ov, (void)n, (void)lo, (void)lv, (void)ln;
  cudaError_t first = ready();
  return first ? first : done(cuModuleLoad(into, file));
}
API cudaError_t cudaLibraryUnload(CUmodule library) { return done(cuModuleUnload(library)); }
API cudaError_t cudaLibraryGetKernel(cudaKernel_t *into, CUmodule library, const char *name) {
  CUfunction f;
  int code = into ? cuModuleGetFunction(&f, library, name) : cudaErrorInvalidValue;
  struct kernel *k = code ? NULL : calloc(1, sizeof *k);
  if (!k) return done(code ? code : cudaErrorMemoryAllocation);
  k->host = f, k->function = f;
  cuFuncGetName(&k->name, f);
  add_kernel(k);
  *into = kernel_of(f);
  return cudaSuccess;
}
API cudaError_t cudaLibraryGetGlobal(void **at, size_t *bytes, CUmodule library, const char *name) {
  CUdeviceptr where;
  int code = cuModuleGetGlobal_v2(&where, bytes, library, name);
  if (!code && at) *at = (void *)(uintptr_t)where;
  return done(code);
}
