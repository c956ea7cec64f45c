// Thrust and CUB, whose algorithms are headers: sorted, reduced, scanned, made unique, counted in blocks, beside the host's.
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x % 101; }
};

__global__ void blocks(const int *in, int *sums, int *scanned) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  __shared__ union {
    Reduce::TempStorage reduce;
    Scan::TempStorage scan;
  } storage;
  int value = in[blockIdx.x * 128 + threadIdx.x], before;
  int sum = Reduce(storage.reduce).Sum(value);
  __syncthreads();
  Scan(storage.scan).ExclusiveSum(value, before);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  scanned[blockIdx.x * 128 + threadIdx.x] = before;
}

static void say(const char *what, bool same) { printf("%s: %s\n", what, same ? "same" : "OTHER"); }

int main() {
  const int n = 4096;
  std::vector<int> numbers(n);
  unsigned draw = 7;
  for (int &x : numbers) x = int((draw = draw * 1664525u + 1013904223u) >> 20);
  thrust::device_vector<int> held(numbers.begin(), numbers.end()), out(n);
  thrust::host_vector<int> back;
  std::vector<int> want(numbers), scanned(n);

  say("reduce", thrust::reduce(held.begin(), held.end()) == std::accumulate(want.begin(), want.end(), 0));
  int squares = 0;
  for (int x : want) squares += Square()(x);
  say("transform_reduce", thrust::transform_reduce(held.begin(), held.end(), Square(), 0, thrust::plus<int>()) == squares);
  thrust::inclusive_scan(held.begin(), held.end(), out.begin());
  std::partial_sum(want.begin(), want.end(), scanned.begin());
  back = out;
  say("inclusive_scan", std::equal(back.begin(), back.end(), scanned.begin()));
  thrust::transform(held.begin(), held.end(), thrust::counting_iterator<int>(0), out.begin(), thrust::plus<int>());
  back = out;
  bool same = true;
  for (int i = 0; i < n; i++) same &= back[i] == want[i] + i;
  say("transform", same);
  thrust::sort(held.begin(), held.end());
  std::sort(want.begin(), want.end());
  back = held;
  say("sort", std::equal(back.begin(), back.end(), want.begin()));
  auto end = thrust::unique(held.begin(), held.end());
  want.erase(std::unique(want.begin(), want.end()), want.end());
  back.assign(held.begin(), end);
  say("unique", back.size() == want.size() && std::equal(back.begin(), back.end(), want.begin()));

  int *in, *sums, *result, total = 0, few[32], many[n];
  cudaMalloc(&in, n * 4), cudaMalloc(&sums, 128), cudaMalloc(&result, n * 4);
  cudaMemcpy(in, numbers.data(), n * 4, cudaMemcpyHostToDevice);
  blocks<<<32, 128>>>(in, sums, result);
  cudaMemcpy(few, sums, 128, cudaMemcpyDeviceToHost), cudaMemcpy(many, result, n * 4, cudaMemcpyDeviceToHost);
  same = true;
  for (int i = 0, before = 0; i < n; i++) {
    if (i % 128 == 0) before = 0;
    same &= many[i] == before;
    before += numbers[i];
    if (i % 128 == 127) same &= few[i / 128] == before;
  }
  say("BlockReduce and BlockScan", same);
  size_t bytes = 0, other = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, in, sums, n);
  cub::DeviceRadixSort::SortKeys(nullptr, other, in, result, n);
  void *room;
  cudaMalloc(&room, std::max(bytes, other));
  cub::DeviceReduce::Sum(room, bytes, in, sums, n);
  cudaMemcpy(&total, sums, 4, cudaMemcpyDeviceToHost);
  say("DeviceReduce", total == std::accumulate(numbers.begin(), numbers.end(), 0));
  cub::DeviceRadixSort::SortKeys(room, other, in, result, n);
  cudaMemcpy(many, result, n * 4, cudaMemcpyDeviceToHost);
  std::sort(numbers.begin(), numbers.end());
  say("DeviceRadixSort", std::equal(numbers.begin(), numbers.end(), many));
  cudaFree(in), cudaFree(sums), cudaFree(result), cudaFree(room);
  return cudaGetLastError();
}
