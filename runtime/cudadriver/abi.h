/* The CUDA driver API as its public documentation describes it: the types and numbers that this library answers with. Enumerations are ints. */
#ifndef PRLX_CUDA_ABI_H
#define PRLX_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct context *CUcontext;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct module *CUlibrary; /* a library is a module, and a kernel of it a function */
typedef struct function *CUkernel;
typedef struct pool *CUmemoryPool;
typedef struct graph *CUgraph, *CUgraphExec; /* a graph that is launched is the graph */
typedef struct { char bytes[16]; } CUuuid;

enum { /* CUresult */
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_REGISTERED = 712,
  CUDA_ERROR_NOT_REGISTERED = 713,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_UNKNOWN = 999,
};

enum { /* CUpointer_attribute */
  POINTER_CONTEXT = 1,
  POINTER_MEMORY_TYPE = 2,
  POINTER_DEVICE_POINTER = 3,
  POINTER_HOST_POINTER = 4,
  POINTER_IS_MANAGED = 8,
  POINTER_DEVICE_ORDINAL = 9,
  POINTER_RANGE_START = 11,
  POINTER_RANGE_SIZE = 12,
};
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };

enum { /* CUfunction_attribute */
  FUNCTION_MAX_THREADS = 0,
  FUNCTION_SHARED_BYTES = 1,
  FUNCTION_CONST_BYTES = 2,
  FUNCTION_LOCAL_BYTES = 3,
  FUNCTION_REGISTERS = 4,
  FUNCTION_PTX_VERSION = 5,
  FUNCTION_BINARY_VERSION = 6,
  FUNCTION_MAX_DYNAMIC_SHARED = 8,
  FUNCTION_SHARED_MEMORY_MODE = 17,
};

enum { ALLOCATION_PINNED = 1, LOCATION_DEVICE = 1, ACCESS_READ_WRITE = 3 }; /* CUmemAllocationType, CUmemLocationType, CUmemAccess_flags */
typedef struct { int type, id; } CUmemLocation;
typedef struct { int allocType, handleTypes; CUmemLocation location; } CUmemPoolProps; /* as much of it as is read */

enum { CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, CAPTURE_RELAXED = 2 }; /* CUstreamCaptureMode */
enum { CAPTURE_NONE = 0, CAPTURE_ACTIVE = 1, CAPTURE_INVALIDATED = 2 };  /* CUstreamCaptureStatus */

enum { LAUNCH_CLUSTER_DIMENSION = 4 }; /* CUlaunchAttributeID */
typedef struct {
  int id;
  char pad[4];
  union { char room[64]; struct { unsigned x, y, z; } cluster; } value;
} CUlaunchAttribute;
typedef struct {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

#endif
