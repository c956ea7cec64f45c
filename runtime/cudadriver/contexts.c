/* Devices and contexts: there is one device, and one context of it, which any number of threads have as theirs. */
#define _GNU_SOURCE
#include "modules.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int held_begin(void) { pthread_mutex_lock(&lock); return 1; }
void held_end(int *held) { if (*held) pthread_mutex_unlock(&lock); }

struct context { int number; };
static struct context primary = {1};
static int retained, flags;
static __thread struct { CUcontext at[16]; int n; } stack;

/* What the simulator says of its GPU; read once. */
static struct { int known, capability[2], warp, processors, threads, block[3], grid[3], registers, threads_at_once, blocks_at_once; long long shared, without_asking, reserved; } gpu;

static int three(const char *facts, const char *key, int *to, int n) {
  const char *v = value_of(facts, key);
  for (int i = 0; v && i < n; i++) {
    to[i] = (int)strtoll(v + 1, NULL, 10);
    v = after(v + 1);
  }
  return v != NULL;
}

static int facts(void) {
  if (gpu.known) return 1;
  char *reply = ask("simulate_target", "{}");
  if (!reply || *reply) {
    free(reply);
    return 0;
  }
  const char *f = reply + 1;
  gpu.warp = (int)number_of(f, "warp", 32), gpu.processors = (int)number_of(f, "multiprocessors", 1), gpu.threads = (int)number_of(f, "threads_of_block", 1024);
  gpu.registers = (int)number_of(f, "registers", 65536), gpu.threads_at_once = (int)number_of(f, "threads_at_once", 2048), gpu.blocks_at_once = (int)number_of(f, "blocks_at_once", 32);
  gpu.shared = number_of(f, "shared_of_block", 0), gpu.without_asking = number_of(f, "shared_without_asking", 0), gpu.reserved = number_of(f, "shared_reserved", 0);
  gpu.known = three(f, "capability", gpu.capability, 2) && three(f, "block", gpu.block, 3) && three(f, "grid", gpu.grid, 3);
  free(reply);
  return gpu.known;
}

API CUresult cuInit(unsigned asked) {
  HOLD;
  if (asked) return failed(CUDA_ERROR_INVALID_VALUE, "cuInit: the flags are %u, and have to be 0", asked);
  if (!facts()) return failed(CUDA_ERROR_NO_DEVICE, "the simulator does not answer: PRLX_CUDA_DEVICE names no program that runs it");
  return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 13050; /* runtimes refuse an older one */
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *n) {
  HOLD;
  if (!n) return CUDA_ERROR_INVALID_VALUE;
  *n = facts() ? 1 : 0;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (ordinal) return failed(CUDA_ERROR_INVALID_DEVICE, "there is one device, number 0, and not number %d", ordinal);
  *device = 0;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int n, CUdevice device) {
  HOLD;
  if (!name || n <= 0 || device || !facts()) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, (size_t)n, "prlx simulator sm_%d%d", gpu.capability[0], gpu.capability[1]);
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  if (!uuid || device) return CUDA_ERROR_INVALID_VALUE;
  memcpy(uuid->bytes, "prlx simulator 0", 16);
  return CUDA_SUCCESS;
}
API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  if (!bytes || device) return CUDA_ERROR_INVALID_VALUE;
  *bytes = region_bytes;
  return CUDA_SUCCESS;
}
API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) { return cuDeviceTotalMem_v2(bytes, device); }

API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  HOLD;
  if (!major || !minor || device || !facts()) return CUDA_ERROR_INVALID_VALUE;
  *major = gpu.capability[0], *minor = gpu.capability[1];
  return CUDA_SUCCESS;
}

