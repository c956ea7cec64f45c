/* The one device: what it is, and what programs set of it. */
#include "cudart.h"

#include <stdio.h>
#include <string.h>

int attribute(int number) {
  int value = 0;
  return ready() == cudaSuccess && cuDeviceGetAttribute(&value, number, 0) == 0 ? value : 0;
}

API cudaError_t cudaGetDeviceCount(int *n) {
  if (!n) return done(cudaErrorInvalidValue);
  *n = 0;
  cudaError_t code = ready();
  return code ? code : done(cuDeviceGetCount(n));
}
API cudaError_t cudaGetDevice(int *device) {
  if (!device) return done(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
API cudaError_t cudaSetDevice(int device) {
  cudaError_t code = ready();
  return code ? code : done(device ? cudaErrorInvalidDevice : cudaSuccess);
}
API cudaError_t cudaInitDevice(int device, unsigned flags, unsigned which) { (void)flags, (void)which; return cudaSetDevice(device); }
API cudaError_t cudaSetValidDevices(int *list, int n) { return done(n == 0 || (list && list[0] == 0) ? cudaSuccess : cudaErrorInvalidDevice); }
API cudaError_t cudaChooseDevice(int *device, const void *like) { (void)like; return cudaGetDevice(device); }
static unsigned device_flags;
API cudaError_t cudaSetDeviceFlags(unsigned flags) { device_flags = flags; return cudaSuccess; }
API cudaError_t cudaGetDeviceFlags(unsigned *flags) {
  if (!flags) return done(cudaErrorInvalidValue);
  *flags = device_flags;
  return cudaSuccess;
}
API cudaError_t cudaDeviceSynchronize(void) {
  cudaError_t code = ready();
  waited();
  return code ? code : done(cuCtxSynchronize());
}
API cudaError_t cudaDeviceReset(void) {
  cudaError_t code = ready();
  waited();
  return code ? code : done(cuDevicePrimaryCtxReset_v2(0));
}
API cudaError_t cudaDriverGetVersion(int *version) { return done(cuDriverGetVersion(version)); }
API cudaError_t cudaRuntimeGetVersion(int *version) {
  if (!version) return done(cudaErrorInvalidValue);
  *version = CUDART_MAJOR * 1000;
  return cudaSuccess;
}
API cudaError_t cudaDeviceGetAttribute(int *value, int which, int device) {
  cudaError_t code = ready();
  return code ? code : done(device ? cudaErrorInvalidDevice : cuDeviceGetAttribute(value, which, 0));
}
API cudaError_t cudaDeviceGetLimit(size_t *value, int limit) {
  cudaError_t code = ready();
  return code ? code : done(cuCtxGetLimit(value, limit));
}
API cudaError_t cudaDeviceSetLimit(int limit, size_t value) {
  cudaError_t code = ready();
  return code ? code : done(cuCtxSetLimit(limit, value));
}
static int cache_config, shared_config;
API cudaError_t cudaDeviceGetCacheConfig(int *config) { *config = cache_config; return cudaSuccess; }
API cudaError_t cudaDeviceSetCacheConfig(int config) { cache_config = config; return cudaSuccess; }
API cudaError_t cudaDeviceGetSharedMemConfig(int *config) { *config = shared_config; return cudaSuccess; }
API cudaError_t cudaDeviceSetSharedMemConfig(int config) { shared_config = config; return cudaSuccess; }
API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return done(cuCtxGetStreamPriorityRange(least, greatest)); }
API cudaError_t cudaDeviceGetPCIBusId(char *id, int n, int device) {
  if (!id || n < 13 || device) return done(cudaErrorInvalidValue);
  snprintf(id, (size_t)n, "0000:00:00.0");
  return cudaSuccess;
}
API cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id) { (void)id; return cudaGetDevice(device); }
API cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  (void)device, (void)peer;
  if (!can) return done(cudaErrorInvalidValue);
  *can = 0;
  return cudaSuccess;
}
API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { (void)peer, (void)flags; return done(cudaErrorPeerAccessUnsupported); }
API cudaError_t cudaDeviceDisablePeerAccess(int peer) { (void)peer; return done(705 /* cudaErrorPeerAccessNotEnabled */); }
API cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
API cudaError_t cudaProfilerStop(void) { return cudaSuccess; }
API cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }

