// How many steps each number takes to 1 (halved where it is even, else three times itself and one), and the most that a block of threads has.
#include <cstdio>
#include <cuda_runtime.h>

#ifndef SLIP
#define SLIP 0  // 1: a bound, 2: a barrier, 3: another input
#endif

__global__ void steps(const unsigned *numbers, int *counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n + (SLIP == 1)) {
    unsigned value = numbers[i];
    int count = 0;
    while (value > 1) {
      value = value % 2 ? 3 * value + 1 : value / 2;
      count++;
    }
    counts[i] = count;
  }
}

__global__ void most(const int *counts, int *largest, int n) {
  __shared__ int seen[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  seen[threadIdx.x] = i < n ? counts[i] : 0;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (SLIP != 2) __syncthreads();
    if (threadIdx.x < half) seen[threadIdx.x] = max(seen[threadIdx.x], seen[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) atomicMax(largest, seen[0]);
}

int main() {
  const int n = 1000;
  unsigned *numbers;
  int *counts, *largest;
  cudaMallocManaged(&numbers, n * sizeof *numbers);
  cudaMalloc(&counts, n * sizeof *counts);
  cudaMallocManaged(&largest, sizeof *largest);
  for (int i = 0; i < n; i++) numbers[i] = i + 1;
  if (SLIP == 3) numbers[700] = 27;
  steps<<<(n + 127) / 128, 128>>>(numbers, counts, n);
  most<<<(n + 127) / 128, 128>>>(counts, largest, n);
  cudaError_t code = cudaDeviceSynchronize();
  if (code != cudaSuccess) return printf("%s\n", cudaGetErrorString(code)), 1;
  printf("at most %d steps\n", *largest);
}
