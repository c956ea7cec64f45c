/* Errors: their names and texts, the last one of each thread, and those that a device does not recover from. */
#define _GNU_SOURCE
#include "cudart.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread cudaError_t last;
static int broken; /* what a kernel failed with: the device does not recover in this process */

cudaError_t done(cudaError_t code) {
  if (code) last = code;
  return code;
}

static int initialised;
static void initialise(void) {
  CUcontext context;
  initialised = cuInit(0);
  if (!initialised) initialised = cuDevicePrimaryCtxRetain(&context, 0);
}

cudaError_t ready(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  CUcontext context = NULL;
  pthread_once(&once, initialise);
  if (initialised) return done(initialised);
  if (broken) return done(broken);
  if (cuCtxGetCurrent(&context) == 0 && !context && cuDevicePrimaryCtxRetain(&context, 0) == 0) cuCtxSetCurrent(context);
  return cudaSuccess;
}

cudaError_t launched(int code) {
  switch (code) {
  case cudaErrorIllegalAddress: case cudaErrorLaunchTimeout: case cudaErrorAssert: case cudaErrorMisalignedAddress: case cudaErrorLaunchFailure:
    __atomic_store_n(&broken, code, __ATOMIC_RELAXED);
    return cudaSuccess;
  }
  return done(code);
}

int watched(void) {
  const char *device = getenv("PRLX_CUDA_DEVICE");
  return device && strstr(device, "\n--run\n");
}

void tell(const char *what, int code) {
  const char *why = NULL;
  cuGetErrorString(code, &why);
  fprintf(stderr, "prlx: %s: %s\n", what, why ? why : "an error of the driver");
}

API cudaError_t cudaGetLastError(void) {
  cudaError_t code = last;
  last = cudaSuccess;
  return code;
}
API cudaError_t cudaPeekAtLastError(void) { return last; }

static const struct { cudaError_t code; const char *name, *text; } known[] = {
#define E(code, name, text) {code, #name, text},
#include "errors.inc"
#undef E
};

API const char *cudaGetErrorName(cudaError_t code) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].code == code) return known[i].name;
  return "unrecognized error code";
}
API const char *cudaGetErrorString(cudaError_t code) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].code == code) return known[i].text;
  return "unrecognized error code";
}
