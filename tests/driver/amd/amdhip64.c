/* libamdhip64.so for tests: devices of AMD whose kernels somebody else executes. What is put on a stream is done when it is waited for, and no
 * sooner; a launch is then handed, with all of the device's memory, to the command in STANDIN_GCN, and what that leaves there is taken over. Addresses
 * of the device are none of this process: who touches its memory without the driver ends. STANDIN_CALLS names a file that has a line for each call.
 *
 * The signatures are checked by the compiler against AMD's header, which Triton's wheel has. */
#define _GNU_SOURCE
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HIP_VERSION < 70000000
#define SOURCE void
#else
#define SOURCE const void
#endif

enum { MOST = 4096, MOST_ARGS = 64 };
struct memory { uint64_t at; size_t n; char *bytes; };
struct image { size_t n; char *bytes; };
struct kernel { struct image *image; char name[256]; int n_args; unsigned offsets[MOST_ARGS], sizes[MOST_ARGS]; };
struct launch { struct kernel *kernel; unsigned grid[3], block[3]; uint64_t args[MOST_ARGS]; };
struct op { enum { TO_DEVICE, TO_HOST, FILL, LAUNCH, EVENT } kind; hipStream_t stream; uint64_t at; void *host; size_t n; unsigned char value; struct launch *launch; int done; };
struct list { struct op *ops; int n; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory memories[MOST];
static struct list queue;
static struct list *captured[MOST]; /* by the number of a stream: what becomes a graph */
static int n_memories, n_streams = 1, n_events, blocking[MOST] = {1}, reached[1 << 16];
static uint64_t next = 0x300000000000;
static __thread hipError_t last;

static void note(const char *call, hipStream_t stream, uint64_t at, size_t n) {
  static FILE *calls;
  if (!calls && getenv("STANDIN_CALLS")) calls = fopen(getenv("STANDIN_CALLS"), "a");
  if (calls) fprintf(calls, "%s %ld %#lx %zu\n", call, (long)(intptr_t)stream, (unsigned long)at, n), fflush(calls);
}
static hipError_t failed(hipError_t code) { return last = code; }
/* What STANDIN_FAIL names, as hipEventRecord:2, fails when it was called so often before; once. */
static hipError_t due(const char *call) {
  static int calls;
  const char *said = getenv("STANDIN_FAIL");
  size_t n = strlen(call);
  return said && !strncmp(said, call, n) && said[n] == ':' && calls++ == atoi(said + n + 1) ? failed(hipErrorUnknown) : hipSuccess;
}
static struct memory *memory_at(uint64_t at, size_t n) {
  for (int i = 0; i < n_memories; i++)
    if (memories[i].bytes && at >= memories[i].at && at - memories[i].at < memories[i].n && n <= memories[i].n - (at - memories[i].at)) return &memories[i];
  return NULL;
}
static char *host_of(uint64_t at, size_t n) {
  struct memory *m = memory_at(at, n);
  if (!m) fprintf(stderr, "stand-in: %zu bytes at %#lx are none of the device\n", n, (unsigned long)at), abort();
  return m->bytes + (at - m->at);
}

/* Writes what a launch is, has it executed, and takes over what became of the memory. */
static void execute(struct launch *l) {
  const char *under = getenv("TMPDIR");
  char folder[2048], path[2064], command[4096];
  int n = snprintf(folder, sizeof folder, "%s/standin-XXXXXX", under && *under ? under : "/tmp");
  if (n >= (int)sizeof folder || !mkdtemp(folder)) perror(folder), abort();
  snprintf(path, sizeof path, "%s/launch", folder);
  FILE *said = fopen(path, "w");
  fprintf(said, "%s %u %u %u %u\n%d\n", l->kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->kernel->n_args);
  for (int i = 0; i < l->kernel->n_args; i++) fprintf(said, "%lu\n", (unsigned long)l->args[i]);
  snprintf(path, sizeof path, "%s/memory", folder);
  FILE *bytes = fopen(path, "w");
  for (int i = 0; i < n_memories; i++)
    if (memories[i].bytes) fprintf(said, "%lu %zu\n", (unsigned long)memories[i].at, memories[i].n), fwrite(memories[i].bytes, 1, memories[i].n, bytes);
  fclose(said), fclose(bytes);
  snprintf(path, sizeof path, "%s/image", folder);
  FILE *image = fopen(path, "w");
  fwrite(l->kernel->image->bytes, 1, l->kernel->image->n, image), fclose(image);
  if (setenv("STANDIN_LAUNCH", folder, 1)) abort();
  snprintf(command, sizeof command, "%s", getenv("STANDIN_GCN"));
  if (system(command) != 0) fprintf(stderr, "stand-in: %s failed\n", command), abort();
  snprintf(path, sizeof path, "%s/memory", folder);
  bytes = fopen(path, "r");
  for (int i = 0; i < n_memories; i++)
    if (memories[i].bytes && fread(memories[i].bytes, 1, memories[i].n, bytes) != memories[i].n) abort();
  fclose(bytes);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, (const char *[]){"launch", "memory", "image"}[i]);
    if (unlink(path)) abort();
  }
  if (rmdir(folder)) abort();
}
static void perform(struct op *op) {
  if (op->done) return;
  op->done = 1;
  switch (op->kind) {
  case TO_DEVICE: memcpy(host_of(op->at, op->n), op->host, op->n); break;
  case TO_HOST: memcpy(op->host, host_of(op->at, op->n), op->n); break;
  case FILL: memset(host_of(op->at, op->n), op->value, op->n); break;
  case LAUNCH: execute(op->launch); break;
  case EVENT: break;
  }
}
/* Does what is on a stream, as far as a place in the queue; stream -1: on all that wait for the null stream. */
static void until(intptr_t stream, int end) {
  for (int i = 0; i < end; i++)
    if (stream < 0 ? blocking[(intptr_t)queue.ops[i].stream] : (intptr_t)queue.ops[i].stream == stream) perform(&queue.ops[i]);
}
static void put(struct list *to, struct op op) {
  to->ops = realloc(to->ops, (size_t)(to->n + 1) * sizeof op);
  to->ops[to->n++] = op;
}
static hipError_t enqueue(const char *call, struct op op) {
  struct list *graph = captured[(intptr_t)op.stream];
  note(call, op.stream, op.at, op.n);
  if (due(call)) return hipErrorUnknown;
  if (op.kind < LAUNCH && !memory_at(op.at, op.n)) return failed(hipErrorInvalidValue);
  put(graph ? graph : &queue, op);
  return hipSuccess;
}

