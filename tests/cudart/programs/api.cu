// The runtime API as programs call it: every line that is printed says what came out, and is compared as a whole.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

struct Big { double factor; int offsets[9]; const float *from; }; // 56 bytes
#ifndef __clang__ // it knows no managed variables
__managed__ int noted = 5;
__global__ void note(int by) { noted += by; }
#endif
__device__ double table[4] = {1, 2, 3, 4};

__global__ void by_value(Big b, float *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = (float)(b.factor * b.from[i] + b.offsets[i % 9] + table[i % 4]);
}
__global__ void fill(char *p, size_t pitch, int width, int height, char value) {
  for (int y = threadIdx.y; y < height; y += blockDim.y)
    for (int x = threadIdx.x; x < width; x += blockDim.x) p[y * pitch + x] = value;
}
__global__ void together(int *sums) {
  cooperative_groups::grid_group g = cooperative_groups::this_grid();
  if (threadIdx.x == 0) sums[blockIdx.x] = blockIdx.x + 1;
  g.sync();
  if (g.thread_rank() == 0)
    for (int i = 1; i < gridDim.x; i++) sums[0] += sums[i];
}
__global__ void __launch_bounds__(64) small(int *p) { if (p) p[threadIdx.x] = 1; }
__global__ void shared_bytes(int *p) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void beyond(int *p) { p[threadIdx.x + 1] = 1; }

// Prints the name of an error, one after the other: the order in which a compiler evaluates arguments is its own.
static void is(const char *what, cudaError_t e) { printf("%s %s", what, cudaGetErrorName(e)); }
static void CUDART_CB called(void *data) { ++*(int *)data; }
static void CUDART_CB called_too(cudaStream_t, cudaError_t e, void *data) { *(int *)data += 10 + e; }

int main() {
  int n, value;
  cudaDeviceProp p;
  cudaGetDeviceCount(&n), cudaGetDeviceProperties(&p, 0);
  printf("%d device of %d.%d: %d processors, %d threads, warps of %d, %zu + %zu bytes shared, grid %d %d %d, pools %d, %s\n", n, p.major, p.minor, p.multiProcessorCount,
         p.maxThreadsPerBlock, p.warpSize, p.sharedMemPerBlock, p.sharedMemPerBlockOptin, p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2], p.memoryPoolsSupported, p.name);
  is("device 1:", cudaSetDevice(1)), is(", kept", cudaPeekAtLastError()), is(", taken", cudaGetLastError()), is(", gone", cudaGetLastError()), puts("");

  float *from, *to, host[100];
  for (int i = 0; i < 100; i++) host[i] = i;
  cudaMallocManaged(&from, sizeof host), cudaMalloc(&to, sizeof host);
  memcpy(from, host, sizeof host);
  Big b = {0.5, {1, 2, 3, 4, 5, 6, 7, 8, 9}, from};
  by_value<<<2, 64>>>(b, to, 100);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost);
  printf("a structure of %zu bytes: %g %g %g\n", sizeof b, host[0], host[8], host[99]);
  double three = 30, *at;
  size_t bytes;
  cudaMemcpyToSymbol(table, &three, 8, 16), cudaGetSymbolSize(&bytes, table), cudaGetSymbolAddress((void **)&at, table);
  by_value<<<2, 64>>>(b, to, 100);
  cudaMemcpy(host, to, sizeof host, cudaMemcpyDefault), cudaMemcpy(&three, at + 3, 8, cudaMemcpyDeviceToHost);
  printf("a variable of %zu bytes: %g %g, its last %g\n", bytes, host[2], host[3], three);
#ifndef __clang__
  noted += 10, note<<<1, 1>>>(100), cudaDeviceSynchronize();
  printf("a managed variable: %d\n", noted);
