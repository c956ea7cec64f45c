/* Memory of all kinds, and copies. */
#include "work.h"

#include <string.h>

enum { OF_HOST = 1 }; /* CUpointer_attribute 2: memory type */

static CUdeviceptr address(const void *p) { return (CUdeviceptr)(uintptr_t)p; }

int kind_of(const void *p) {
  unsigned type = 0, managed = 0;
  if (cuPointerGetAttribute(&type, 2, address(p))) return cudaMemoryTypeUnregistered;
  cuPointerGetAttribute(&managed, 8, address(p));
  return managed ? cudaMemoryTypeManaged : type == OF_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

API cudaError_t cudaMalloc(void **p, size_t bytes) {
  cudaError_t code = ready();
  CUdeviceptr at = 0;
  if (code || !p) return code ? code : done(cudaErrorInvalidValue);
  if (bytes) code = cuMemAlloc_v2(&at, bytes);
  if (!code) *p = (void *)(uintptr_t)at;
  return done(code);
}
API cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags) {
  cudaError_t code = ready();
  CUdeviceptr at = 0;
  if (code || !p || !bytes) return code ? code : done(cudaErrorInvalidValue);
  code = cuMemAllocManaged(&at, bytes, flags);
  if (!code) *p = (void *)(uintptr_t)at;
  return done(code);
}
API cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
  cudaError_t code = ready();
  if (code || !p) return code ? code : done(cudaErrorInvalidValue);
  if (bytes == 0) return *p = NULL, cudaSuccess;
  return done(cuMemHostAlloc(p, bytes, flags));
}
API cudaError_t cudaMallocHost(void **p, size_t bytes) { return cudaHostAlloc(p, bytes, 0); }
API cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream) {
  cudaError_t code;
  return p && bytes && captured_allocation(p, bytes, stream, &code) ? code : cudaMalloc(p, bytes);
}
API cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  cudaError_t code = ready();
  CUdeviceptr at = 0;
  if (code || !p || !pitch) return code ? code : done(cudaErrorInvalidValue);
  code = width && height ? cuMemAllocPitch_v2(&at, pitch, width, height, 4) : cudaSuccess;
  if (!code) *p = (void *)(uintptr_t)at;
  return done(code);
}
API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent e) {
  if (!p) return done(cudaErrorInvalidValue);
  cudaError_t code = cudaMallocPitch(&p->ptr, &p->pitch, e.width, e.height * e.depth);
  p->xsize = e.width, p->ysize = e.height;
  return code;
}
API cudaError_t cudaFree(void *p) {
  cudaError_t code = ready();
  if (code) return code;
  if (p && of_graph(p)) return cudaSuccess; /* a graph that is launched again has it again */
  if (p && kind_of(p) == cudaMemoryTypeHost) {
    prlx_cuda_note("bad-free", "cudaFree", "memory of cudaMallocHost is freed by cudaFreeHost", NULL);
    return done(cudaErrorInvalidValue);
  }
  code = cuMemFree_v2(address(p));
  waited();
  if (code) wrong("bad-free", "cudaFree");
  return done(code);
}
API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream) { (void)stream; return cudaFree(p); }
API cudaError_t cudaFreeHost(void *p) {
  cudaError_t code = ready();
  if (code || !p) return code;
  waited();
  if ((code = cuMemFreeHost(p))) wrong("bad-free", "cudaFreeHost");
  return done(code);
}
API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  CUdeviceptr at;
  cudaError_t code = ready();
  if (!code) code = done(device ? cuMemHostGetDevicePointer_v2(&at, host, flags) : cudaErrorInvalidValue);
  if (!code) *device = (void *)(uintptr_t)at;
  return code;
}
API cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
  if (!flags || kind_of(host) != cudaMemoryTypeHost) return done(cudaErrorInvalidValue);
  *flags = 2; /* mapped */
  return cudaSuccess;
}
API cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags) {
  cudaError_t code = ready();
  if (!code && (code = cuMemHostRegister_v2(p, bytes, flags))) tell("cudaHostRegister", code);
  return done(code);
}
API cudaError_t cudaHostUnregister(void *p) {
  cudaError_t code = ready();
  return code ? code : done(cuMemHostUnregister(p));
}
API cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
  cudaError_t code = ready();
  return code ? code : done(cuMemGetInfo_v2(left, total));
}
API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
  cudaError_t code = ready();
  if (code || !a) return code ? code : done(cudaErrorInvalidValue);
  memset(a, 0, sizeof *a);
  a->type = kind_of(p), a->device = a->type == cudaMemoryTypeUnregistered ? -2 : 0; /* cudaInvalidDeviceId */
  a->devicePointer = NULL; /* of registered memory another one than the host's */
  if (a->type != cudaMemoryTypeUnregistered) cuPointerGetAttribute(&a->devicePointer, 3, address(p));
  a->hostPointer = a->type == cudaMemoryTypeDevice ? NULL : (void *)(uintptr_t)p;
