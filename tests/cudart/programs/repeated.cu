// Launches a kernel five times and prints how often it ran; with a word, a kernel that does the same each time, and an access beyond the end behind it; with two, its own check.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int calls;
__global__ void count(int *n) { *n += 1; }
__global__ void doubled(int *out, const int *in) { out[threadIdx.x] = 2 * in[threadIdx.x] + calls; }
__global__ void beyond(int *out) { out[threadIdx.x + 1] = 1; }

int main(int argc, char **) {
  int *n, got[32] = {-1};
  cudaMalloc(&n, 128), cudaMemset(n, 0, 128);
  for (int i = 0; i < 5; i++) count<<<1, 1>>>(n);
  if (argc > 1) {
    int *out;
    cudaMalloc(&out, 128);
    for (int i = 0; i < 10; i++) {
      if (i == 8) cudaMemset(out, 0, 128);
      if (i == 9) got[0] = 100, cudaMemcpyToSymbol(calls, got, 4);
      doubled<<<1, 32>>>(out, n);
    }
    n = out;
  }
  cudaError_t e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaMemcpy(got, n, 128, cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) return printf("%s\n", cudaGetErrorString(e)), 3;
  printf("%d\n", got[0]);
  if (argc > 2) return got[0] != 110; // a check of its own
  if (argc > 1) beyond<<<1, 32>>>(n);
}
