/* Functions by name: what a program asks for and is not there is what an older driver has not, and is said when the program ends. */
#define _GNU_SOURCE
#include "modules.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LACKING = 256 };
static char lacking[MOST_LACKING][64];
static int lacked;

static void *named(const char *name) {
  char versioned[128];
  Dl_info here;
  static void *self;
  if (!self && dladdr((void *)(uintptr_t)&named, &here)) self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!self || strncmp(name, "cu", 2) != 0 || strlen(name) > 100) return NULL;
  snprintf(versioned, sizeof versioned, "%s_v2", name); /* the name without a number is the newest */
  void *found = dlsym(self, versioned);
  return found ? found : dlsym(self, name);
}

/* The library of C++ has what demangles; a program in C++ has that library already, if it uses anything of it. The parameters are not a part of what people call a kernel, nor is that it returns nothing. */
const char *called_of(struct function *f) {
  if (*f->called) return f->called;
  char *(*demangle)(const char *, char *, size_t *, int *);
  *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  void *library = demangle || strncmp(f->name, "_Z", 2) != 0 ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (library) *(void **)&demangle = dlsym(library, "__cxa_demangle");
  int status = 1;
  char *plain = demangle && strncmp(f->name, "_Z", 2) == 0 ? demangle(f->name, NULL, NULL, &status) : NULL, *from = plain;
  if (plain && status == 0) {
    char *end = strrchr(plain, ')');
    for (int depth = 0; end && end > plain; end--) {
      depth += *end == ')' ? 1 : *end == '(' ? -1 : 0;
      if (depth == 0) break;
    }
    if (end && end > plain) *end = 0;
    if (strncmp(plain, "void ", 5) == 0) from += 5;
  }
  size_t n = strnlen(from ? from : f->name, sizeof f->called - 1);
  memcpy(f->called, from ? from : f->name, n);
  free(plain);
  return f->called;
}

API const char *prlx_cuda_called(CUfunction f) {
  HOLD;
  return called_of(f);
}

API CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)version, (void)flags;
  HOLD;
  if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
  *function = named(name);
  if (status) *status = *function ? 0 : 1; /* found, or no such symbol */
  if (*function) return CUDA_SUCCESS;
  for (int i = 0; i < lacked; i++)
    if (strcmp(lacking[i], name) == 0) return CUDA_ERROR_NOT_FOUND;
  if (lacked < MOST_LACKING) snprintf(lacking[lacked++], sizeof lacking[0], "%s", name);
  return CUDA_ERROR_NOT_FOUND;
}
API CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) { return cuGetProcAddress_v2(name, function, version, flags, NULL); }

API CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  (void)id;
  static int told;
  HOLD;
  if (table) *table = NULL;
  if (!told++) fprintf(stderr, "prlx: the program has a CUDA runtime of its own, which needs what NVIDIA does not document of a driver: link it with nvcc -cudart shared\n");
  return failed(CUDA_ERROR_NOT_FOUND, "the simulator has no tables that are not documented: link the program with the dynamic runtime (nvcc -cudart shared)");
}

__attribute__((destructor)) static void end(void) {
  if (!lacked || !getenv("PRLX_CUDA_LOG")) return;
  fprintf(stderr, "prlx: libcuda of the simulator was asked for %d functions that it does not have:", lacked);
  for (int i = 0; i < lacked; i++) fprintf(stderr, " %s", lacking[i]);
  fputc('\n', stderr);
}
