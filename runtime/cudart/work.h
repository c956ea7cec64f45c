/* What streams do, one piece after the other, and graphs: pieces that were captured from a stream or described by hand. */
#ifndef PRLX_CUDART_WORK_H
#define PRLX_CUDART_WORK_H

#include "cudart.h"

enum { /* cudaGraphNodeType */
  NODE_KERNEL = 0,
  NODE_COPY = 1,
  NODE_FILL = 2,
  NODE_HOST = 3,
  NODE_GRAPH = 4,
  NODE_EMPTY = 5,
  NODE_WAIT = 6,
  NODE_RECORD = 7,
  NODE_ALLOCATION = 10,
  NODE_FREE = 11,
};

struct cudaKernelNodeParams { void *func; dim3 gridDim, blockDim; unsigned sharedMemBytes; void **kernelParams, **extra; };
struct cudaMemsetParams { void *dst; size_t pitch; unsigned value, elementSize; size_t width, height; };
struct cudaHostNodeParams { void (*fn)(void *); void *userData; };
struct cudaMemAllocNodeParams { char poolProps[88]; const void *accessDescs; size_t accessDescCount, bytesize; void *dptr; };

struct graph;
struct work {
  int type;
  struct cudaKernelNodeParams kernel; /* its parameters are the work's own */
  cudaLaunchAttribute attributes[4];
  unsigned attribute_count;
  struct cudaMemcpy3DParms copy;
  struct cudaMemsetParams fill;
  struct cudaHostNodeParams host;
  struct graph *child;
  cudaEvent_t event;
  void *memory;
  size_t bytes;
};

/* Does a piece of work, or adds it to the graph that its stream is captured into. The work is copied with what it points to. */
cudaError_t enqueue(cudaStream_t stream, const struct work *w);
/* Likewise the work itself. */
cudaError_t perform(const struct work *w, cudaStream_t stream);
cudaError_t launch_now(const cudaLaunchConfig_t *c, const void *function, void **values);
cudaError_t fill_rows(const struct cudaMemsetParams *p);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status);
/* Whether memory is that of a graph, which lasts as long as the process. */
int of_graph(const void *p);

#endif
