/* Modules: PTX text, loaded into the simulator; and their functions and variables. */
#include "modules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr at);

/* Where PTX begins in an image, NULL where it is something else. */
static const char *ptx_in(const char *image) {
  const char *s = image;
  while (isspace((unsigned char)*s)) s++;
  return strncmp(s, "//", 2) == 0 || strncmp(s, ".version", 8) == 0 ? image : NULL;
}

/* The container of device code at an image, or that a program's own description of it leads to; 0 bytes where there is none. docs/formats/fatbinary.md */
static size_t container_in(const char **image) {
  enum { head = 16 };
  uint32_t magic;
  uint64_t bytes = 0;
  memcpy(&magic, *image, 4);
  if (magic == 0x466243b1) memcpy(image, *image + 8, sizeof *image), memcpy(&magic, *image, 4);
  while (magic == 0xba55ed50) {
    memcpy(&bytes, *image + 8, 8);
    if (bytes) return (size_t)bytes + head;
    *image += head; /* an empty one may come first */
    memcpy(&magic, *image, 4);
  }
  return 0;
}

static void parameters(struct function *f, const char *signature) {
  const char *list = value_of(signature, "params");
  for (const char *p = list ? list + 1 : ""; *p == '{' && f->n < MOST_PARAMETERS; p = *after(p) == ',' ? after(p) + 1 : "") {
    struct parameter *one = &f->parameters[f->n++];
    string_of(value_of(p, "name"), one->name, sizeof one->name);
    size_t own = strlen(f->name); /* compilers of C++ number the parameters of a kernel behind its name */
    if (strncmp(one->name, f->name, own < sizeof one->name - 1 ? own : sizeof one->name - 1) == 0) snprintf(one->name, sizeof one->name, "param_%d", f->n - 1);
    one->bytes = (size_t)number_of(p, "bytes", 8), one->align = (size_t)number_of(p, "align", 8);
  }
  const char *threads = value_of(signature, "threads");
  long long most = threads ? strtoll(threads + 1, NULL, 10) : 0;
  const char *block = value_of(signature, "block");
  long long fixed = block ? strtoll(block + 1, NULL, 10) : 0;
  f->threads = fixed > 0 ? (int)fixed : most > 0 ? (int)most : 1024;
  if (f->threads > 1024) f->threads = 1024; /* more than a block has: whoever asks before a launch learns that it cannot be */
  f->shared = (int)number_of(signature, "shared", 0), f->local = (int)number_of(signature, "local", 0), f->constant = (int)number_of(signature, "constant", 0);
}

