// What bench/cuda.py measures: three kernels of textbooks, a start, and launches that do nothing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <ctime>
#include <cuda_runtime.h>

__global__ void vectorAdd(const float *a, const float *b, float *c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void reduction(const int *in, int *out, int n) {
  extern __shared__ int part[];
  int t = threadIdx.x, step = blockDim.x * gridDim.x, sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += step) sum += in[i];
  part[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] = sum = sum + part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sum;
}

template <int B> __global__ void matrixMul(float *c, const float *a, const float *b, int wa, int wb) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int begin = wa * B * by, end = begin + wa - 1;
  float sum = 0;
  for (int i = begin, j = B * bx; i <= end; i += B, j += B * wb) {
    __shared__ float as[B][B], bs[B][B];
    as[ty][tx] = a[i + wa * ty + tx];
    bs[ty][tx] = b[j + wb * ty + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < B; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[wb * B * by + B * bx + wb * ty + tx] = sum;
}

__global__ void nothing(float *a, int n) {
  if (n > 1) a[0] = 1;
}

template <typename T> T *filled(int n) {
  std::vector<T> host(n);
  for (int i = 0; i < n; i++) host[i] = T(i % 7);
  T *at;
  cudaMalloc(&at, n * sizeof(T));
  cudaMemcpy(at, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return at;
}

int main(int argc, char **argv) {
  const char *which = argc > 1 ? argv[1] : "";
  if (!strcmp(which, "alone")) return 0;
  int n = argc > 2 ? atoi(argv[2]) : 1;
  if (!strcmp(which, "vectorAdd")) vectorAdd<<<(n + 255) / 256, 256>>>(filled<float>(n), filled<float>(n), filled<float>(n), n);
  if (!strcmp(which, "reduction")) reduction<<<64, 256, 1024>>>(filled<int>(n), filled<int>(64), n);
  if (!strcmp(which, "matrixMul")) matrixMul<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(filled<float>(n * n), filled<float>(n * n), filled<float>(n * n), n, n);
  if (!strcmp(which, "start")) nothing<<<1, 32>>>(filled<float>(32), 1);
  if (!strcmp(which, "launches")) {
    float *at = filled<float>(32);
    std::vector<double> bursts;
    for (int burst = 0; burst < n / 100; burst++) {
      timespec begin, end;
      clock_gettime(CLOCK_MONOTONIC, &begin);
      for (int i = 0; i < 100; i++) nothing<<<1, 32>>>(at, 1);
      cudaDeviceSynchronize();
      clock_gettime(CLOCK_MONOTONIC, &end);
      bursts.push_back(((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / 1e5);
    }
    std::sort(bursts.begin(), bursts.end());
    printf("%g us\n", bursts[bursts.size() / 2]);
  }
  cudaError_t status = cudaDeviceSynchronize();
  if (status) printf("%s\n", cudaGetErrorString(status));
  return status;
}