#define LOCKED __attribute__((cleanup(unlock), unused)) int locked = pthread_mutex_lock(&lock)
static void unlock(int *locked) { (void)locked, pthread_mutex_unlock(&lock); }

hipError_t hipInit(unsigned flags) { return flags ? hipErrorInvalidValue : hipSuccess; }
hipError_t hipDriverGetVersion(int *v) { return *v = HIP_VERSION, hipSuccess; }
hipError_t hipGetDeviceCount(int *n) { return *n = 1, hipSuccess; }
hipError_t hipGetDevice(int *device) { return *device = 0, hipSuccess; }
hipError_t hipSetDevice(int device) { return device ? failed(hipErrorInvalidDevice) : hipSuccess; }
hipError_t hipDeviceGetName(char *name, int n, hipDevice_t device) { return snprintf(name, (size_t)n, "stand-in %d, %s", device, getenv("STANDIN_ARCH")), hipSuccess; }
hipError_t hipGetLastError(void) {
  hipError_t code = last;
  return last = hipSuccess, code;
}
const char *hipGetErrorString(hipError_t code) { return code == hipErrorInvalidValue ? "invalid argument" : code == hipErrorOutOfMemory ? "out of memory" : "an error"; }
hipError_t hipDrvGetErrorString(hipError_t code, const char **text) { return *text = hipGetErrorString(code), hipSuccess; }
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int device) {
  const char *arch = getenv("STANDIN_ARCH");
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "stand-in %d", device), snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s:sramecc+", arch);
  p->warpSize = strncmp(arch, "gfx9", 4) ? 32 : 64, p->sharedMemPerBlock = 65536, p->regsPerBlock = 65536, p->multiProcessorCount = 100;
  p->clockRate = p->memoryClockRate = 1000000, p->memoryBusWidth = 4096, p->maxThreadsPerMultiProcessor = 2048, p->cooperativeLaunch = 1;
  return hipSuccess;
}

