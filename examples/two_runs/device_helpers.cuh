// Functions that are inlined into softmax_rows.
#pragma once

extern __constant__ int n, stride, cols, tiles, block_size;

__device__ __forceinline__ int row_start(const int* x, int a, int b) {
  int result;
  result = (a * stride) + b;
  return result;
}

__device__ __forceinline__ int clamp_add(const int* x, int a, int b) {
  int result;
  int v = x[b];
  if (v > 189) {
    result = a + 100;
  } else {
    result = a + v;
  }
  return result;
}

__device__ __forceinline__ int steps(const int* x, int a, int b) {
  int result;
  int n = x[b];
  result = a;
  for (int i = 0; i < (n & 3); i++) {
    result = result + i;
  }
  return result;
}
