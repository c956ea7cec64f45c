/* Memory of the device: a range of addresses that this process reads and writes as its own, and that the device sees. Addresses are given out in
 * ascending order and never twice, so that what was freed is known to be. */
#define _GNU_SOURCE
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const uint64_t region_base = 0x200000000000;
const size_t region_bytes = (size_t)64 << 30;
enum { aligned = 512, gap = 512, page = 4096 };

static struct allocation *list; /* ascending */
static size_t count, room, live_bytes;
static uint64_t top = 0x200000000000 + aligned;
static size_t told;             /* of list: those before it the device has been told of */
static uint64_t *gone;          /* that it has not been told of */
static size_t gone_count, gone_room;
static long long table;

static struct allocation *before(uint64_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (list[middle].at <= address) low = middle + 1;
    else high = middle;
  }
  return low ? &list[low - 1] : NULL;
}

struct allocation *allocation_at(uint64_t address) {
  struct allocation *a = before(address);
  return a && a->live && address - a->at < a->bytes ? a : NULL;
}

CUresult reachable(uint64_t address, size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (address - region_base >= region_bytes) return address ? CUDA_SUCCESS : failed(CUDA_ERROR_INVALID_VALUE, "a copy from or to address 0");
  struct allocation *a = before(address);
  if (a && a->live && address - a->at < a->bytes && bytes <= a->bytes - (address - a->at)) return CUDA_SUCCESS;
  if (a && !a->live && address - a->at < a->bytes) return failed(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes from or to %#llx, which was freed", bytes, (unsigned long long)address);
  return failed(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes from or to %#llx, which is not within one allocation", bytes, (unsigned long long)address);
}

static CUresult allocate(uint64_t *at, size_t bytes, int kind, size_t alignment) {
  HOLD;
  CUresult unsafe = safe_in_captures("an allocation");
  if (unsafe) return unsafe;
  if (!at || bytes == 0) return failed(CUDA_ERROR_INVALID_VALUE, "an allocation of %zu bytes", bytes);
  if (!connected()) return CUDA_ERROR_NOT_INITIALIZED;
  top = (top + alignment - 1) / alignment * alignment;
  if (bytes > region_bytes || top + bytes > region_base + region_bytes) return failed(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: the addresses of the device are used up, %zu bytes are allocated", bytes, live_bytes);
  if (count == room) {
    size_t more = room ? 2 * room : 1024;
    struct allocation *moved = realloc(list, more * sizeof *list);
    if (!moved) return CUDA_ERROR_OUT_OF_MEMORY;
    list = moved, room = more;
  }
  list[count++] = (struct allocation){top, bytes, kind, 1, 0, kind == ORDINARY, watched() ? caller() : (struct place){{NULL}}};
  *at = top;
  top = (top + bytes + gap + aligned - 1) / aligned * aligned;
  if (kind == PINNED) top = (top + page - 1) / page * page; /* its pages are its own */
  live_bytes += bytes;
  return CUDA_SUCCESS;
}

/* Notes that the device has to be told that an allocation is gone. */
static CUresult went(uint64_t at) {
  if (gone_count == gone_room) {
    size_t more = gone_room ? 2 * gone_room : 256;
    uint64_t *moved = realloc(gone, more * sizeof *gone);
    if (!moved) return CUDA_ERROR_OUT_OF_MEMORY;
    gone = moved, gone_room = more;
  }
  gone[gone_count++] = at;
  return CUDA_SUCCESS;
}

static CUresult release(uint64_t at) {
  HOLD;
  struct allocation *a = allocation_at(at);
  if (at == 0) return CUDA_SUCCESS;
  if (!a || a->at != at) return failed(CUDA_ERROR_INVALID_VALUE, "%#llx is freed, and no allocation begins there%s", (unsigned long long)at, before(at) && before(at)->at == at ? ": it was freed before" : "");
  a->live = 0, live_bytes -= a->bytes;
  if ((size_t)(a - list) < told && went(at)) return CUDA_ERROR_OUT_OF_MEMORY;
  uint64_t from = (at + 4095) & ~4095ull, to = (at + a->bytes) & ~4095ull; /* whole pages go back; their numbers do not */
  if (to > from && madvise((void *)(uintptr_t)from, to - from, MADV_REMOVE)) madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
  return CUDA_SUCCESS;
}

/* Of allocations that came and went since the device was told, it learns of this many, so that it knows them when a kernel uses one. */
enum { short_lived = 256 };

static CUresult change(void) {
  struct text t = {0};
  say(&t, "{\"table\": %lld, \"add\": [", table);
  size_t removed = gone_count;
  const char *comma = "";
  for (size_t i = told; i < count; i++) {
    if (!list[i].live && count - i > short_lived) continue;
    say(&t, "%s{\"name\": \"allocation %zu\", \"address\": %llu, \"bytes\": %zu%s}", comma, i, (unsigned long long)list[i].at, list[i].bytes, list[i].fresh ? ", \"unwritten\": true" : "");
    if (!list[i].live && went(list[i].at)) return CUDA_ERROR_OUT_OF_MEMORY; /* with the next change */
    comma = ", ";
  }
  say(&t, "], \"remove\": [");
  for (size_t i = 0; i < removed; i++) say(&t, "%s%llu", i ? ", " : "", (unsigned long long)gone[i]);
  say(&t, "]}");
  char *reply = t.at ? ask_text("simulate_arrays", t.at, t.n) : NULL;
  free(t.at);
  if (!reply || *reply) return refused(reply, CUDA_ERROR_UNKNOWN);
  table = number_of(reply + 1, "table", 0);
  free(reply);
  told = count, gone_count -= removed;
  memmove(gone, gone + removed, gone_count * sizeof *gone);
  return CUDA_SUCCESS;
}

CUresult arrays_told(long long *number) {
  CUresult code = CUDA_SUCCESS;
  while (!code && (!table || told < count || gone_count > 0)) code = change();
  *number = table;
  return code;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes) { return allocate(at, bytes, ORDINARY, aligned); }
API CUresult cuMemAlloc(CUdeviceptr *at, size_t bytes) { return allocate(at, bytes, ORDINARY, aligned); }
API CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream) { (void)stream; return allocate(at, bytes, ORDINARY, aligned); }
API CUresult cuMemAllocManaged(CUdeviceptr *at, size_t bytes, unsigned flags) { (void)flags; return allocate(at, bytes, MANAGED, aligned); }
API CUresult cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned element) {
  (void)element;
  if (!pitch) return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + aligned - 1) / aligned * aligned;
  return allocate(at, *pitch * height, ORDINARY, aligned);
}
API CUresult cuMemFree_v2(CUdeviceptr at) { return release(at); }
API CUresult cuMemFree(CUdeviceptr at) { return release(at); }
API CUresult cuMemFreeAsync(CUdeviceptr at, CUstream stream) { (void)stream; return release(at); }
API CUresult cuMemHostAlloc(void **at, size_t bytes, unsigned flags) { (void)flags; return allocate((uint64_t *)at, bytes, PINNED, page); }
API CUresult cuMemAllocHost_v2(void **at, size_t bytes) { return allocate((uint64_t *)at, bytes, PINNED, page); }
API CUresult cuMemFreeHost(void *at) { return release((uint64_t)(uintptr_t)at); }
/* Memory of the process that was registered: its pages are those of an allocation of the device, which kernels reach by that one's address. */
static struct registered { struct registered *next; char *at; size_t bytes; uint64_t pages, first; size_t page_bytes; } *registered;