API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags, int *status) {
  int found;
  cudaError_t code = name && function ? cuGetProcAddress_v2(name, function, (int)version, flags, &found) : cudaErrorInvalidValue;
  if (status && name && function) *status = code ? 1 : 0; /* not found */
  return done(code == 500 ? cudaSuccess : code);
}
API cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status) {
  return cudaGetDriverEntryPointByVersion(name, function, CUDART_MAJOR * 1000, flags, status);
}
PER_THREAD(cudaGetDriverEntryPointByVersion, _ptsz);
PER_THREAD(cudaGetDriverEntryPoint, _ptsz);

static void three(int *to, int from) {
  for (int i = 0; i < 3; i++) to[i] = attribute(from + i);
}

/* Attributes by their numbers in cudaDeviceAttr, which are the driver's. What has no number here the device has not, and is 0. */
static cudaError_t properties(struct cudaDeviceProp *p, int device) {
  cudaError_t code = ready();
  if (code || !p || device) return code ? code : done(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  memset(p, 0, sizeof *p);
  cuDeviceGetName(p->name, sizeof p->name, 0), cuDeviceGetUuid_v2(p->uuid, 0), cuDeviceTotalMem_v2(&p->totalGlobalMem, 0);
  p->maxThreadsPerBlock = attribute(1), three(p->maxThreadsDim, 2), three(p->maxGridSize, 5);
  p->sharedMemPerBlock = (size_t)attribute(8), p->totalConstMem = (size_t)attribute(9), p->warpSize = attribute(10), p->memPitch = (size_t)attribute(11);
  p->regsPerBlock = attribute(12), p->textureAlignment = (size_t)attribute(14), p->texturePitchAlignment = (size_t)attribute(51), p->multiProcessorCount = attribute(16);
  p->integrated = attribute(18), p->canMapHostMemory = attribute(19), p->surfaceAlignment = (size_t)attribute(30), p->concurrentKernels = attribute(31);
  p->memoryBusWidth = attribute(37), p->l2CacheSize = attribute(38), p->maxThreadsPerMultiProcessor = attribute(39), p->asyncEngineCount = attribute(40);
  p->unifiedAddressing = attribute(41), p->major = attribute(75), p->minor = attribute(76), p->streamPrioritiesSupported = attribute(78);
  p->globalL1CacheSupported = attribute(79), p->localL1CacheSupported = attribute(80), p->sharedMemPerMultiprocessor = (size_t)attribute(81);
  p->regsPerMultiprocessor = attribute(82), p->managedMemory = attribute(83), p->hostNativeAtomicSupported = attribute(86), p->pageableMemoryAccess = attribute(88);
  p->concurrentManagedAccess = attribute(89), p->computePreemptionSupported = attribute(90), p->canUseHostPointerForRegisteredMem = attribute(91);
  p->cooperativeLaunch = attribute(95), p->sharedMemPerBlockOptin = (size_t)attribute(97), p->hostRegisterSupported = attribute(99);
  p->maxBlocksPerMultiProcessor = attribute(106), p->persistingL2CacheMaxSize = attribute(108), p->accessPolicyMaxWindowSize = attribute(109);
  p->reservedSharedMemPerBlock = (size_t)attribute(111), p->memoryPoolsSupported = attribute(115), p->clusterLaunch = attribute(120);
  p->maxTexture1D = p->maxSurface1D = attribute(21), p->maxTextureCubemap = p->maxSurfaceCubemap = attribute(52);
  for (int i = 0; i < 2; i++) p->maxTexture2D[i] = p->maxSurface2D[i] = attribute(22 + i), p->maxTexture1DLayered[i] = p->maxSurface1DLayered[i] = attribute(42 + i);
  three(p->maxTexture3D, 24), three(p->maxSurface3D, 24), three(p->maxTexture2DLayered, 27), three(p->maxSurface2DLayered, 27);
#if CUDART_MAJOR < 13
  p->clockRate = attribute(13), p->deviceOverlap = attribute(15), p->computeMode = attribute(20), p->memoryClockRate = attribute(36), p->singleToDoublePrecisionPerfRatio = attribute(87);
#endif
  return cudaSuccess;
}
API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device) { return properties(p, device); }
#if CUDART_MAJOR < 13
API cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int device) { return properties(p, device); }
API cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }
API cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
#endif
