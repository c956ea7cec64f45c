// Ten kernels, each with one line that CHANGE, a flag of the compiler or the order of blocks and warps changes.
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifndef CHANGE
#define CHANGE 0
#endif

__global__ void index(const int *a, int *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = CHANGE == 1 && i % 64 == 17 ? i + 1 : i; // change: 1
  b[i] = 3 * a[at];
}
__global__ void bound(const int *a, int *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - (CHANGE == 2)) // change: 2
    b[i] = 2 * a[i];
}
__global__ void race(const int *a, int *b) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  if (CHANGE != 3) __syncthreads(); // change: 3
  int other = s[127 - threadIdx.x]; // change: 3
  b[threadIdx.x] = other;
}
__global__ void atomics(const float *a, float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float before = atomicAdd(b, a[i]); // change: 4
  if (before < 0) b[1] = before;
}
__global__ void fast(const float *a, float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i] + 0.5f; // change: 5
  float y = expf(x) / x; // change: 5
  b[i] = y + 1;
}
__global__ void unwritten(const int *a, int *b) {
  __shared__ int s[64];
  if (threadIdx.x < (CHANGE == 6 ? 48 : 64)) s[threadIdx.x] = a[threadIdx.x]; // change: 6
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void steps(const int *a, int *b) {
  int i = threadIdx.x, n = a[i] % 50, count = 0;
  while (n > (CHANGE == 7 && i == 40 ? 2 : 1)) { // change: 7
    n = n % 2 ? 3 * n + 1 : n / 2;
    count++;
  }
  b[i] = count;
}
__global__ void operation(const int *a, int *b) {
  int i = threadIdx.x;
  int x = a[i] & 15;
  int y = CHANGE == 8 ? x | 4 : x ^ 4; // change: 8
  b[i] = y + x;
}
__global__ void stride(const int *a, int *b) {
  int sum = 0;
  for (int i = threadIdx.x; i < 512; i += blockDim.x - (CHANGE == 9)) sum += a[i]; // change: 9
  b[threadIdx.x] = sum;
}
__global__ void kind(const float *a, float *b) {
  int i = threadIdx.x;
  float x = a[i] / 3;
  float y = CHANGE == 10 ? __half2float(__float2half(x)) : x; // change: 10
  b[i] = y * y;
}

int main(int, char **argv) {
  int which = atoi(argv[1]), ints[1024], *a, *b;
  float floats[1024];
  for (int i = 0; i < 1024; i++) ints[i] = i * 37 % 101 + 1, floats[i] = ints[i] / 7.0f;
  cudaMalloc(&a, 4096), cudaMalloc(&b, 4096), cudaMemset(b, 0, 4096);
  bool real = which == 4 || which == 5 || which == 10;
  cudaMemcpy(a, real ? (void *)floats : (void *)ints, 4096, cudaMemcpyHostToDevice);
  float *x = (float *)a, *y = (float *)b;
  if (which == 1) index<<<8, 64>>>(a, b);
  if (which == 2) bound<<<4, 128>>>(a, b, 300);
  if (which == 3) race<<<1, 128>>>(a, b);
  if (which == 4) atomics<<<4, 64>>>(x, y);
  if (which == 5) fast<<<2, 64>>>(x, y);
  if (which == 6) unwritten<<<1, 64>>>(a, b);
  if (which == 7) steps<<<1, 64>>>(a, b);
  if (which == 8) operation<<<1, 64>>>(a, b);
  if (which == 9) stride<<<1, 64>>>(a, b);
  if (which == 10) kind<<<1, 64>>>(x, y);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
