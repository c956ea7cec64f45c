/* Streams and events are the driver's. */
#include "work.h"

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  cudaError_t code = ready();
  return code ? code : done(cuStreamCreateWithPriority(stream, flags, priority));
}
API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return cudaStreamCreateWithPriority(stream, flags, 0); }
API cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

#define PASSED(name, driver, parameters, ...) \
  API cudaError_t name parameters { \
    cudaError_t code = ready(); \
    return code ? code : done(driver(__VA_ARGS__)); \
  }
#define WAITS(name, driver, parameters, ...) \
  API cudaError_t name parameters { \
    cudaError_t code = ready(); \
    waited(); \
    return code ? code : done(driver(__VA_ARGS__)); \
  }
WAITS(cudaStreamDestroy, cuStreamDestroy_v2, (cudaStream_t stream), stream)
WAITS(cudaStreamSynchronize, cuStreamSynchronize, (cudaStream_t stream), stream)
WAITS(cudaStreamQuery, cuStreamQuery, (cudaStream_t stream), stream)
PASSED(cudaStreamGetFlags, cuStreamGetFlags, (cudaStream_t stream, unsigned *flags), stream, flags)
PASSED(cudaStreamGetPriority, cuStreamGetPriority, (cudaStream_t stream, int *priority), stream, priority)
WAITS(cudaStreamAddCallback, cuStreamAddCallback, (cudaStream_t stream, void (*call)(cudaStream_t, cudaError_t, void *), void *data, unsigned flags), stream, call, data, flags)
PASSED(cudaEventCreateWithFlags, cuEventCreate, (cudaEvent_t *event, unsigned flags), event, flags)
PASSED(cudaEventDestroy, cuEventDestroy_v2, (cudaEvent_t event), event)
WAITS(cudaEventSynchronize, cuEventSynchronize, (cudaEvent_t event), event)
WAITS(cudaEventQuery, cuEventQuery, (cudaEvent_t event), event)
WAITS(cudaEventElapsedTime, cuEventElapsedTime, (float *ms, cudaEvent_t from, cudaEvent_t to), ms, from, to)
API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  cudaError_t code = ready();
  if (code || captured_wait(stream, event)) return code;
  return done(cuStreamWaitEvent(stream, event, flags));
}
API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  cudaError_t code = ready();
  if (code || captured_event(event, stream)) return code;
  return done(cuEventRecord(event, stream));
}
API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*call)(void *), void *data) {
  struct work w = {.type = NODE_HOST, .host = {call, data}};
  cudaError_t code = ready();
  return code ? code : enqueue(stream, &w);
}
API cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) { (void)flags; return cudaEventRecord(event, stream); }
API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
  (void)stream;
  if (!device) return done(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) {
  if (!id) return done(cudaErrorInvalidValue);
  *id = (unsigned long long)(uintptr_t)stream;
  return cudaSuccess;
}
API cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode) { return done(mode ? cudaSuccess : cudaErrorInvalidValue); }
#if CUDART_MAJOR < 13
API cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t from, cudaEvent_t to) { return cudaEventElapsedTime(ms, from, to); }
#endif

PER_THREAD(cudaStreamSynchronize, _ptsz);
PER_THREAD(cudaStreamQuery, _ptsz);
PER_THREAD(cudaStreamWaitEvent, _ptsz);
PER_THREAD(cudaStreamGetFlags, _ptsz);
PER_THREAD(cudaStreamGetPriority, _ptsz);
PER_THREAD(cudaStreamGetDevice, _ptsz);
PER_THREAD(cudaStreamGetId, _ptsz);
PER_THREAD(cudaStreamAddCallback, _ptsz);
PER_THREAD(cudaLaunchHostFunc, _ptsz);
PER_THREAD(cudaEventRecord, _ptsz);
PER_THREAD(cudaEventRecordWithFlags, _ptsz);