static struct registered *registered_at(const void *at) {
  struct registered *r = registered;
  while (r && (size_t)((const char *)at - r->at) >= r->bytes) r = r->next;
  return r;
}

API CUresult cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) {
  (void)flags;
  HOLD;
  uint64_t from = (uint64_t)(uintptr_t)at / page * page, to = ((uint64_t)(uintptr_t)at + bytes + page - 1) / page * page, device;
  if (!at || bytes == 0) return failed(CUDA_ERROR_INVALID_VALUE, "cuMemHostRegister: %zu bytes at %p", bytes, at);
  for (struct registered *r = registered; r; r = r->next)
    if (from < r->first + r->page_bytes && r->first < to) return failed(CUDA_ERROR_REGISTERED, "%p lies in pages of memory that is registered", at);
  CUresult code = allocate(&device, to - from, PINNED, page);
  struct registered *r = code ? NULL : calloc(1, sizeof *r);
  if (!r) return code ? code : CUDA_ERROR_OUT_OF_MEMORY;
  memcpy((void *)(uintptr_t)device, (void *)(uintptr_t)from, to - from);
  if (!shown_at((void *)(uintptr_t)from, to - from, device)) {
    free(r), release(device);
    return failed(CUDA_ERROR_NOT_SUPPORTED, "cuMemHostRegister: the memory of the device is not a file here");
  }
  *r = (struct registered){registered, at, bytes, device, from, to - from};
  registered = r;
  return CUDA_SUCCESS;
}
API CUresult cuMemHostRegister(void *at, size_t bytes, unsigned flags) { return cuMemHostRegister_v2(at, bytes, flags); }
API CUresult cuMemHostUnregister(void *at) {
  HOLD;
  struct registered **r = &registered;
  while (*r && (*r)->at != at) r = &(*r)->next;
  if (!*r) return failed(CUDA_ERROR_NOT_REGISTERED, "%p is not registered", at);
  struct registered *gone = *r;
  if (!shown_at((void *)(uintptr_t)gone->first, gone->page_bytes, 0)) return CUDA_ERROR_OUT_OF_MEMORY;
  memcpy((void *)(uintptr_t)gone->first, (void *)(uintptr_t)gone->pages, gone->page_bytes);
  CUresult code = release(gone->pages);
  *r = gone->next;
  free(gone);
  return code;
}
API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags) {
  (void)flags;
  HOLD;
  struct registered *r = registered_at(host);
  if (!device || (!r && !allocation_at((uint64_t)(uintptr_t)host))) return failed(CUDA_ERROR_INVALID_VALUE, "%p is no pinned memory", host);
  *device = r ? r->pages + ((uint64_t)(uintptr_t)host - r->first) : (uint64_t)(uintptr_t)host;
  return CUDA_SUCCESS;
}
API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  HOLD;
  if (!free_bytes || !total) return CUDA_ERROR_INVALID_VALUE;
  *total = region_bytes, *free_bytes = region_bytes - live_bytes;
  return CUDA_SUCCESS;
}
API CUresult cuMemGetInfo(size_t *free_bytes, size_t *total) { return cuMemGetInfo_v2(free_bytes, total); }
API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at) {
  HOLD;
  struct allocation *a = allocation_at(at);
  if (!a) return failed(CUDA_ERROR_NOT_FOUND, "no allocation has the address %#llx", (unsigned long long)at);
  if (base) *base = a->at;
  if (bytes) *bytes = a->bytes;
  return CUDA_SUCCESS;
}

API CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at) {
  HOLD;
  struct allocation *a = allocation_at(at);
  struct registered *r = a ? NULL : registered_at((void *)(uintptr_t)at);
  if (r && value) {
    uint64_t device = r->pages + (at - r->first);
    if (attribute != POINTER_DEVICE_POINTER) return attribute == POINTER_HOST_POINTER ? (*(uint64_t *)value = at, CUDA_SUCCESS) : cuPointerGetAttribute(value, attribute, device);
    *(uint64_t *)value = device;
    return CUDA_SUCCESS;
  }
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  if (!a) return failed(CUDA_ERROR_INVALID_VALUE, "%#llx is no memory of the device", (unsigned long long)at);
  switch (attribute) {
  case POINTER_MEMORY_TYPE: *(unsigned *)value = a->kind == PINNED ? MEMORY_HOST : MEMORY_DEVICE; return CUDA_SUCCESS;
  case POINTER_DEVICE_POINTER: case POINTER_HOST_POINTER: *(uint64_t *)value = at; return CUDA_SUCCESS;
  case POINTER_IS_MANAGED: *(unsigned *)value = a->kind == MANAGED; return CUDA_SUCCESS;
  case POINTER_DEVICE_ORDINAL: *(int *)value = 0; return CUDA_SUCCESS;
  case POINTER_RANGE_START: *(uint64_t *)value = a->at; return CUDA_SUCCESS;
  case POINTER_RANGE_SIZE: *(size_t *)value = a->bytes; return CUDA_SUCCESS;
  }
  return failed(CUDA_ERROR_NOT_SUPPORTED, "cuPointerGetAttribute: attribute %d", attribute);
}

