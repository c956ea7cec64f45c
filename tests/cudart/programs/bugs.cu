// Bugs, one for each name on the command line; each is at the line that says so.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void bounds(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) p[i] = i; // bug: bounds
}
__global__ void misaligned(char *p) { *(int *)(p + threadIdx.x) = 1; } // bug: misaligned
__global__ void freed(int *p) { p[threadIdx.x] += 1; } // bug: freed
__global__ void race(int *p) {
  __shared__ int s[256];
  s[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = s[(threadIdx.x + 32) % 256]; // bug: race
}
__global__ void barrier(int *p) {
  if (threadIdx.x < 16) __syncthreads(); // bug: barrier
  p[threadIdx.x] = 1;
}
__global__ void unwritten(int *p) {
  __shared__ int s[64];
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  p[threadIdx.x] = s[threadIdx.x]; // bug: unwritten
}
__global__ void host_pointer(int *p) { p[threadIdx.x] = 1; } // bug: host_pointer
__global__ void asserted(int *p) {
  if (threadIdx.x == 40) p[0] = 0, __trap(); // bug: asserted
}
__global__ void null(int *p) { p[threadIdx.x] = 1; } // bug: null
__global__ void warp_race(int *p) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  p[threadIdx.x] = s[31 - threadIdx.x]; // bug: warp_race
}
__global__ void global_race(int *p) { *p += blockIdx.x; } // bug: global_race
__global__ void shuffle(int *p) {
  if (threadIdx.x < 16) p[threadIdx.x] = __shfl_down_sync(0xffffffff, p[threadIdx.x], 1); // bug: shuffle
}
__global__ void endless(volatile int *p) { while (p[0] == 0) { } } // bug: endless

int main(int argc, char **argv) {
  int *p, mine[256];
  const char *which = argc > 1 ? argv[1] : "";
  auto is = [&](const char *name) { return strcmp(which, name) == 0; };
  cudaMalloc(&p, 1000 * 4), cudaMemset(p, 0, 1000 * 4);
  if (is("bounds")) bounds<<<4, 256>>>(p, 1000);
  if (is("misaligned")) misaligned<<<1, 4>>>((char *)p);
  if (is("freed")) cudaFree(p), freed<<<1, 32>>>(p);
  if (is("race")) race<<<1, 256>>>(p);
  if (is("barrier")) barrier<<<1, 64>>>(p);
  if (is("unwritten")) unwritten<<<1, 64>>>(p);
  if (is("host_pointer")) host_pointer<<<1, 32>>>(mine);
  if (is("asserted")) asserted<<<1, 64>>>(p);
  if (is("null")) null<<<1, 32>>>(NULL);
  if (is("warp_race")) warp_race<<<1, 32>>>(p);
  if (is("global_race")) global_race<<<4, 1>>>(p);
  if (is("shuffle")) shuffle<<<1, 32>>>(p);
  if (is("endless")) endless<<<1, 32>>>(p);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return 0;
}