hipError_t hipMalloc(void **at, size_t n) {
  LOCKED;
  if (n_memories == MOST || n > (1ul << 32) || due("hipMalloc")) return failed(hipErrorOutOfMemory);
  memories[n_memories++] = (struct memory){next, n, memset(malloc(n), 0xA5, n)};
  *at = (void *)next, next += (n + 8191) / 4096 * 4096; /* a page that is nobody's behind each */
  note("hipMalloc", 0, (uint64_t)*at, n);
  return hipSuccess;
}
hipError_t hipFree(void *at) {
  LOCKED;
  struct memory *m = memory_at((uint64_t)at, 0);
  if (!m || m->at != (uint64_t)at) return failed(hipErrorInvalidValue);
  for (int i = 0; i < queue.n; i++) perform(&queue.ops[i]);
  note("hipFree", 0, m->at, m->n);
  free(m->bytes), m->bytes = NULL;
  return hipSuccess;
}
hipError_t hipHostMalloc(void **at, size_t n, unsigned flags) { return note("hipHostMalloc", 0, flags, n), (*at = malloc(n)) ? hipSuccess : hipErrorOutOfMemory; }
hipError_t hipHostFree(void *at) { return free(at), note("hipHostFree", 0, 0, 0), hipSuccess; }
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *n, hipDeviceptr_t at) {
  LOCKED;
  struct memory *m = memory_at((uint64_t)at, 0);
  if (!m) return failed(hipErrorNotFound);
  return *base = (void *)m->at, *n = m->n, hipSuccess;
}
hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute which, hipDeviceptr_t at) {
  LOCKED;
  if (which != HIP_POINTER_ATTRIBUTE_DEVICE_POINTER || !memory_at((uint64_t)at, 0)) return failed(hipErrorInvalidValue);
  return *(hipDeviceptr_t *)data = at, hipSuccess;
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, SOURCE *from, size_t n, hipStream_t s) {
  LOCKED;
  return enqueue("hipMemcpyHtoDAsync", (struct op){TO_DEVICE, s, (uint64_t)to, (void *)(uintptr_t)from, n, 0, NULL, 0});
}
hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t n, hipStream_t s) {
  LOCKED;
  return enqueue("hipMemcpyDtoHAsync", (struct op){TO_HOST, s, (uint64_t)from, to, n, 0, NULL, 0});
}
hipError_t hipMemsetD8Async(hipDeviceptr_t at, unsigned char value, size_t n, hipStream_t s) {
  LOCKED;
  return enqueue("hipMemsetD8Async", (struct op){FILL, s, (uint64_t)at, NULL, n, value, NULL, 0});
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, SOURCE *from, size_t n) {
  LOCKED;
  until(-1, queue.n);
  memcpy(host_of((uint64_t)to, n), from, n);
  return hipSuccess;
}
hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t n) {
  LOCKED;
  until(-1, queue.n);
  memcpy(to, host_of((uint64_t)from, n), n);
  return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned flags) {
  LOCKED;
  blocking[n_streams] = flags != hipStreamNonBlocking;
  *s = (hipStream_t)(intptr_t)n_streams++;
  note("hipStreamCreateWithFlags", *s, 0, flags);
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t s) { return note("hipStreamDestroy", s, 0, 0), hipSuccess; }
hipError_t hipStreamSynchronize(hipStream_t s) {
  LOCKED;
  note("hipStreamSynchronize", s, 0, 0);
  if (due("hipStreamSynchronize")) return hipErrorUnknown;
  until((intptr_t)s, queue.n);
  return hipSuccess;
}
hipError_t hipEventCreateWithFlags(hipEvent_t *e, unsigned flags) {
  LOCKED;
  *e = (hipEvent_t)(intptr_t)++n_events;
  note("hipEventCreateWithFlags", 0, (uint64_t)n_events, flags);
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t e) { return note("hipEventDestroy", 0, (uint64_t)e, 0), hipSuccess; }
hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) {
  LOCKED;
  hipError_t code = enqueue("hipEventRecord", (struct op){EVENT, s, (uint64_t)e, NULL, 0, 0, NULL, 0});
  if (!code) reached[(intptr_t)e] = queue.n;
  return code;
}
hipError_t hipEventSynchronize(hipEvent_t e) {
  LOCKED;
  note("hipEventSynchronize", 0, (uint64_t)e, 0);
  if (due("hipEventSynchronize")) return hipErrorUnknown;
  if (reached[(intptr_t)e]) until((intptr_t)queue.ops[reached[(intptr_t)e] - 1].stream, reached[(intptr_t)e]);
  return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t s, hipStreamCaptureStatus *status) {
  LOCKED;
  *status = captured[(intptr_t)s] ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
  return hipSuccess;
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  static __thread hipStreamCaptureMode now;
  hipStreamCaptureMode before = now;
  now = *mode, *mode = before;
  return hipSuccess;
}
hipError_t hipStreamBeginCapture(hipStream_t s, hipStreamCaptureMode mode) {
  LOCKED;
  (void)mode;
  captured[(intptr_t)s] = calloc(1, sizeof(struct list));
  return hipSuccess;
}
hipError_t hipStreamEndCapture(hipStream_t s, hipGraph_t *graph) {
  LOCKED;
  *graph = (hipGraph_t)captured[(intptr_t)s], captured[(intptr_t)s] = NULL;
  return hipSuccess;
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *made, hipGraph_t graph, unsigned long long flags) { return (void)flags, *made = (hipGraphExec_t)graph, hipSuccess; }
hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t s) {
  LOCKED;
  struct list *list = (struct list *)graph;
  for (int i = 0; i < list->n; i++) {
    struct op op = list->ops[i];
    op.stream = s;
    put(&queue, op);
  }
  return hipSuccess;
}