CUresult module_load(struct module **into, const void *image) {
  HOLD;
  if (!into || !image) return failed(CUDA_ERROR_INVALID_VALUE, "a module at no address");
  const char *code = image, *text = ptx_in(code);
  size_t contained = text ? 0 : container_in(&code);
  if (!text && !contained) return failed(CUDA_ERROR_NO_BINARY_FOR_GPU, memcmp(image, "\177ELF", 4) == 0 ? "the image is machine code: the simulator runs PTX" : "the image holds no PTX text");
  struct text t = {0};
  say(&t, "{\"name\": \"module\", \"signatures\": true, \"%s\": ", text ? "ptx" : "image");
  if (text) say_quoted(&t, text, strlen(text));
  else say_base64(&t, code, contained);
  say(&t, "}");
  char *reply = t.at ? ask_text("simulate_load", t.at, t.n) : NULL;
  free(t.at);
  if (!reply || *reply) return refused(reply, contained && reply && is(reply + 1, "kind", "incompatible") ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_PTX);
  struct module *m = calloc(1, sizeof *m);
  if (m) m->id = number_of(reply + 1, "module", 0);
  const char *names = value_of(reply + 1, "kernels"), *signatures = value_of(reply + 1, "signatures");
  names = names ? names + 1 : "", signatures = signatures ? signatures + 1 : "";
  while (m && *names == '"') {
    struct function *f = calloc(1, sizeof *f);
    if (!f) break;
    f->module = m, f->next = m->functions, f->registers = 32;
    string_of(names, f->name, sizeof f->name);
    if (*signatures == '{') parameters(f, signatures);
    m->functions = f;
    names = *after(names) == ',' ? after(names) + 1 : "";
    signatures = *after(signatures) == ',' ? after(signatures) + 1 : "";
  }
  free(reply);
  *into = m;
  return m ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult unload(struct module *m) {
  HOLD;
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  free(ask("simulate_unload", "{\"module\": %lld}", m->id));
  for (struct function *f = m->functions, *next; f; f = next) {
    next = f->next;
    free(f);
  }
  for (struct variable *v = m->variables, *next; v; v = next) {
    next = v->next;
    cuMemFree_v2(v->at);
    free(v);
  }
  free(m);
  return CUDA_SUCCESS;
}

static CUresult function_named(struct function **into, struct module *m, const char *name) {
  HOLD;
  if (!into || !m || !name) return CUDA_ERROR_INVALID_VALUE;
  for (struct function *f = m->functions; f; f = f->next)
    if (strcmp(f->name, name) == 0) {
      *into = f;
      return CUDA_SUCCESS;
    }
  return failed(CUDA_ERROR_NOT_FOUND, "the module has no kernel %s", name);
}

static CUresult moved(struct module *m, struct variable *v, int into_simulator) {
  struct text t = {0};
  say(&t, "{\"module\": %lld, \"address\": %llu, \"bytes\": %zu, \"write\": %s, \"name\": ", m->id, (unsigned long long)v->at, v->bytes, into_simulator ? "true" : "false");
  say_quoted(&t, v->name, strlen(v->name));
  say(&t, "}");
  char *reply = t.at ? ask_text("simulate_variable", t.at, t.n) : NULL;
  free(t.at);
  if (!reply || *reply) return refused(reply, CUDA_ERROR_NOT_FOUND);
  if (v->bytes == 0) v->bytes = (size_t)number_of(reply + 1, "bytes", 0);
  free(reply);
  return CUDA_SUCCESS;
}

CUresult variables_moved(struct module *m, int into_simulator) {
  for (struct variable *v = m->variables; v; v = v->next) {
    CUresult code = moved(m, v, into_simulator);
    if (code) return code;
  }
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name) {
  HOLD;
  if (!m || !name) return CUDA_ERROR_INVALID_VALUE;
  struct variable *v = m->variables;
  while (v && strcmp(v->name, name) != 0) v = v->next;
  if (!v) {
    if (strlen(name) >= sizeof v->name || !(v = calloc(1, sizeof *v))) return CUDA_ERROR_NOT_FOUND;
    strcpy(v->name, name);
    CUresult code = moved(m, v, 0); /* how large it is */
    if (!code && v->bytes == 0) code = CUDA_ERROR_NOT_FOUND;
    if (!code) code = cuMemAlloc_v2(&v->at, v->bytes);
    if (!code) code = moved(m, v, 0);
    if (code) {
      free(v);
      return code;
    }
    prlx_cuda_keep(v->at);
    v->next = m->variables, m->variables = v;
  }
  if (at) *at = v->at;
  if (bytes) *bytes = v->bytes;
  return CUDA_SUCCESS;
}
API CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name) { return cuModuleGetGlobal_v2(at, bytes, m, name); }
API CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary m, const char *name) { return cuModuleGetGlobal_v2(at, bytes, m, name); }