#endif

  char *pitched, *pinned, *mapped, got[64];
  size_t pitch;
  cudaMallocPitch(&pitched, &pitch, 20, 3), cudaMemset2D(pitched, pitch, 'a', 20, 3), fill<<<1, dim3(8, 2)>>>(pitched + pitch, pitch, 4, 1, 'b');
  memset(got, 0, sizeof got), cudaMemcpy2D(got, 10, pitched, pitch, 10, 3, cudaMemcpyDeviceToHost);
  printf("pitch %zu: %s\n", pitch, got);
  cudaHostAlloc(&pinned, 8, cudaHostAllocMapped), strcpy(pinned, "....."), cudaHostGetDevicePointer(&mapped, pinned, 0);
  fill<<<1, dim3(8, 1)>>>(mapped, 8, 2, 1, 'm'), cudaDeviceSynchronize();
  cudaExtent extent = make_cudaExtent(4, 2, 2);
  cudaPitchedPtr cube;
  cudaMalloc3D(&cube, extent), cudaMemset3D(cube, 'c', extent);
  cudaMemcpy3DParms parms = {};
  parms.srcPtr = cube, parms.dstPtr = make_cudaPitchedPtr(got, 4, 4, 2), parms.extent = extent, parms.kind = cudaMemcpyDeviceToHost;
  memset(got, 0, sizeof got), cudaMemcpy3D(&parms);
  printf("pinned %s, cube %s\n", pinned, got);
  cudaPointerAttributes of;
  for (const void *one : {(const void *)to, (const void *)from, (const void *)pinned, (const void *)host}) cudaPointerGetAttributes(&of, one), printf("%d ", of.type);
  printf("are the kinds of memory\n");
  is("a wrong direction:", cudaMemcpy(to, host, 4, cudaMemcpyDeviceToHost)), is(",", cudaMemcpy(host, to, 4, cudaMemcpyHostToDevice));
  is(", a wrong size:", cudaMemcpy(to, host, 404, cudaMemcpyHostToDevice)), puts("");
  is("freed:", cudaFree(to)), is(", again", cudaFree(to)), is(", beside", cudaFree(from + 1)), is(", nothing", cudaFree(0)), puts("");

  cudaStream_t stream;
  cudaEvent_t begin, end;
  float ms = 0;
  int calls = 0, *sums;
  cudaMallocAsync((void **)&sums, 64 * 4, 0);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaEventCreate(&begin), cudaEventCreateWithFlags(&end, cudaEventBlockingSync);
  cudaEventRecord(begin, stream), fill<<<1, 32, 0, stream>>>((char *)sums, 64, 64, 1, 0), cudaEventRecord(end, stream), cudaStreamWaitEvent(stream, end, 0);
  cudaLaunchHostFunc(stream, called, &calls), cudaStreamAddCallback(stream, called_too, &calls, 0), cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
  is("stream", cudaStreamQuery(stream)), is(", event", cudaEventQuery(end)), printf(", %d calls, %s\n", calls, ms > 0 ? "some time" : "no time");

  void *arguments[] = {&sums};
  is("cooperative:", cudaLaunchCooperativeKernel((const void *)together, 4, 32, arguments));
  is(", too large:", cudaLaunchCooperativeKernel((const void *)together, 1 << 20, 32, arguments)), puts("");
  cudaMemcpy(&value, sums, 4, cudaMemcpyDeviceToHost);
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative, attribute.val.cooperative = 1;
  config.gridDim = 2, config.blockDim = 32, config.attrs = &attribute, config.numAttrs = 1;
  cudaGetLastError();
  printf("sum %d", value), is(", by a configuration:", cudaLaunchKernelEx(&config, together, sums)), puts("");

  cudaFuncAttributes about;
  cudaFuncGetAttributes(&about, small);
  small<<<1, 128>>>(NULL);
  printf("at most %d threads:", about.maxThreadsPerBlock), is("", cudaGetLastError());
  small<<<0, 64>>>(NULL);
  is(", no block:", cudaGetLastError()), puts("");
  shared_bytes<<<1, 32, 100000>>>(sums);
  is("much shared memory:", cudaGetLastError());
  cudaFuncSetAttribute(shared_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  shared_bytes<<<1, 32, 100000>>>(sums);
  cudaMemcpy(&value, sums, 4, cudaMemcpyDeviceToHost);
  is(", when asked for:", cudaGetLastError()), printf(" %d\n", value);
  int blocks = 0, least = 0, best = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared_bytes, 256, 0), cudaOccupancyMaxPotentialBlockSize(&least, &best, fill, 0, 0);
  printf("%d blocks at once; best %d of %d\n", blocks, least, best);

  beyond<<<1, 64>>>(sums);
  is("launched:", cudaGetLastError()), is(", then", cudaDeviceSynchronize()), is(",", cudaMalloc(&to, 4)), is(",", cudaStreamSynchronize(stream));
  printf(": %s\n", cudaGetErrorString(cudaGetLastError()));
  return 0;
}
