/* Arrays: memory in rows of texels, which textures and surfaces are read and written through. Their rows lie one behind the other, each aligned. */
#include "cudart.h"

#include <stdlib.h>
#include <string.h>

enum { row_alignment = 32 };

size_t texel_bytes(const struct cudaChannelFormatDesc *d) {
  int bits = d->x, n = 1;
  if ((bits != 8 && bits != 16 && bits != 32) || d->f < 0 || d->f > 2 || (d->f == 2 && bits == 8)) return 0;
  if (d->y) n = 2;
  if (d->z || d->w) n = 4;
  if ((n > 1 && d->y != bits) || (n > 2 && (d->z != bits || d->w != bits))) return 0;
  return (size_t)(n * bits / 8);
}

API cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent e, unsigned flags) {
  cudaError_t code = ready();
  if (code || !array || !desc || e.width == 0) return code ? code : done(cudaErrorInvalidValue);
  size_t texel = texel_bytes(desc), rows = e.height ? e.height : 1, slices = e.depth ? e.depth : 1;
  if (!texel || e.width > 1 << 20 || rows > 1 << 20 || slices > 1 << 16) return done(texel ? cudaErrorInvalidValue : 20 /* cudaErrorInvalidChannelDescriptor */);
  if ((flags & ARRAY_CUBEMAP) && (e.width != e.height || slices % 6 || (!(flags & ARRAY_LAYERED) && slices != 6))) return done(cudaErrorInvalidValue);
  struct cudaArray *a = calloc(1, sizeof *a);
  if (!a) return done(cudaErrorMemoryAllocation);
  a->desc = *desc, a->extent = e, a->flags = flags, a->texel = texel;
  a->pitch = (e.width * texel + row_alignment - 1) / row_alignment * row_alignment, a->slice = a->pitch * rows;
  if ((code = cuMemAlloc_v2(&a->at, a->slice * slices))) {
    free(a);
    return done(code);
  }
  *array = a;
  return cudaSuccess;
}
API cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height, unsigned flags) {
  struct cudaExtent e = {width, height, 0};
  return cudaMalloc3DArray(array, desc, e, flags);
}
API cudaError_t cudaFreeArray(cudaArray_t a) {
  cudaError_t code = ready();
  if (code || !a) return code;
  if ((code = cuMemFree_v2(a->at))) wrong("bad-free", "cudaFreeArray"); /* what describes it stays: a second call says that it was freed */
  return done(code);
}
API cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags, cudaArray_t a) {
  if (!a) return done(cudaErrorInvalidResourceHandle);
  if (desc) *desc = a->desc;
  if (extent) *extent = a->extent;
  if (flags) *flags = a->flags;
  return cudaSuccess;
}
API cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_t a) {
  return desc ? cudaArrayGetInfo(desc, NULL, NULL, a) : done(cudaErrorInvalidValue);
}
API struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  struct cudaChannelFormatDesc d = {x, y, z, w, kind};
  return d;
}

/* ---- copies ---- */

/* One side of a copy as rows: where the first begins, and how far the next is. */
struct side { char *at; size_t pitch, slice; };

static cudaError_t side_of(struct side *s, cudaArray_t a, const struct cudaPitchedPtr *p, const struct cudaPos *pos, const struct cudaExtent *bytes) {
  if (!a) {
    s->pitch = p->pitch, s->slice = p->pitch * p->ysize;
    s->at = (char *)p->ptr + pos->x + pos->y * s->pitch + pos->z * s->slice;
    return bytes->height > 1 && s->pitch < bytes->width ? 12 /* cudaErrorInvalidPitchValue */ : cudaSuccess;
  }
  size_t rows = a->extent.height ? a->extent.height : 1, slices = a->extent.depth ? a->extent.depth : 1, x = pos->x * a->texel;
  if (x + bytes->width > a->extent.width * a->texel || pos->y + bytes->height > rows || pos->z + bytes->depth > slices) return cudaErrorInvalidValue;
  s->pitch = a->pitch, s->slice = a->slice;
  s->at = (char *)(uintptr_t)a->at + x + pos->y * s->pitch + pos->z * s->slice;
  return cudaSuccess;
}

cudaError_t copy_rows(const struct cudaMemcpy3DParms *p) {
  struct cudaExtent e = p->extent;
  struct side to, from;
  if (p->srcArray) e.width *= p->srcArray->texel; /* with an array the extent counts texels */
  else if (p->dstArray) e.width *= p->dstArray->texel;
  cudaError_t code = ready();
  waited();
  if (code || e.width == 0 || e.height == 0 || e.depth == 0) return code;
  code = side_of(&to, p->dstArray, &p->dstPtr, &p->dstPos, &e);
  if (!code) code = side_of(&from, p->srcArray, &p->srcPtr, &p->srcPos, &e);
  if (!code) code = directed(to.at, from.at, p->kind);
  for (size_t z = 0; z < e.depth && !code; z++)
    for (size_t y = 0; y < e.height && !code; y++) {
      char *t = to.at + y * to.pitch + z * to.slice, *f = from.at + y * from.pitch + z * from.slice;
      code = cuMemcpy((CUdeviceptr)(uintptr_t)t, (CUdeviceptr)(uintptr_t)f, e.width);
    }
  if (code) tell("cudaMemcpy", code);
  return done(code);
}

