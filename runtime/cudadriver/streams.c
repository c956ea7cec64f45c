/* Streams and events. What is called has been done when the call returns, so a stream is a name, and an event the time at which it was recorded. */
#include "driver.h"

#include <stdlib.h>

uint64_t clock_ns;

struct stream { unsigned flags; int priority; };
struct event { uint64_t at_ns; int recorded; };

API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  if (!stream || !(*stream = calloc(1, sizeof **stream))) return stream ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  (*stream)->flags = flags, (*stream)->priority = priority;
  return CUDA_SUCCESS;
}
API CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
API CUresult cuStreamDestroy_v2(CUstream stream) {
  if (!stream || (uintptr_t)stream < 16) return CUDA_ERROR_INVALID_HANDLE; /* the default ones */
  free(stream);
  return CUDA_SUCCESS;
}
API CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
API CUresult cuStreamSynchronize(CUstream stream) { return not_captured(stream, "a wait"); }
API CUresult cuStreamQuery(CUstream stream) { return not_captured(stream, "a query"); }
API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  (void)flags;
  return event ? not_captured(stream, "an event") : CUDA_ERROR_INVALID_HANDLE;
}
API CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
  if (!flags) return CUDA_ERROR_INVALID_VALUE;
  *flags = (uintptr_t)stream < 16 ? 0 : stream->flags;
  return CUDA_SUCCESS;
}
API CUresult cuStreamGetPriority(CUstream stream, int *priority) {
  if (!priority) return CUDA_ERROR_INVALID_VALUE;
  *priority = (uintptr_t)stream < 16 ? 0 : stream->priority;
  return CUDA_SUCCESS;
}
API CUresult cuStreamAddCallback(CUstream stream, void (*call)(CUstream, CUresult, void *), void *data, unsigned flags) {
  (void)flags;
  CUresult no = not_captured(stream, "a function of the host");
  if (!call || no) return no ? no : CUDA_ERROR_INVALID_VALUE;
  call(stream, CUDA_SUCCESS, data);
  return CUDA_SUCCESS;
}
API CUresult cuLaunchHostFunc(CUstream stream, void (*call)(void *), void *data) {
  CUresult no = not_captured(stream, "a function of the host");
  if (!call || no) return no ? no : CUDA_ERROR_INVALID_VALUE;
  call(data);
  return CUDA_SUCCESS;
}

API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  (void)flags;
  if (!event) return CUDA_ERROR_INVALID_VALUE;
  return (*event = calloc(1, sizeof **event)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
API CUresult cuEventDestroy_v2(CUevent event) {
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  free(event);
  return CUDA_SUCCESS;
}
API CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
API CUresult cuEventRecord(CUevent event, CUstream stream) {
  HOLD;
  CUresult no = not_captured(stream, "an event");
  if (!event || no) return no ? no : CUDA_ERROR_INVALID_HANDLE;
  event->at_ns = clock_ns += 1000, event->recorded = 1;
  return CUDA_SUCCESS;
}
API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) { (void)flags; return cuEventRecord(event, stream); }
API CUresult cuEventSynchronize(CUevent event) { return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API CUresult cuEventQuery(CUevent event) { return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  if (!ms || !from || !to || !from->recorded || !to->recorded) return CUDA_ERROR_INVALID_HANDLE;
  *ms = (float)((double)((int64_t)(to->at_ns - from->at_ns)) / 1e6);
  return CUDA_SUCCESS;
}
API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to) { return cuEventElapsedTime(ms, from, to); }