#if CUDART_MAJOR >= 13
  a->locality = (uint32_t)-1; /* none */
#endif
  return cudaSuccess;
}

cudaError_t directed(const void *to, const void *from, int kind) {
  int t = kind_of(to), f = kind_of(from);
  int to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind < 0 || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (kind == cudaMemcpyDefault) return cudaSuccess;
  if (to_device ? t == cudaMemoryTypeUnregistered : t == cudaMemoryTypeDevice) return cudaErrorInvalidValue;
  if (from_device ? f == cudaMemoryTypeUnregistered : f == cudaMemoryTypeDevice) return cudaErrorInvalidValue;
  return cudaSuccess;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, int kind) {
  struct cudaMemcpy3DParms p = row_of(to, from, bytes, kind);
  return copy_rows(&p);
}
static struct cudaMemcpy3DParms rows_between(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, int kind) {
  struct cudaMemcpy3DParms p = {
      .srcPtr = {(void *)(uintptr_t)from, from_pitch, width, rows}, .dstPtr = {to, to_pitch, width, rows}, .extent = {width, rows, 1}, .kind = kind,
  };
  return p;
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind) { return copy(to, from, bytes, kind); }
API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream) {
  struct cudaMemcpy3DParms p = row_of(to, from, bytes, kind);
  return enqueue_copy(stream, &p);
}
API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind) {
  struct cudaMemcpy3DParms p = rows_between(to, to_pitch, from, from_pitch, width, height, kind);
  return copy_rows(&p);
}
API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, cudaStream_t stream) {
  struct cudaMemcpy3DParms p = rows_between(to, to_pitch, from, from_pitch, width, height, kind);
  return enqueue_copy(stream, &p);
}
API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  return to_device || from_device ? done(cudaErrorInvalidDevice) : cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpyPeer(to, to_device, from, from_device, bytes);
}

static cudaError_t fill(void *p, size_t pitch, int value, size_t width, size_t height) {
  struct cudaMemsetParams f = {p, pitch, (unsigned char)value, 1, width, height};
  return fill_rows(&f);
}
static cudaError_t enqueue_fill(void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  struct work w = {.type = NODE_FILL, .fill = {p, pitch, (unsigned char)value, 1, width, height}};
  return enqueue(stream, &w);
}
API cudaError_t cudaMemset(void *p, int value, size_t bytes) { return fill(p, bytes, value, bytes, 1); }
API cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height) { return fill(p, pitch, value, width, height); }
API cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent e) {
  cudaError_t code = cudaSuccess;
  for (size_t z = 0; z < e.depth && !code; z++) code = fill((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, e.width, e.height);
  return code;
}
API cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) { return enqueue_fill(p, bytes, value, bytes, 1, stream); }
API cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) { return enqueue_fill(p, pitch, value, width, height, stream); }
API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent e, cudaStream_t stream) {
  cudaError_t code = cudaSuccess;
  for (size_t z = 0; z < e.depth && !code; z++) code = enqueue_fill((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, e.width, e.height, stream);
  return code;
}

/* ---- variables of modules ---- */

cudaError_t symbol_at(char **at, const void *symbol, size_t bytes, size_t offset) {
  CUdeviceptr base;
  size_t size;
  cudaError_t code = variable_of(&base, &size, symbol);
  if (code) return code;
  if (offset > size || bytes > size - offset) return done(cudaErrorInvalidValue);
  *at = (char *)(uintptr_t)base + offset;
  return cudaSuccess;
}
API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind) {
  char *at = NULL;
  cudaError_t code = symbol_at(&at, symbol, bytes, offset);
  return code ? code : cudaMemcpy(at, from, bytes, kind);
}
API cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  char *at = NULL;
  cudaError_t code = symbol_at(&at, symbol, bytes, offset);
  return code ? code : cudaMemcpy(to, at, bytes, kind);
}
API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind, cudaStream_t stream) {
  char *at = NULL;
  cudaError_t code = symbol_at(&at, symbol, bytes, offset);
  return code ? code : cudaMemcpyAsync(at, from, bytes, kind, stream);
}
API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind, cudaStream_t stream) {
  char *at = NULL;
  cudaError_t code = symbol_at(&at, symbol, bytes, offset);
  return code ? code : cudaMemcpyAsync(to, at, bytes, kind, stream);
}
API cudaError_t cudaGetSymbolAddress(void **at, const void *symbol) { return at ? symbol_at((char **)at, symbol, 0, 0) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol) {
  CUdeviceptr at;
  return bytes ? variable_of(&at, bytes, symbol) : done(cudaErrorInvalidValue);
}

