/* The driver API as programs call it, over whatever libcuda.so.1 there is. Prints what it saw, a line each. It declares what it calls by itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 counter = 5;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n, .param .u16 by)\n{\n\t.reg .pred %q<2>;\n\t.reg .b16 %h<2>;\n\t.reg .b32 %r<6>;\n\t.reg .b64 %d<5>;\n"
    "\tld.param.u64 %d1, [p];\n\tld.param.u32 %r1, [n];\n\tld.param.u16 %h1, [by];\n\tcvt.u32.u16 %r5, %h1;\n\tmov.u32 %r2, %tid.x;\n\tsetp.ge.u32 %q1, %r2, %r1;\n\t@%q1 bra $done;\n"
    "\tmul.wide.u32 %d2, %r2, 4;\n\tadd.s64 %d3, %d1, %d2;\n\tld.global.u32 %r3, [%d3];\n\tadd.s32 %r4, %r3, %r5;\n\tst.global.u32 [%d3], %r4;\n"
    "\tmov.u64 %d4, counter;\n\tred.global.add.u32 [%d4], 1;\n$done:\n\tret;\n}\n";

typedef uint64_t ptr;
static void *lib;
#define F(name, ...) ((int (*)(__VA_ARGS__))dlsym(lib, name))

static const char *text(int code) {
  const char *s = NULL;
  F("cuGetErrorString", int, const char **)(code, &s);
  return s ? s : "?";
}
static void must(const char *what, int code) {
  if (code) printf("%s: %d %s\n", what, code, text(code)), exit(1);
}
static void refused(const char *what, int code) { printf("%s: %d %s\n", what, code, text(code)); }

static void *function;
static int launch(ptr p, uint32_t n, uint16_t by) {
  void *values[] = {&p, &n, &by};
  return F("cuLaunchKernel", void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)(function, 1, 1, 1, 64, 1, 1, 0, NULL, values, NULL);
}

static void *worker(void *number) {
  uint32_t seen[16];
  ptr p;
  must("alloc", F("cuMemAlloc_v2", ptr *, size_t)(&p, sizeof seen));
  must("set", F("cuMemsetD32_v2", ptr, unsigned, size_t)(p, 0, 16));
  for (int i = 0; i < 50; i++) must("launch", launch(p, 16, (uint16_t)(uintptr_t)number));
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(seen, p, sizeof seen));
  must("free", F("cuMemFree_v2", ptr)(p));
  return (void *)(uintptr_t)(seen[0] == 50 * (uint32_t)(uintptr_t)number && seen[15] == seen[0]);
}

static void pools(void) {
  struct { int type, handles, where, id; uint64_t rest[16]; } host = {1, 0, 2, 0, {0}}, device = {1, 0, 1, 0, {0}};
  void *preset, *own, *now;
  uint64_t keep = 7;
  ptr p;
  must("preset pool", F("cuDeviceGetDefaultMemPool", void **, int)(&preset, 0));
  must("kept", F("cuMemPoolSetAttribute", void *, int, void *)(preset, 4, &keep));
  keep = 0;
  must("kept", F("cuMemPoolGetAttribute", void *, int, void *)(preset, 4, &keep));
  must("pool", F("cuMemPoolCreate", void **, const void *)(&own, &device));
  must("set pool", F("cuDeviceSetMemPool", int, void *)(0, own));
  must("get pool", F("cuDeviceGetMemPool", void **, int)(&now, 0));
  must("from pool", F("cuMemAllocFromPoolAsync", ptr *, size_t, void *, void *)(&p, 64, own, NULL));
  must("free", F("cuMemFreeAsync", ptr, void *)(p, NULL));
  must("destroy", F("cuMemPoolDestroy", void *)(own));
  printf("pool keeps %d, %d\n", (int)keep, now == own);
  must("get pool", F("cuDeviceGetMemPool", void **, int)(&now, 0));
  refused(now == preset ? "pool of the host" : "?", F("cuMemPoolCreate", void **, const void *)(&own, &host));
}

int main(void) {
  int n, value, status;
  void *context, *module, *found;
  char name[64];
  ptr p, q, variable;
  size_t bytes;
  if (!(lib = dlopen("libcuda.so.1", RTLD_NOW))) return printf("%s\n", dlerror()), 1;
  must("init", F("cuInit", unsigned)(0));
  must("count", F("cuDeviceGetCount", int *)(&n));
  must("name", F("cuDeviceGetName", char *, int, int)(name, sizeof name, 0));
  must("shared", F("cuDeviceGetAttribute", int *, int, int)(&value, 97, 0));
  printf("%d device, %s, %d bytes of shared memory\n", n, name, value);
  must("retain", F("cuDevicePrimaryCtxRetain", void **, int)(&context, 0));
  must("current", F("cuCtxSetCurrent", void *)(context));
  refused("device 1", F("cuDeviceGet", int *, int)(&value, 1));

  must("alloc", F("cuMemAlloc_v2", ptr *, size_t)(&p, 64));
  must("alloc", F("cuMemAlloc_v2", ptr *, size_t)(&q, 64));
  must("set", F("cuMemsetD32_v2", ptr, unsigned, size_t)(p, 7, 16));
  uint32_t seen[16] = {0};
  must("copy", F("cuMemcpyDtoD_v2", ptr, ptr, size_t)(q, p, 64));
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(seen, q, 64));
  printf("copied %u %u\n", seen[0], seen[15]);
  refused("too much", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(seen, q + 8, 64) ? 1 : 0);
  must("range", F("cuMemGetAddressRange_v2", ptr *, size_t *, ptr)(&variable, &bytes, q + 60));
  printf("range %d %zu\n", variable == q, bytes);
  pools();
  refused("no pointer", F("cuPointerGetAttribute", void *, int, ptr)(&variable, 3, 12345) ? 1 : 0);

  must("load", F("cuModuleLoadData", void **, const void *)(&module, ptx));
  refused("machine code", F("cuModuleLoadData", void **, const void *)(&found, "\177ELF and so on"));
  printf("no PTX: %d\n", F("cuModuleLoadData", void **, const void *)(&found, "// nothing\n.version 8.0\nnonsense\n"));
  must("function", F("cuModuleGetFunction", void **, void *, const char *)(&function, module, "add"));
  refused("no function", F("cuModuleGetFunction", void **, void *, const char *)(&found, module, "sub"));
  must("variable", F("cuModuleGetGlobal_v2", ptr *, size_t *, void *, const char *)(&variable, &bytes, module, "counter"));
  must("launch", launch(p, 16, 3));
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(seen, p, 64));
  uint32_t counter;
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(&counter, variable, 4));
  printf("added %u %u, counter of %zu bytes %u\n", seen[0], seen[15], bytes, counter);
  counter = 100;
  must("copy", F("cuMemcpyHtoD_v2", ptr, const void *, size_t)(variable, &counter, 4));
  struct { ptr p; uint32_t n; uint16_t by; } packed = {p, 2, 1};
  size_t size = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
  must("packed", F("cuLaunchKernel", void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(&counter, variable, 4));
  must("copy", F("cuMemcpyDtoH_v2", void *, ptr, size_t)(seen, p, 64));
  printf("packed %u %u %u, counter %u\n", seen[0], seen[1], seen[2], counter);
  int code = launch(p, 17, 1);
  printf("out of bounds: %d %d\n", code, strstr(text(code), "beyond the end of allocation 0 (64 bytes)") != NULL);
  must("free", F("cuMemFree_v2", ptr)(p));
  code = launch(p, 16, 1);
  printf("freed: %d %d\n", code, strstr(text(code), "use-after-free") != NULL);
  code = F("cuMemFree_v2", ptr)(p);
  printf("freed twice: %d %d\n", code, strstr(text(code), "it was freed before") != NULL);

  void *from, *to;
  float ms;
  must("event", F("cuEventCreate", void **, unsigned)(&from, 0));
  must("event", F("cuEventCreate", void **, unsigned)(&to, 0));
  must("record", F("cuEventRecord", void *, void *)(from, NULL));
  must("launch", launch(q, 16, 1));
  must("record", F("cuEventRecord", void *, void *)(to, NULL));
  must("elapsed", F("cuEventElapsedTime", float *, void *, void *)(&ms, from, to));
  printf("a launch takes %s\n", ms > 100 && ms < 1000 ? "some time" : "no time");

  must("address", F("cuGetProcAddress_v2", const char *, void **, int, uint64_t, int *)("cuMemAlloc", &found, 12000, 0, &status));
  printf("by name: %d %d\n", found == dlsym(lib, "cuMemAlloc_v2"), status);
  printf("a name that is not there: %d\n", F("cuGetProcAddress_v2", const char *, void **, int, uint64_t, int *)("cuNothing", &found, 12000, 0, &status));

  pthread_t threads[8];
  long good = 0;
  for (uintptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
  for (int i = 0; i < 8; i++) {
    void *one;
    pthread_join(threads[i], &one);
    good += (long)(uintptr_t)one;
  }
  printf("%ld of 8 threads\n", good);
  fflush(stdout);
  if (fork() == 0) _exit(launch(q, 16, 1) ? 3 : 0); /* what is the parent's is not the child's */
  wait(&status);
  printf("a forked child is refused: %d\n", WEXITSTATUS(status) == 3);
  must("launch", launch(q, 16, 1));
  must("unload", F("cuModuleUnload", void *)(module));
  return 0;
}
