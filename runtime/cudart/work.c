/* Pieces of work, done at once: what is asynchronous is over when the call returns, an order that streams allow. */
#include "work.h"

#include <string.h>

struct cudaMemcpy3DParms row_of(void *to, const void *from, size_t bytes, int kind) {
  struct cudaMemcpy3DParms p = {.srcPtr = {(void *)(uintptr_t)from, bytes, bytes, 1}, .dstPtr = {to, bytes, bytes, 1}, .extent = {bytes, 1, 1}, .kind = kind};
  return p;
}

cudaError_t fill_rows(const struct cudaMemsetParams *p) {
  cudaError_t code = ready();
  waited();
  if (code || p->width == 0 || p->height == 0) return code;
  if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) return done(cudaErrorInvalidValue);
  if (kind_of(p->dst) == cudaMemoryTypeUnregistered) return done(cudaErrorInvalidValue); /* the program's own memory is not the device's */
  for (size_t i = 0; i < p->height && !code; i++) {
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p->dst + i * p->pitch;
    code = p->elementSize == 1   ? cuMemsetD8_v2(at, (unsigned char)p->value, p->width)
           : p->elementSize == 2 ? cuMemsetD16_v2(at, (unsigned short)p->value, p->width)
                                 : cuMemsetD32_v2(at, p->value, p->width);
  }
  if (code) tell("cudaMemset", code);
  return done(code);
}

cudaError_t perform(const struct work *w, cudaStream_t stream) {
  const struct cudaKernelNodeParams *k = &w->kernel;
  cudaLaunchConfig_t c = {k->gridDim, k->blockDim, k->sharedMemBytes, stream, (cudaLaunchAttribute *)(uintptr_t)w->attributes, w->attribute_count};
  switch (w->type) {
  case NODE_KERNEL: return launch_now(&c, k->func, k->kernelParams);
  case NODE_COPY: return copy_rows(&w->copy);
  case NODE_FILL: return fill_rows(&w->fill);
  case NODE_HOST: waited(); return done(cuLaunchHostFunc(stream, w->host.fn, w->host.userData));
  case NODE_RECORD: return done(cuEventRecord(w->event, stream));
  case NODE_WAIT: return done(cuStreamWaitEvent(stream, w->event, 0));
  }
  return cudaSuccess; /* memory of graphs is there all the time */
}

cudaError_t enqueue_copy(cudaStream_t stream, const struct cudaMemcpy3DParms *p) {
  struct work w = {.type = NODE_COPY, .copy = *p};
  int captured = 0;
  cudaStreamIsCapturing(stream, &captured);
  cudaError_t code = enqueue(stream, &w);
  if (!code && !captured) not_waited(p);
  return code;
}
