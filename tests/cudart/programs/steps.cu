// A program in three kernels: a template that reads a constant and counts in a variable, a sum by shuffles that prints, and a loop whose length
// depends on its input. Its result is one line.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifndef SLIP
#define SLIP 0
#endif
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e)); exit(2); } } while (0)

__constant__ float scale[2];
__device__ int counter;

template <typename T> __global__ void scaled(int n, T a, const T *x, T *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scale[0] * a * x[i] + y[i];
  if (threadIdx.x == 0) atomicAdd(&counter, 1);
}

__global__ void sums(const float *in, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.f;
  __syncthreads();
  for (int d = blockDim.x / 2; d >= 32; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) {
    float v = s[t];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
    if (t == 0) out[blockIdx.x] = v, printf("block %d: %g\n", blockIdx.x, v);
  }
}

extern __shared__ int dynamic[];
__global__ void collatz(const int *in, int *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  dynamic[threadIdx.x] = in[i];
  int v = dynamic[threadIdx.x], k = 0;
  while (v != 1) v = v & 1 ? 3 * v + 1 : v >> 1, k++; // line 43
  steps[i] = k;
}

int main() {
  const int n = 1000;
  float *x, *y, *o, h[n], two[2] = {2.f, 0.f}, r[4];
  int *in, *st, hi[n], hs[n], count = -1, total = 0;
  CHECK(cudaMalloc(&x, n * 4)); CHECK(cudaMalloc(&y, n * 4)); CHECK(cudaMalloc(&o, 16)); CHECK(cudaMalloc(&in, n * 4)); CHECK(cudaMalloc(&st, n * 4));
  for (int i = 0; i < n; i++) h[i] = i % 7, hi[i] = i + 1;
  if (SLIP) hi[700] = 27;
  CHECK(cudaMemcpy(x, h, n * 4, cudaMemcpyHostToDevice)); CHECK(cudaMemset(y, 0, n * 4)); CHECK(cudaMemcpy(in, hi, n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(scale, two, 8));
  scaled<float><<<(n + 255) / 256, 256>>>(n, 1.5f, x, y);
  sums<<<4, 256>>>(y, o, n);
  collatz<<<(n + 63) / 64, 64, 64 * 4>>>(in, st, n);
  CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(r, o, 16, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpy(hs, st, n * 4, cudaMemcpyDeviceToHost)); CHECK(cudaMemcpyFromSymbol(&count, counter, 4));
  for (int i = 0; i < n; i++) total += hs[i];
  printf("%g %g %g %g, %d steps, %d blocks\n", r[0], r[1], r[2], r[3], total, count);
}
