#include "device_helpers.cuh"

extern "C" __global__ void softmax_rows(const int* x, const float* y, int* out, int* counts) {
  __shared__ int tile[2 * 1024];
  int tid = (blockIdx.x * block_size) + threadIdx.x;
  if (tid >= n) {
    return;
  }
  int acc = 0;
  for (int t = 0; t < tiles; t++) {
    for (int r = 0; r <= 4; r++) {
      int item = x[(tid * 4) + r];
      acc = acc + item;
    }
    float term = y[tid + (t * 7)];
    float scaled = term * 1.7f;
    float sum = warp_sum(scaled);
    if (sum > 27.25f) {
      acc = acc + 1;
    }
    int ticket1 = atomicAdd(&counts[27], 1);
    if ((ticket1 & 3) == 0) {
      atomicAdd(&counts[15 + warp_counters()], 1);
    }
    int col = threadIdx.x & 31;
    int m = (col < cols) ? x[tid + col] : 0;
    acc = acc + m;
    acc = clamp_add(x, acc, (tid * 2) + acc);
    int next = x[(tid * 3) + t];
    tile[((t & 1) * block_size) + threadIdx.x] = next;
    __syncthreads();
    int cur = tile[((t & 1) * block_size) + threadIdx.x];
    if (cur < 144) {
      acc = acc + cur;
    }
    int ticket = atomicAdd(&counts[23], 1);
    if ((ticket & 3) == 0) {
      atomicAdd(&counts[15 + warp_counters()], 1);
    }
    int best = 0;
    for (int c = 0; c < 3; c++) {
      int cand = x[(tid * 2) + c];
      if (cand > best) {
        best = cand;
      }
    }
    acc = acc + best;
    int level = x[tid + acc];
    if (level < 155) {
      out[tid] = level;
    } else {
      acc = acc + 3;
    }
    int row = row_start(x, tid + t, t + 5);
    int head = x[row];
    if (head > 90) {
      acc = acc - head;
    }
    unsigned clk = clock() & 1023;
    if (clk > 700) {
      atomicAdd(&counts[15 + warp_counters()], 1);
    }
    acc = steps(x, acc, (tid * 1) + t);
    for (int k = 0; k < 2; k++) {
      acc = acc + 9;
      int v1 = x[(tid * 3) + acc];
      if (v1 > 168) {
        int w = (((tid * 3) + acc) < n) ? x[(tid * 3) + acc] : 0;
        acc = acc + w;
        int v2 = x[(tid * 5) + acc];
        if (v2 < 78) {
          atomicAdd(&counts[acc & 7 + warp_counters()], 1);
        } else {
          atomicAdd(&counts[acc & 7 + warp_counters()], 1);
        }
      } else {
        int w1 = (((tid * 5) + acc) < n) ? x[(tid * 5) + acc] : 0;
        acc = acc + w1;
        acc = steps(x, acc, (tid * 3) + tid);
      }
      for (int k1 = 0; k1 < 4; k1++) {
        acc = acc + 5;
        if ((lane_id() & 5) == 0) {
          int w2 = (((tid * 4) + tid) < n) ? x[(tid * 4) + tid] : 0;
          acc = acc + w2;
        }
      }
    }
    acc = acc + 8;
    int deg = x[(tid * 3) + tid];
    for (int j = 0; j < (deg & 7); j++) {
      acc = acc + 4;
      acc = steps(x, acc, (tid * 5) + acc);
      if ((lane_id() & 4) == 0) {
        atomicAdd(&counts[acc & 7 + warp_counters()], 1);
        int v = x[(tid * 3) + acc];
        if (v > 160) {
          int u = x[(tid * 1) + t];
          acc = acc ^ u;
        }
      }
    }
    int flag = x[(tid * 1) + t];
    if (flag == 210) {
      out[tid] = acc;
      return;
    }
  }
  out[tid] = acc;
}
