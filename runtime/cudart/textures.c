/* Texture and surface objects. One is the address of a descriptor in memory of the device: docs/formats/texture.md. */
#include "cudart.h"

#include <stdlib.h>
#include <string.h>

struct descriptor {
  uint32_t magic, flags;
  uint64_t at;
  uint32_t extent[4];
  uint64_t pitch, slice;
  uint32_t channels, bits, kind, modes[3];
  float border[4];
  uint32_t rest[10];
};
_Static_assert(sizeof(struct descriptor) == 128, "a descriptor");
enum { MAGIC = 0x58545250, LINEAR = 1, UNIT = 2, RELATIVE = 4 };

/* What programs ask an object for again. */
struct object { struct object *next; CUdeviceptr at; struct cudaResourceDesc resource; struct cudaTextureDesc texture; };
static struct object *objects;

static struct object *object_at(CUdeviceptr at) {
  struct object *o = objects;
  while (o && o->at != at) o = o->next;
  return o;
}

/* Where the texels are, of what they are, and how many. */
static cudaError_t texels(struct descriptor *d, const struct cudaResourceDesc *r) {
  const struct cudaChannelFormatDesc *desc = &r->res.linear.desc;
  uint64_t at = (uint64_t)(uintptr_t)r->res.linear.devPtr;
  for (int i = 0; i < 3; i++) d->extent[i] = 1;
  if (r->resType == RESOURCE_ARRAY) {
    struct cudaArray *a = r->res.array.array;
    if (!a) return cudaErrorInvalidResourceHandle;
    desc = &a->desc, at = a->at, d->pitch = a->pitch, d->slice = a->slice;
    d->extent[0] = (uint32_t)a->extent.width, d->extent[1] = (uint32_t)(a->extent.height ? a->extent.height : 1), d->extent[2] = (uint32_t)(a->extent.depth ? a->extent.depth : 1);
  }
  size_t texel = texel_bytes(desc);
  if (!texel) return 20; /* cudaErrorInvalidChannelDescriptor */
  if (r->resType == RESOURCE_LINEAR) d->extent[0] = (uint32_t)(r->res.linear.sizeInBytes / texel);
  if (r->resType == RESOURCE_PITCHED) {
    d->extent[0] = (uint32_t)r->res.pitch2D.width, d->extent[1] = (uint32_t)r->res.pitch2D.height, d->pitch = r->res.pitch2D.pitchInBytes;
    if (d->pitch % (size_t)attribute(51) || d->pitch < d->extent[0] * texel) return cudaErrorInvalidValue;
  }
  if (at == 0 || at % (size_t)attribute(14) || d->extent[0] == 0 || d->extent[1] == 0) return cudaErrorInvalidValue;
  d->at = at, d->bits = (uint32_t)desc->x, d->channels = (uint32_t)(texel * 8) / d->bits, d->kind = (uint32_t)desc->f;
  return cudaSuccess;
}

static cudaError_t add(uint64_t *handle, const struct descriptor *d, const struct cudaResourceDesc *r, const struct cudaTextureDesc *t) {
  struct object *o = calloc(1, sizeof *o);
  CUdeviceptr at;
  int code = o ? cuMemAlloc_v2(&at, sizeof *d) : cudaErrorMemoryAllocation;
  if (code) {
    free(o);
    return done(code);
  }
  prlx_cuda_keep(at); /* what it describes is told */
  memcpy((void *)(uintptr_t)at, d, sizeof *d);
  o->at = at, o->resource = *r, o->next = objects;
  if (t) o->texture = *t;
  objects = o, *handle = at;
  return cudaSuccess;
}

static cudaError_t unsupported(const char *what) {
  tell(what, cudaErrorNotSupported);
  return done(cudaErrorNotSupported);
}

API cudaError_t cudaCreateTextureObject(uint64_t *handle, const struct cudaResourceDesc *r, const struct cudaTextureDesc *t, const void *view) {
  cudaError_t code = ready();
  if (code || !handle || !r || !t) return code ? code : done(cudaErrorInvalidValue);
  if (r->resType == RESOURCE_MIPMAPS) return unsupported("cudaCreateTextureObject: arrays of several levels");
  if (view && *(const int *)view) return unsupported("cudaCreateTextureObject: views in another format");
  if (t->sRGB) return unsupported("cudaCreateTextureObject: sRGB");
  struct descriptor d = {.magic = MAGIC};
  if ((code = texels(&d, r))) return done(code);
  int unit = t->readMode == READ_UNIT && d.kind != 2;
  if ((unit && d.bits == 32) || (t->filterMode == FILTER_LINEAR && !unit && d.kind != 2)) return done(26 /* cudaErrorInvalidFilterSetting */);
  if (r->resType == RESOURCE_LINEAR && (t->normalizedCoords || t->filterMode == FILTER_LINEAR)) return done(cudaErrorInvalidValue);
  d.flags = (t->filterMode == FILTER_LINEAR ? LINEAR : 0) | (unit ? UNIT : 0) | (t->normalizedCoords ? RELATIVE : 0);
  for (int i = 0; i < 3; i++) {
    if (t->addressMode[i] < 0 || t->addressMode[i] > 3) return done(cudaErrorInvalidValue);
    d.modes[i] = (uint32_t)t->addressMode[i];
  }
  memcpy(d.border, t->borderColor, sizeof d.border);
  return add(handle, &d, r, t);
}
API cudaError_t cudaCreateSurfaceObject(uint64_t *handle, const struct cudaResourceDesc *r) {
  cudaError_t code = ready();
  if (code || !handle || !r || r->resType != RESOURCE_ARRAY) return code ? code : done(cudaErrorInvalidValue);
  struct descriptor d = {.magic = MAGIC};
  if ((code = texels(&d, r))) return done(code);
  return add(handle, &d, r, NULL);
}
static cudaError_t destroyed(const char *name, uint64_t handle) {
  cudaError_t code = ready();
  struct object **at = &objects;
  if (code || !handle) return code;
  while (*at && (*at)->at != handle) at = &(*at)->next;
  if (!*at) {
    prlx_cuda_note("bad-free", name, "the object is none, or was destroyed before", NULL);
    return done(cudaErrorInvalidValue);
  }
  struct object *o = *at;
  *at = o->next;
  free(o);
  return done(cuMemFree_v2(handle));
}
API cudaError_t cudaDestroyTextureObject(uint64_t handle) { return destroyed("cudaDestroyTextureObject", handle); }
API cudaError_t cudaDestroySurfaceObject(uint64_t handle) { return destroyed("cudaDestroySurfaceObject", handle); }
API cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *r, uint64_t handle) {
  struct object *o = object_at(handle);
  if (!r || !o) return done(cudaErrorInvalidValue);
  *r = o->resource;
  return cudaSuccess;
}
API cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *r, uint64_t handle) { return cudaGetTextureObjectResourceDesc(r, handle); }
API cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *t, uint64_t handle) {
  struct object *o = object_at(handle);
  if (!t || !o) return done(cudaErrorInvalidValue);
  *t = o->texture;
  return cudaSuccess;
}
API cudaError_t cudaGetTextureObjectResourceViewDesc(void *view, uint64_t handle) { (void)view, (void)handle; return unsupported("cudaGetTextureObjectResourceViewDesc"); }
API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int device) {
  size_t texel = desc ? texel_bytes(desc) : 0;
  if (!width || !texel || device) return done(cudaErrorInvalidValue);
  *width = ((size_t)1 << 28) / texel;
  return cudaSuccess;
}
