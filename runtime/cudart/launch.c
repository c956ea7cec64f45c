/* Launches, in the forms in which compilers write them, and what a program asks of a kernel. */
#include "work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread struct { dim3 grid, block; size_t shared; cudaStream_t stream; } configured[16];
static __thread int depth;

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  if (depth == 16) return 1;
  configured[depth].grid = grid, configured[depth].block = block, configured[depth].shared = shared, configured[depth++].stream = stream;
  return 0;
}
API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
  if (depth == 0) return done(52 /* cudaErrorMissingConfiguration */);
  depth--;
  *grid = configured[depth].grid, *block = configured[depth].block, *shared = configured[depth].shared;
  memcpy(stream, &configured[depth].stream, sizeof(cudaStream_t));
  return cudaSuccess;
}

/* A launch that no GPU begins. Programs that look at no error go on without it, so it is a finding. */
static cudaError_t never(cudaError_t code, CUfunction f, const char *format, ...) {
  char why[200], message[240];
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  snprintf(message, sizeof message, "the launch did not begin: %s", why);
  prlx_cuda_note("invalid-launch", prlx_cuda_called(f), message, NULL);
  return code;
}

/* Whether a GPU would begin such a launch at all. */
static cudaError_t possible(const cudaLaunchConfig_t *c, CUfunction f) {
  unsigned size[6] = {c->gridDim.x, c->gridDim.y, c->gridDim.z, c->blockDim.x, c->blockDim.y, c->blockDim.z};
  static const int limits[6] = {5, 6, 7, 2, 3, 4};
  uint64_t threads = (uint64_t)size[3] * size[4] * size[5];
  int most = 0, dynamic = 0, fixed = 0;
  cuFuncGetAttribute(&most, 0, f), cuFuncGetAttribute(&dynamic, 8, f), cuFuncGetAttribute(&fixed, 1, f);
  for (int i = 0; i < 6; i++) {
    const char *of = i < 3 ? "grid" : "block";
    if (size[i] == 0) return never(cudaErrorInvalidConfiguration, f, "the %s is 0 in %c", of, "xyz"[i % 3]);
    if (size[i] > (unsigned)attribute(limits[i])) return never(cudaErrorInvalidConfiguration, f, "the %s is %u in %c, of at most %d", of, size[i], "xyz"[i % 3], attribute(limits[i]));
  }
  if (threads > (uint64_t)attribute(1)) return never(cudaErrorInvalidConfiguration, f, "a block of %llu threads, of at most %d", (unsigned long long)threads, attribute(1));
  if (threads > (uint64_t)most) return never(701 /* too many resources */, f, "a block of %llu threads, of at most %d by its __launch_bounds__", (unsigned long long)threads, most);
  size_t usual = (size_t)attribute(8) - (size_t)fixed, room = usual > (size_t)dynamic ? usual : (size_t)dynamic;
  if (c->dynamicSmemBytes > room) return never(cudaErrorInvalidValue, f, "%zu bytes of dynamic shared memory, of at most %zu (cudaFuncSetAttribute)", c->dynamicSmemBytes, room);
  return cudaSuccess;
}

cudaError_t launch_now(const cudaLaunchConfig_t *c, const void *function, void **values) {
  CUfunction f;
  cudaError_t code = ready();
  if (!code) code = function_of(&f, function);
  if (!code) code = done(possible(c, f));
  if (code) return code;
  CUlaunchConfig driver = {
      c->gridDim.x, c->gridDim.y, c->gridDim.z, c->blockDim.x, c->blockDim.y, c->blockDim.z, (unsigned)c->dynamicSmemBytes, c->stream, c->attrs, c->numAttrs,
  };
  int result = cuLaunchKernelEx(&driver, f, values, NULL);
  if (result && !watched()) tell(kernel_of(function)->name, result);
  return launched(result);
}

static cudaError_t launch(const cudaLaunchConfig_t *c, const void *function, void **values) {
  struct work w = {.type = NODE_KERNEL, .kernel = {(void *)(uintptr_t)function, c->gridDim, c->blockDim, (unsigned)c->dynamicSmemBytes, values, NULL}};
  for (unsigned i = 0; i < c->numAttrs && w.attribute_count < 4; i++) w.attributes[w.attribute_count++] = c->attrs[i];
  return enqueue(c->stream, &w);
}

API cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **values, size_t shared, cudaStream_t stream) {
  cudaLaunchConfig_t c = {grid, block, shared, stream, NULL, 0};
  return launch(&c, function, values);
}
API cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void **values, size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(k, grid, block, values, shared, stream);
}
API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *function, void **values) {
  return c ? launch(c, function, values) : done(cudaErrorInvalidValue);
}
API cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **values, size_t shared, cudaStream_t stream) {
  CUfunction f;
  cudaError_t code = function_of(&f, function);
  int blocks = 0;
  if (code) return code;
  if (cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, (int)(block.x * block.y * block.z), shared, 0) == 0 &&
      (uint64_t)grid.x * grid.y * grid.z > (uint64_t)blocks * (uint64_t)attribute(16))
    return done(never(cudaErrorCooperativeLaunchTooLarge, f, "a cooperative grid of %llu blocks, of which the GPU holds %llu at once",
                      (unsigned long long)grid.x * grid.y * grid.z, (unsigned long long)blocks * (unsigned long long)attribute(16)));
  return cudaLaunchKernel(function, grid, block, values, shared, stream);
}
PER_THREAD(cudaLaunchKernel, _ptsz);
PER_THREAD(__cudaLaunchKernel, _ptsz);
PER_THREAD(cudaLaunchKernelExC, _ptsz);
PER_THREAD(cudaLaunchCooperativeKernel, _ptsz);

API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *function) {
  CUfunction f;
  cudaError_t code = a ? function_of(&f, function) : done(cudaErrorInvalidValue);
  int value[10] = {0};
  if (code) return code;
  for (int i = 0; i < 10; i++) cuFuncGetAttribute(&value[i], i, f);
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = value[0], a->sharedSizeBytes = (size_t)value[1], a->constSizeBytes = (size_t)value[2], a->localSizeBytes = (size_t)value[3];
  a->numRegs = value[4], a->ptxVersion = value[5], a->binaryVersion = value[6], a->cacheModeCA = value[7], a->maxDynamicSharedSizeBytes = value[8];
  if (a->maxDynamicSharedSizeBytes == 0) a->maxDynamicSharedSizeBytes = attribute(8) - value[1];
  a->preferredShmemCarveout = -1;
  return cudaSuccess;
}
API cudaError_t cudaFuncSetAttribute(const void *function, int which, int value) {
  CUfunction f;
  cudaError_t code = function_of(&f, function);
  if (code) return code;
  if (which == 8 && (value < 0 || value > attribute(97))) return done(cudaErrorInvalidValue);
  return done(cuFuncSetAttribute(f, which == 16 ? 17 : which, value)); /* the two APIs number the mode of shared memory differently */
}
API cudaError_t cudaFuncSetCacheConfig(const void *function, int config) { (void)config; return kernel_of(function) ? cudaSuccess : done(cudaErrorInvalidDeviceFunction); }
API cudaError_t cudaFuncSetSharedMemConfig(const void *function, int config) { (void)config; return kernel_of(function) ? cudaSuccess : done(cudaErrorInvalidDeviceFunction); }
API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t k, int which, int value, int device) {
  return device ? done(cudaErrorInvalidDevice) : cudaFuncSetAttribute(k, which, value);
}
API cudaError_t cudaFuncGetName(const char **name, const void *function) {
  struct kernel *k = kernel_of(function);
  if (!name || !k) return done(name ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  *name = k->name;
  return cudaSuccess;
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads, size_t shared, unsigned flags) {
  CUfunction f;
  cudaError_t code = function_of(&f, function);
  return code ? code : done(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, shared, flags));
}
API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads) {
  CUfunction f;
  int fixed = 0;
  cudaError_t code = bytes && blocks > 0 && threads > 0 ? function_of(&f, function) : done(cudaErrorInvalidValue);
  if (code) return code;
  cuFuncGetAttribute(&fixed, 1, f);
  long left = attribute(81) / blocks - attribute(111) - fixed;
  if (left > attribute(97) - fixed) left = attribute(97) - fixed;
  *bytes = left > 0 ? (size_t)left : 0;
  return cudaSuccess;
}