API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p) { return p ? copy_rows(p) : done(cudaErrorInvalidValue); }
API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) { return p ? enqueue_copy(stream, p) : done(cudaErrorInvalidValue); }

static struct cudaPitchedPtr pitched(const void *p, size_t pitch, size_t rows) {
  struct cudaPitchedPtr made = {(void *)(uintptr_t)p, pitch, pitch, rows};
  return made;
}

/* A copy of rows of an array, whose offset and width are in bytes. */
static cudaError_t rows_of(cudaArray_t to_array, void *to, cudaArray_t from_array, const void *from, size_t pitch, size_t x, size_t y, size_t width, size_t height, int kind) {
  cudaArray_t a = to_array ? to_array : from_array;
  if (!a) return done(cudaErrorInvalidResourceHandle);
  if (x % a->texel || width % a->texel) return done(cudaErrorInvalidValue);
  struct cudaPos pos = {x / a->texel, y, 0}, origin = {0, 0, 0};
  struct cudaMemcpy3DParms p = {
      from_array, from_array ? pos : origin, pitched(from, pitch, height), to_array, to_array ? pos : origin, pitched(to, pitch, height), {width / a->texel, height, 1}, kind,
  };
  return copy_rows(&p);
}
API cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind) {
  return rows_of(to, NULL, NULL, from, pitch, x, y, width, height, kind);
}
API cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width, size_t height, int kind) {
  return rows_of(NULL, to, from, NULL, pitch, x, y, width, height, kind);
}
API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t from_x, size_t from_y, size_t width, size_t height, int kind) {
  if (!to || !from || to->texel != from->texel || to_x % to->texel || from_x % to->texel || width % to->texel) return done(cudaErrorInvalidValue);
  struct cudaMemcpy3DParms p = {
      from, {from_x / to->texel, from_y, 0}, {0}, to, {to_x / to->texel, to_y, 0}, {0}, {width / to->texel, height, 1}, kind,
  };
  return copy_rows(&p);
}
/* The form without rows goes on in the next row where one ends. */
static cudaError_t run_of(cudaArray_t to_array, char *to, cudaArray_t from_array, const char *from, size_t x, size_t y, size_t bytes, int kind) {
  cudaArray_t a = to_array ? to_array : from_array;
  cudaError_t code = a ? cudaSuccess : cudaErrorInvalidResourceHandle;
  while (bytes && !code) {
    size_t row = a->extent.width * a->texel, n = x < row ? row - x : 0;
    if (n > bytes) n = bytes;
    code = n ? rows_of(to_array, to, from_array, from, n, x, y, n, 1, kind) : cudaErrorInvalidValue;
    to = to ? to + n : NULL, from = from ? from + n : NULL, bytes -= n, x = 0, y++;
  }
  return done(code);
}
API cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, int kind) { return run_of(to, NULL, NULL, from, x, y, bytes, kind); }
API cudaError_t cudaMemcpyFromArray(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes, int kind) { return run_of(NULL, to, from, NULL, x, y, bytes, kind); }
API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_t from, size_t from_x, size_t from_y, size_t bytes, int kind) {
  return cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, bytes, 1, kind);
}
API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy2DToArray(to, x, y, from, pitch, width, height, kind);
}
API cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width, size_t height, int kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy2DFromArray(to, pitch, from, x, y, width, height, kind);
}
API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, int kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpyToArray(to, x, y, from, bytes, kind);
}
API cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_t from, size_t x, size_t y, size_t bytes, int kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpyFromArray(to, from, x, y, bytes, kind);
}

PER_THREAD(cudaMemcpy3D, _ptds);
PER_THREAD(cudaMemcpy3DAsync, _ptsz);
PER_THREAD(cudaMemcpy2DToArray, _ptds);
PER_THREAD(cudaMemcpy2DFromArray, _ptds);
PER_THREAD(cudaMemcpy2DArrayToArray, _ptds);
PER_THREAD(cudaMemcpyToArray, _ptds);
PER_THREAD(cudaMemcpyFromArray, _ptds);
PER_THREAD(cudaMemcpy2DToArrayAsync, _ptsz);
PER_THREAD(cudaMemcpy2DFromArrayAsync, _ptsz);