API CUresult cuModuleLoadData(CUmodule *m, const void *image) { return module_load(m, image); }
API CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, int *options, void **values) {
  (void)n, (void)options, (void)values;
  return module_load(m, image);
}
API CUresult cuModuleLoad(CUmodule *m, const char *path) {
  FILE *f = path ? fopen(path, "rb") : NULL;
  if (!f) return failed(CUDA_ERROR_NOT_FOUND, "no file %s", path ? path : "without a name");
  size_t n = 0, room = 1 << 16;
  char *text = malloc(room);
  for (size_t got; text && (got = fread(text + n, 1, room - n - 1, f)) > 0;) {
    n += got;
    if (room - n < 2) text = realloc(text, room *= 2);
  }
  fclose(f);
  if (!text) return CUDA_ERROR_OUT_OF_MEMORY;
  text[n] = 0;
  CUresult code = module_load(m, text);
  free(text);
  return code;
}
API CUresult cuModuleUnload(CUmodule m) { return unload(m); }
API CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) { return function_named(f, m, name); }
API CUresult cuModuleGetLoadingMode(int *mode) {
  if (!mode) return CUDA_ERROR_INVALID_VALUE;
  *mode = 1; /* eager */
  return CUDA_SUCCESS;
}
API CUresult cuLibraryLoadData(CUlibrary *m, const void *image, int *o, void **ov, unsigned n, int *lo, void **lv, unsigned ln) {
  (void)o, (void)ov, (void)n, (void)lo, (void)lv, (void)ln;
  return module_load(m, image);
}
API CUresult cuLibraryUnload(CUlibrary m) { return unload(m); }
API CUresult cuLibraryGetKernel(CUkernel *f, CUlibrary m, const char *name) { return function_named(f, m, name); }
API CUresult cuLibraryGetModule(CUmodule *to, CUlibrary m) {
  if (!to || !m) return CUDA_ERROR_INVALID_VALUE;
  *to = m;
  return CUDA_SUCCESS;
}
API CUresult cuKernelGetFunction(CUfunction *to, CUkernel f) {
  if (!to || !f) return CUDA_ERROR_INVALID_VALUE;
  *to = f;
  return CUDA_SUCCESS;
}
API CUresult cuFuncGetModule(CUmodule *to, CUfunction f) {
  if (!to || !f) return CUDA_ERROR_INVALID_VALUE;
  *to = f->module;
  return CUDA_SUCCESS;
}
API CUresult cuFuncGetName(const char **name, CUfunction f) {
  if (!name || !f) return CUDA_ERROR_INVALID_VALUE;
  *name = f->name;
  return CUDA_SUCCESS;
}
API CUresult cuKernelGetName(const char **name, CUkernel f) { return cuFuncGetName(name, f); }

API CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size) {
  size_t at = 0;
  if (!f || !offset || index >= (size_t)f->n) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i <= index; i++) {
    size_t align = f->parameters[i].align;
    at = (at + align - 1) / align * align;
    *offset = at;
    at += f->parameters[i].bytes;
  }
  if (size) *size = f->parameters[index].bytes;
  return CUDA_SUCCESS;
}
API CUresult cuKernelGetParamInfo(CUkernel f, size_t index, size_t *offset, size_t *size) { return cuFuncGetParamInfo(f, index, offset, size); }

API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
  if (!value || !f) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case FUNCTION_MAX_THREADS: *value = f->threads; break;
  case FUNCTION_SHARED_BYTES: *value = f->shared; break;
  case FUNCTION_CONST_BYTES: *value = f->constant; break;
  case FUNCTION_LOCAL_BYTES: *value = f->local; break;
  case FUNCTION_REGISTERS: *value = f->registers; break; /* nobody allocates any, and 0 would be divided by */
  case FUNCTION_PTX_VERSION: case FUNCTION_BINARY_VERSION: *value = 80; break;
  case FUNCTION_MAX_DYNAMIC_SHARED: *value = f->dynamic_shared; break;
  default: *value = 0;
  }
  return attribute < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
API CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel f, CUdevice device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : cuFuncGetAttribute(value, attribute, f);
}
API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  if (!f) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == FUNCTION_SHARED_MEMORY_MODE) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuFuncSetAttribute: modes of shared memory");
  if (attribute == FUNCTION_MAX_DYNAMIC_SHARED) f->dynamic_shared = value;
  return CUDA_SUCCESS;
}
API CUresult cuKernelSetAttribute(int attribute, int value, CUkernel f, CUdevice device) {
  return device ? CUDA_ERROR_INVALID_DEVICE : cuFuncSetAttribute(f, attribute, value);
}
API CUresult cuFuncSetCacheConfig(CUfunction f, int config) { (void)config; return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API CUresult cuFuncSetSharedMemConfig(CUfunction f, int config) { (void)config; return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