/* The program writes an allocation, of which the device may think otherwise. */
static void wrote(uint64_t at) {
  struct allocation *a = allocation_at(at);
  if (!a || !a->fresh) return;
  a->fresh = 0;
  if ((size_t)(a - list) < told) free(ask("simulate_arrays", "{\"table\": %lld, \"written\": [%llu]}", table, (unsigned long long)a->at));
}

static CUresult copy(uint64_t to, uint64_t from, size_t bytes) {
  HOLD;
  CUresult code = reachable(to, bytes);
  if (!code) code = reachable(from, bytes);
  if (!code && bytes) wrote(to), memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return code;
}

#define COPY(name, to_type, from_type) \
  API CUresult cuMemcpy##name##_v2(to_type to, from_type from, size_t bytes) { return copy((uint64_t)to, (uint64_t)from, bytes); } \
  API CUresult cuMemcpy##name(to_type to, from_type from, size_t bytes) { return copy((uint64_t)to, (uint64_t)from, bytes); } \
  API CUresult cuMemcpy##name##Async_v2(to_type to, from_type from, size_t bytes, CUstream stream) { CUresult no = not_captured(stream, "a copy"); return no ? no : copy((uint64_t)to, (uint64_t)from, bytes); } \
  API CUresult cuMemcpy##name##Async(to_type to, from_type from, size_t bytes, CUstream stream) { CUresult no = not_captured(stream, "a copy"); return no ? no : copy((uint64_t)to, (uint64_t)from, bytes); }
COPY(HtoD, CUdeviceptr, const void *)
COPY(DtoH, void *, CUdeviceptr)
COPY(DtoD, CUdeviceptr, CUdeviceptr)
API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copy(to, from, bytes); }
API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) { CUresult no = not_captured(stream, "a copy"); return no ? no : copy(to, from, bytes); }

static CUresult fill(uint64_t at, uint32_t value, int width, size_t n) {
  HOLD;
  CUresult code = reachable(at, n * (size_t)width);
  if (code || n == 0) return code;
  wrote(at);
  if (width == 1) memset((void *)(uintptr_t)at, (int)value, n);
  else for (size_t i = 0; i < n; i++) memcpy((char *)(uintptr_t)at + i * (size_t)width, &value, (size_t)width);
  return CUDA_SUCCESS;
}

#define FILL(name, type, width) \
  API CUresult cuMemset##name##_v2(CUdeviceptr at, type value, size_t n) { return fill(at, value, width, n); } \
  API CUresult cuMemset##name(CUdeviceptr at, type value, size_t n) { return fill(at, value, width, n); } \
  API CUresult cuMemset##name##Async(CUdeviceptr at, type value, size_t n, CUstream stream) { CUresult no = not_captured(stream, "a fill"); return no ? no : fill(at, value, width, n); }
FILL(D8, unsigned char, 1)
FILL(D16, unsigned short, 2)
FILL(D32, unsigned, 4)

API void prlx_cuda_keep(CUdeviceptr at) {
  HOLD;
  struct allocation *a = allocation_at(at);
  if (a) a->kept = 1;
}

/* What a program has allocated is gone when it resets the device. */
API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  HOLD;
  if (device) return CUDA_ERROR_INVALID_DEVICE;
  for (size_t i = 0; i < count; i++)
    if (list[i].live && !list[i].kept && list[i].kind != PINNED) release(list[i].at);
  return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

/* What is there when the program ends was not given back; whether that is a finding the run knows. */
__attribute__((destructor)) static void end(void) {
  enum { most = 100 };
  int told_of = 0;
  if (!watched() || !connected()) return;
  for (size_t i = 0; i < count && told_of < most; i++) {
    char text[100];
    if (!list[i].live || list[i].kept) continue;
    snprintf(text, sizeof text, "allocation %zu (%zu bytes) was not freed when the program ended", i, list[i].bytes);
    prlx_cuda_note("leak", list[i].kind == PINNED ? "cudaMallocHost" : "cudaMalloc", text, &list[i].where);
    told_of++;
  }
}