/* Attributes by their numbers in CUdevice_attribute. Clocks and caches are those of an A100; what it has not is 0. */
API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  HOLD;
  if (!value || device || attribute <= 0) return failed(CUDA_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: attribute %d of device %d", attribute, device);
  if (!facts()) return CUDA_ERROR_NOT_INITIALIZED;
  switch (attribute) {
  case 1: *value = gpu.threads; break;
  case 2: case 3: case 4: *value = gpu.block[attribute - 2]; break;
  case 5: case 6: case 7: *value = gpu.grid[attribute - 5]; break;
  case 8: *value = (int)gpu.without_asking; break;
  case 9: *value = 65536; break; /* constant memory */
  case 10: *value = gpu.warp; break;
  case 11: *value = 0x7fffffff; break; /* pitch */
  case 12: case 82: *value = gpu.registers; break;
  case 13: *value = 1410000; break; /* kHz */
  case 14: *value = 512; break;     /* alignment of textures */
  case 51: *value = 32; break;      /* of their rows */
  case 21: case 22: *value = 131072; break; /* textures of 1 and 2 dimensions */
  case 23: *value = 65536; break;
  case 24: case 25: case 26: *value = 16384; break; /* of 3 */
  case 27: case 28: case 42: case 52: *value = 32768; break; /* layered, and cubes */
  case 29: case 43: *value = 2048; break;
  case 30: *value = 512; break;
  case 16: *value = gpu.processors; break;
  case 36: *value = 1215000; break;
  case 37: *value = 5120; break;
  case 38: *value = 40 << 20; break; /* L2 */
  case 39: *value = gpu.threads_at_once; break;
  case 75: case 76: *value = gpu.capability[attribute - 75]; break;
  case 81: *value = (int)(gpu.shared + gpu.reserved); break;
  case 97: *value = (int)gpu.shared; break;
  case 106: *value = gpu.blocks_at_once; break;
  case 111: *value = (int)gpu.reserved; break;
  case 15: case 19: case 31: case 40: case 41: case 78: case 79: case 80: case 83: case 88: case 89: case 95: case 99: case 102: case 115: *value = attribute != 88; break; /* overlap, pinned memory seen, kernels at once, unified addresses, managed memory, pools */
  default: *value = 0;
  }
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetPCIBusId(char *id, int n, CUdevice device) {
  if (!id || n <= 0 || device) return CUDA_ERROR_INVALID_VALUE;
  snprintf(id, (size_t)n, "0000:00:00.0"); /* as the attributes have it */
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  HOLD;
  if (!context || device) return CUDA_ERROR_INVALID_DEVICE;
  retained++;
  *context = &primary;
  return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  HOLD;
  if (device || retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  retained--;
  return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned f) {
  flags = (int)f;
  return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned f) { return cuDevicePrimaryCtxSetFlags_v2(device, f); }
API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *f, int *active) {
  HOLD;
  if (device || !f || !active) return CUDA_ERROR_INVALID_VALUE;
  *f = (unsigned)flags, *active = retained > 0;
  return CUDA_SUCCESS;
}

API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.n == sizeof stack.at / sizeof *stack.at) return failed(CUDA_ERROR_INVALID_VALUE, "cuCtxPushCurrent: %d contexts are pushed already", stack.n);
  stack.at[stack.n++] = context;
  return CUDA_SUCCESS;
}
API CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (stack.n == 0) return CUDA_ERROR_INVALID_CONTEXT;
  stack.n--;
  if (context) *context = stack.at[stack.n];
  return CUDA_SUCCESS;
}
API CUresult cuCtxPopCurrent(CUcontext *context) { return cuCtxPopCurrent_v2(context); }
API CUresult cuCtxSetCurrent(CUcontext context) {
  if (stack.n > 0) stack.n--;
  return context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
}
API CUresult cuCtxGetCurrent(CUcontext *context) {
  if (!context) return CUDA_ERROR_INVALID_VALUE;
  *context = stack.n > 0 ? stack.at[stack.n - 1] : NULL;
  return CUDA_SUCCESS;
}
API CUresult cuCtxGetDevice(CUdevice *device) {
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}
API CUresult cuCtxCreate_v2(CUcontext *context, unsigned f, CUdevice device) {
  (void)f;
  CUresult code = cuDevicePrimaryCtxRetain(context, device);
  return code ? code : cuCtxPushCurrent_v2(*context);
}
API CUresult cuCtxCreate_v3(CUcontext *context, void *affinity, int n, unsigned f, CUdevice device) {
  if (affinity && n > 0) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuCtxCreate: a context has the whole device");
  return cuCtxCreate_v2(context, f, device);
}
API CUresult cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned f, CUdevice device) {
  static const char nothing[24]; /* where a part of the device would be described */
  if (parameters && memcmp(parameters, nothing, sizeof nothing) != 0) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuCtxCreate: a context has the whole device");
  return cuCtxCreate_v2(context, f, device);
}
API CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.n > 0 && stack.at[stack.n - 1] == context) stack.n--;
  return cuDevicePrimaryCtxRelease_v2(0);
}
API CUresult cuCtxSynchronize(void) { return CUDA_SUCCESS; } /* everything is done when its call returns */
API CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  (void)context;
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}
API CUresult cuCtxGetFlags(unsigned *f) {
  if (!f) return CUDA_ERROR_INVALID_VALUE;
  *f = (unsigned)flags;
  return CUDA_SUCCESS;
}
static size_t limits[8] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0}; /* stack, printf, heap, ... */
API CUresult cuCtxGetLimit(size_t *value, int limit) {
  if (!value || limit < 0 || limit >= 8) return CUDA_ERROR_INVALID_VALUE;
  *value = limits[limit];
  return CUDA_SUCCESS;
}
API CUresult cuCtxSetLimit(int limit, size_t value) {
  if (limit < 0 || limit >= 8) return CUDA_ERROR_INVALID_VALUE;
  limits[limit] = value;
  return CUDA_SUCCESS;
}
API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return CUDA_SUCCESS;
}
API CUresult cuCtxSetCacheConfig(int config) { (void)config; return CUDA_SUCCESS; }

