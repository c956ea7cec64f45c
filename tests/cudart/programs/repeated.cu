// Launches a kernel five times and prints how often it ran.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void count(int *n) { *n += 1; }

int main() {
  int *n, got = -1;
  cudaMalloc(&n, 4), cudaMemset(n, 0, 4);
  for (int i = 0; i < 5; i++) count<<<1, 1>>>(n);
  cudaError_t e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaMemcpy(&got, n, 4, cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) return printf("%s\n", cudaGetErrorString(e)), 3;
  printf("%d\n", got);
}