/* ---- hints, of which managed memory here needs none ---- */

API cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes) { (void)bytes; return done(kind_of(p) == cudaMemoryTypeManaged ? cudaSuccess : cudaErrorInvalidValue); }
API cudaError_t cudaMemAdvise(const void *p, size_t bytes) { return cudaMemPrefetchAsync(p, bytes); }
API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *p, size_t bytes, unsigned flags) { (void)stream, (void)flags; return cudaMemPrefetchAsync(p, bytes); }
#if CUDART_MAJOR < 13
API cudaError_t cudaMemPrefetchAsync_v2(const void *p, size_t bytes) { return cudaMemPrefetchAsync(p, bytes); }
API cudaError_t cudaMemAdvise_v2(const void *p, size_t bytes) { return cudaMemPrefetchAsync(p, bytes); }
#endif

/* ---- pools: there is one, which gives back what is freed at once ---- */

static struct pool { uint64_t attributes[16]; } pool;
API cudaError_t cudaDeviceGetDefaultMemPool(struct pool **p, int device) {
  if (!p || device) return done(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *p = &pool;
  return cudaSuccess;
}
API cudaError_t cudaDeviceGetMemPool(struct pool **p, int device) { return cudaDeviceGetDefaultMemPool(p, device); }
API cudaError_t cudaDeviceSetMemPool(int device, struct pool *p) { return done(device || !p ? cudaErrorInvalidValue : cudaSuccess); }
API cudaError_t cudaMemPoolCreate(struct pool **p, const void *properties) { return properties ? cudaDeviceGetDefaultMemPool(p, 0) : done(cudaErrorInvalidValue); }
API cudaError_t cudaMemPoolDestroy(struct pool *p) { return done(p ? cudaSuccess : cudaErrorInvalidValue); }
API cudaError_t cudaMemPoolTrimTo(struct pool *p, size_t keep) { (void)keep; return done(p ? cudaSuccess : cudaErrorInvalidValue); }
API cudaError_t cudaMemPoolSetAccess(struct pool *p, const void *list, size_t n) { (void)list, (void)n; return done(p ? cudaSuccess : cudaErrorInvalidValue); }
static size_t attribute_bytes(int which) { return which <= 3 ? 4 : 8; } /* the first three are switches */
API cudaError_t cudaMemPoolSetAttribute(struct pool *p, int which, const void *value) {
  if (!p || !value || which < 1 || which > 8) return done(cudaErrorInvalidValue);
  memcpy(&p->attributes[which], value, attribute_bytes(which));
  return cudaSuccess;
}
API cudaError_t cudaMemPoolGetAttribute(struct pool *p, int which, void *value) {
  if (!p || !value || which < 1 || which > 8) return done(cudaErrorInvalidValue);
  memcpy(value, &p->attributes[which], attribute_bytes(which));
  return cudaSuccess;
}
API cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, struct pool *from, cudaStream_t stream) { (void)stream; return from ? cudaMalloc(p, bytes) : done(cudaErrorInvalidValue); }

PER_THREAD(cudaMemcpy, _ptds);
PER_THREAD(cudaMemcpyAsync, _ptsz);
PER_THREAD(cudaMemcpy2D, _ptds);
PER_THREAD(cudaMemcpy2DAsync, _ptsz);
PER_THREAD(cudaMemset, _ptds);
PER_THREAD(cudaMemsetAsync, _ptsz);
PER_THREAD(cudaMemset2D, _ptds);
PER_THREAD(cudaMemset2DAsync, _ptsz);
PER_THREAD(cudaMemset3D, _ptds);
PER_THREAD(cudaMemset3DAsync, _ptsz);
PER_THREAD(cudaMemcpyToSymbol, _ptds);
PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz);
PER_THREAD(cudaMemcpyFromSymbol, _ptds);
PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz);
PER_THREAD(cudaMallocAsync, _ptsz);
PER_THREAD(cudaMallocFromPoolAsync, _ptsz);
PER_THREAD(cudaFreeAsync, _ptsz);
PER_THREAD(cudaMemPrefetchAsync, _ptsz);
PER_THREAD(cudaStreamAttachMemAsync, _ptsz);