/* A number behind a key of the code object's metadata, which is in MessagePack. */
static unsigned number(const unsigned char *p) {
  return *p < 0x80 ? *p : *p == 0xcc ? p[1] : *p == 0xcd ? (unsigned)(p[1] << 8 | p[2]) : 0;
}
/* What a kernel takes, by the metadata of its image, which has one kernel. Arguments that the compiler hides are nobody's to pass. */
static void arguments(struct kernel *k) {
  const char *p = k->image->bytes, *end = p + k->image->n;
  unsigned offset = 0, size = 0;
  for (; p < end - 16; p++) {
    if (!memcmp(p, "\xa7.offset", 8)) offset = number((const unsigned char *)p + 8);
    if (!memcmp(p, "\xa5.size", 6)) size = number((const unsigned char *)p + 6);
    if (!memcmp(p, "\xab.value_kind", 12) && memcmp(p + 13, "hidden", 6) && size && k->n_args < MOST_ARGS) k->offsets[k->n_args] = offset, k->sizes[k->n_args++] = size, size = 0;
  }
}
hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  const Elf64_Ehdr *elf = image;
  if (memcmp(image, ELFMAG, SELFMAG)) return failed(hipErrorInvalidImage);
  struct image *made = malloc(sizeof *made);
  made->n = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
  made->bytes = memcpy(malloc(made->n), image, made->n);
  return *module = (hipModule_t)made, hipSuccess;
}
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned n, hipJitOption *options, void **values) { return (void)n, (void)options, (void)values, hipModuleLoadData(module, image); }
hipError_t hipModuleUnload(hipModule_t module) { return (void)module, hipSuccess; }
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  struct kernel *k = calloc(1, sizeof *k);
  k->image = (struct image *)module, snprintf(k->name, sizeof k->name, "%s", name);
  arguments(k);
  return *function = (hipFunction_t)k, hipSuccess;
}
hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute which, hipFunction_t function) {
  (void)function;
  return *value = which == HIP_FUNC_ATTRIBUTE_NUM_REGS ? 32 : which == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0, hipSuccess;
}
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, hipStream_t s, void **values, void **extra) {
  LOCKED;
  struct launch *l = calloc(1, sizeof *l);
  (void)shared, (void)extra;
  *l = (struct launch){(struct kernel *)f, {gx, gy, gz}, {bx, by, bz}, {0}};
  for (int i = 0; i < l->kernel->n_args; i++) memcpy(&l->args[i], values[i], l->kernel->sizes[i] > 8 ? 8 : l->kernel->sizes[i]);
  return enqueue("hipModuleLaunchKernel", (struct op){LAUNCH, s, l->args[l->kernel->n_args - 1], NULL, 0, 0, l, 0});
}
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, hipStream_t s, void **values) { return hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, values, NULL); }
#if HIP_VERSION >= 70000000 /* of clusters, which these kernels have none of */
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG *c, hipFunction_t f, void **values, void **extra) {
  return hipModuleLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->hStream, values, extra);
}
#endif

hipError_t hipGetProcAddress(const char *symbol, void **at, int version, uint64_t flags, hipDriverProcAddressQueryResult *status) {
  Dl_info here;
  (void)version, (void)flags, (void)status;
  dladdr((void *)(uintptr_t)hipInit, &here);
  void *self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *at = dlsym(self, strcmp(symbol, "hipGetDeviceProperties") ? symbol : "hipGetDevicePropertiesR0600");
  return *at ? hipSuccess : failed(hipErrorNotFound);
}
