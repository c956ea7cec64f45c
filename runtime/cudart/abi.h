/* The CUDA runtime API as its public documentation describes it, in declarations of our own. Enumerations are ints. CUDART_MAJOR is the version of the
 * library that is built: 12 or 13. */
#ifndef PRLX_CUDART_ABI_H
#define PRLX_CUDART_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct cudaArray *cudaArray_t;
typedef struct kernel *cudaKernel_t, *cudaFunction_t;
typedef struct { unsigned x, y, z; } dim3;

enum { /* cudaError_t, those that this library has reasons for; the numbers of the driver's errors are the same */
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
};

enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };

struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  int kind;
};
struct cudaChannelFormatDesc { int x, y, z, w, f; };
enum { ARRAY_LAYERED = 1, ARRAY_CUBEMAP = 4 };                                              /* flags of arrays */
enum { RESOURCE_ARRAY, RESOURCE_MIPMAPS, RESOURCE_LINEAR, RESOURCE_PITCHED };               /* cudaResourceType */
enum { READ_ELEMENT, READ_UNIT };                                                           /* cudaTextureReadMode */
enum { FILTER_POINT, FILTER_LINEAR };                                                       /* cudaTextureFilterMode */
struct cudaResourceDesc {
  int resType;
  union {
    struct { cudaArray_t array; } array;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; struct cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
    int reserved[32];
  } res;
#if CUDART_MAJOR >= 13
  unsigned flags;
#endif
};
struct cudaTextureDesc {
  int addressMode[3], filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaPointerAttributes {
  int type, device;
  void *devicePointer, *hostPointer;
#if CUDART_MAJOR >= 13
  long locality, reserved[7];
#endif
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet;
  int requiredClusterWidth, requiredClusterHeight, requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER_DIMENSION = 4 }; /* cudaLaunchAttributeID */
typedef struct {
  int id;
  char pad[4];
  union { char room[64]; int cooperative; struct { unsigned x, y, z; } cluster; } value;
} cudaLaunchAttribute;
typedef struct {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
} cudaLaunchConfig_t;

struct cudaDeviceProp {
  char name[256], uuid[16], luid[8];
  unsigned luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
#if CUDART_MAJOR < 13
  int clockRate;
#endif
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
#if CUDART_MAJOR < 13
  int deviceOverlap;
#endif
  int multiProcessorCount;
#if CUDART_MAJOR < 13
  int kernelExecTimeoutEnabled;
#endif
  int integrated, canMapHostMemory;
#if CUDART_MAJOR < 13
  int computeMode;
#endif
  int maxTexture1D, maxTexture1DMipmap;
#if CUDART_MAJOR < 13
  int maxTexture1DLinear;
#endif
  int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
  int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2];
  int maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing;
#if CUDART_MAJOR < 13
  int memoryClockRate;
#endif
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
#if CUDART_MAJOR < 13
  int singleToDoublePrecisionPerfRatio;
#endif
  int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem, cooperativeLaunch;
#if CUDART_MAJOR < 13
  int cooperativeMultiDeviceLaunch;
#endif
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported, memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
#if CUDART_MAJOR < 13
  int reserved[63];
#else
  int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
  unsigned gpuPciDeviceID, gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported, reserved[56];
#endif
};

/* As the headers of 12.9 and 13.5 have them. */
_Static_assert(sizeof(struct cudaDeviceProp) == (CUDART_MAJOR < 13 ? 1032 : 1008), "cudaDeviceProp");
_Static_assert(sizeof(struct cudaPointerAttributes) == (CUDART_MAJOR < 13 ? 24 : 88), "cudaPointerAttributes");
_Static_assert(sizeof(struct cudaFuncAttributes) == 144, "cudaFuncAttributes");
_Static_assert(sizeof(struct cudaResourceDesc) == (CUDART_MAJOR < 13 ? 136 : 144), "cudaResourceDesc");
_Static_assert(sizeof(struct cudaTextureDesc) == 72, "cudaTextureDesc");

/* What it stands on: the driver API, of which runtime/cudadriver has a definition. */
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUctx_st *CUcontext;
typedef uint64_t CUdeviceptr;
typedef struct {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  cudaStream_t hStream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

int cuInit(unsigned), cuDriverGetVersion(int *), cuDeviceGetCount(int *), cuDeviceGetName(char *, int, int), cuDeviceGetUuid_v2(void *, int);
int cuDeviceTotalMem_v2(size_t *, int), cuDeviceGetAttribute(int *, int, int), cuDevicePrimaryCtxRetain(CUcontext *, int), cuDevicePrimaryCtxReset_v2(int);
int cuCtxGetCurrent(CUcontext *), cuCtxSetCurrent(CUcontext), cuCtxSynchronize(void), cuCtxGetLimit(size_t *, int), cuCtxSetLimit(int, size_t);
int cuCtxGetStreamPriorityRange(int *, int *);
int cuGetErrorString(int, const char **), cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);
int cuModuleLoadData(CUmodule *, const void *), cuModuleLoad(CUmodule *, const char *), cuModuleUnload(CUmodule);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
int cuFuncGetAttribute(int *, int, CUfunction), cuFuncSetAttribute(CUfunction, int, int), cuFuncGetName(const char **, CUfunction);
int cuFuncGetParamInfo(CUfunction, size_t, size_t *, size_t *);
int cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, CUfunction, int, size_t, unsigned);
int cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned), cuMemAllocPitch_v2(CUdeviceptr *, size_t *, size_t, size_t, unsigned);
int cuMemFree_v2(CUdeviceptr), cuMemHostAlloc(void **, size_t, unsigned), cuMemFreeHost(void *), cuMemHostGetDevicePointer_v2(CUdeviceptr *, void *, unsigned);
int cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *), cuMemGetInfo_v2(size_t *, size_t *), cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
int cuMemcpy(CUdeviceptr, CUdeviceptr, size_t), cuPointerGetAttribute(void *, int, CUdeviceptr), cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
int cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t), cuMemsetD32_v2(CUdeviceptr, unsigned, size_t);
int cuStreamCreateWithPriority(cudaStream_t *, unsigned, int), cuStreamDestroy_v2(cudaStream_t), cuStreamSynchronize(cudaStream_t), cuStreamQuery(cudaStream_t);
int cuStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned), cuStreamGetFlags(cudaStream_t, unsigned *), cuStreamGetPriority(cudaStream_t, int *);
int cuStreamAddCallback(cudaStream_t, void (*)(cudaStream_t, int, void *), void *, unsigned), cuLaunchHostFunc(cudaStream_t, void (*)(void *), void *);
int cuEventCreate(cudaEvent_t *, unsigned), cuEventDestroy_v2(cudaEvent_t), cuEventRecord(cudaEvent_t, cudaStream_t), cuEventSynchronize(cudaEvent_t);
int cuEventQuery(cudaEvent_t), cuEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);

#endif
