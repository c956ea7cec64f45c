#include "driver.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What was last wrong in a thread. Callers copy it behind a few words into 1,024 bytes without a check: it is cut before that. */
static __thread struct { CUresult code; char text[961]; } last;

CUresult failed(CUresult code, const char *format, ...) {
  va_list list;
  last.code = code;
  va_start(list, format);
  vsnprintf(last.text, sizeof last.text, format, list);
  va_end(list);
  if (getenv("PRLX_CUDA_LOG")) fprintf(stderr, "prlx: error %d of libcuda: %s\n", code, last.text); /* many programs ask for the name alone */
  return code;
}

CUresult refused(char *reply, CUresult code) {
  char message[sizeof last.text] = "the device does not answer", hint[300] = "";
  if (reply) string_of(value_of(reply + 1, "message"), message, sizeof message), string_of(value_of(reply + 1, "hint"), hint, sizeof hint);
  free(reply);
  return failed(code, "%s%s%s%s", message, *hint ? " (" : "", hint, *hint ? ")" : "");
}

static const struct { CUresult code; const char *name, *text; } known[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {CUDA_ERROR_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int place_of(CUresult code) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].code == code) return (int)i;
  return -1;
}

API CUresult cuGetErrorString(CUresult code, const char **text) {
  int at = place_of(code);
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = at < 0 ? NULL : code && code == last.code && *last.text ? last.text : known[at].text;
  return at < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

API CUresult cuGetErrorName(CUresult code, const char **name) {
  int at = place_of(code);
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = at < 0 ? NULL : known[at].name;
  return at < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
