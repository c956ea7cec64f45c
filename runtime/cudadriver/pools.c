/* Pools of memory, allocations in the order of a stream: what is freed goes back at once, so that a pool keeps nothing, and
 * how much it holds nobody counts. */
#include "modules.h"

#include <stdlib.h>

enum { SWITCHES = 3, KEPT = 4 }; /* CUmemPool_attribute: the first three are switches, then how many bytes may be kept */
struct pool { int switches[SWITCHES + 1]; uint64_t kept; };

static struct pool preset = {{0, 1, 1, 1}, 0};
static struct pool *current = &preset;

static CUresult is_device(CUmemoryPool *pool, CUdevice device) {
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  return device ? failed(CUDA_ERROR_INVALID_DEVICE, "there is one device, number 0, and not number %d", device) : CUDA_SUCCESS;
}

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  CUresult no = is_device(pool, device);
  if (!no) *pool = &preset;
  return no;
}

API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
  HOLD;
  CUresult no = is_device(pool, device);
  if (!no) *pool = current;
  return no;
}

API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  HOLD;
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  CUresult no = is_device(&pool, device);
  if (!no) current = pool;
  return no;
}

API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *asked) {
  HOLD;
  if (!pool || !asked) return CUDA_ERROR_INVALID_VALUE;
  if (asked->allocType != ALLOCATION_PINNED || asked->location.type != LOCATION_DEVICE || asked->location.id)
    return failed(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate: memory of type %d at location %d of type %d", asked->allocType, asked->location.id, asked->location.type);
  if (asked->handleTypes) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolCreate: no memory of the simulator is shared with other processes");
  struct pool *made = malloc(sizeof *made);
  if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = (struct pool){{0, 1, 1, 1}, 0};
  *pool = made;
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  HOLD;
  if (!pool || pool == &preset) return failed(CUDA_ERROR_INVALID_VALUE, "cuMemPoolDestroy: the pool that a device has from the beginning stays");
  if (current == pool) current = &preset;
  free(pool);
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  (void)keep;
  return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
  HOLD;
  if (!pool || !value || attribute < 1) return CUDA_ERROR_INVALID_VALUE;
  if (attribute > KEPT) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolSetAttribute: attribute %d", attribute);
  if (attribute == KEPT) pool->kept = *(uint64_t *)value;
  else pool->switches[attribute] = *(int *)value != 0;
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
  HOLD;
  if (!pool || !value || attribute < 1) return CUDA_ERROR_INVALID_VALUE;
  if (attribute > KEPT) return failed(CUDA_ERROR_NOT_SUPPORTED, "cuMemPoolGetAttribute: attribute %d", attribute);
  if (attribute == KEPT) *(uint64_t *)value = pool->kept;
  else *(int *)value = pool->switches[attribute];
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const void *list, size_t n) {
  (void)list, (void)n; /* there is one device, which has access */
  return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemPoolGetAccess(int *access, CUmemoryPool pool, const CUmemLocation *location) {
  if (!access || !pool || !location) return CUDA_ERROR_INVALID_VALUE;
  *access = location->type == LOCATION_DEVICE && location->id == 0 ? ACCESS_READ_WRITE : 0;
  return CUDA_SUCCESS;
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *at, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool ? cuMemAllocAsync(at, bytes, stream) : CUDA_ERROR_INVALID_VALUE;
}