/* Occupancy by threads, blocks and shared memory: registers are nobody's here. */
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads, size_t shared, unsigned f) {
  (void)f;
  HOLD;
  if (!blocks || !function || threads <= 0 || !facts()) return CUDA_ERROR_INVALID_VALUE;
  int n = gpu.threads_at_once / threads;
  shared += (size_t)function->shared;
  if (shared > 0) shared += (size_t)gpu.reserved;
  if (shared > 0 && (gpu.shared + gpu.reserved) / (long long)shared < n) n = (int)((gpu.shared + gpu.reserved) / (long long)shared);
  if (threads > function->threads) n = 0;
  *blocks = n > gpu.blocks_at_once ? gpu.blocks_at_once : n;
  return CUDA_SUCCESS;
}
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

/* The largest block of which most threads are on a multiprocessor at once. */
API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function, size_t (*shared_of)(int), size_t shared, int limit, unsigned f) {
  HOLD;
  if (!grid || !block || !function || !facts()) return CUDA_ERROR_INVALID_VALUE;
  int most = function->threads < gpu.threads ? function->threads : gpu.threads, best = 0;
  if (limit > 0 && limit < most) most = limit;
  for (int threads = (most + gpu.warp - 1) / gpu.warp * gpu.warp; threads > 0; threads -= gpu.warp) {
    int n = threads < most ? threads : most, blocks;
    CUresult code = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function, n, shared_of ? shared_of(n) : shared, f);
    if (code) return code;
    if (blocks * n > best) best = blocks * n, *block = n, *grid = blocks * gpu.processors;
  }
  return best ? CUDA_SUCCESS : failed(CUDA_ERROR_INVALID_VALUE, "%s fits no multiprocessor", function->name);
}
API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, size_t (*shared_of)(int), size_t shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit, 0);
}
