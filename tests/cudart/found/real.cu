// Bugs of public issues, rebuilt small: bugs.py says of which, and what has to be found. One for each name on the command line.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void col_kernel(const unsigned *in, unsigned *out, unsigned w, unsigned h) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (unsigned y = 0; y < h; y++) sum += in[y * w + x]; // found: boxfilter
  if (x < w) out[x] = sum;
}

__global__ void compress(const unsigned *image, unsigned *result) {
  unsigned color = image[blockIdx.x * 16 + threadIdx.x]; // found: dxtc2
  atomicMax(&result[blockIdx.x], color);
}

__global__ void triangles(const unsigned *in, unsigned *out) {
  __shared__ unsigned sums[32];
  if (threadIdx.x < 32) sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) sums[31] = in[40] + sums[31];
  out[threadIdx.x] = sums[31] + threadIdx.x; // found: marching_cubes
}

__global__ void surfels(const float *in, float *out, int n) {
  __shared__ float tile[256];
  float sum = 0;
  for (int from = 0; from < n; from += 256) {
    tile[threadIdx.x] = in[from + threadIdx.x]; // found: surfel
    __syncthreads();
    for (int i = 0; i < 256; i++) sum += tile[i]; // found: surfel
  }
  out[threadIdx.x] = sum;
}

__global__ void paths(int *dist) {
  __shared__ int row[64];
  row[threadIdx.x] = dist[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 64; k++) {
    int via = row[k] + k; // found: floyd_warshall
    if (via < row[threadIdx.x]) row[threadIdx.x] = via; // found: floyd_warshall
  }
  dist[threadIdx.x] = row[threadIdx.x];
}

__global__ void total(const float *in, float *out) {
  __shared__ float data[64];
  unsigned tid = threadIdx.x;
  data[tid] = in[tid];
  __syncthreads();
  if (tid < 32) {
    volatile float *sum = data;
    sum[tid] += sum[tid + 32];
    sum[tid] += sum[tid + 16]; // found: warp_sum
    sum[tid] += sum[tid + 8];
    sum[tid] += sum[tid + 4];
    sum[tid] += sum[tid + 2];
    sum[tid] += sum[tid + 1];
  }
  if (tid == 0) *out = data[0];
}

__global__ void slice(unsigned short *out, const unsigned short *in) {
  if (threadIdx.x < 1) ((unsigned *)(out + threadIdx.x * 2))[0] = ((const unsigned *)(in + threadIdx.x * 3 + 1))[0]; // found: tvm_slice
}

__global__ void transpose(float4 *to, const float4 *from) { to[threadIdx.x] = from[threadIdx.x]; } // found: paddle_qkv

__global__ void blocks(uint2 *out) { out[threadIdx.x] = make_uint2(1, 2); } // found: failed_malloc

__global__ void pruned(const float *in, float *out, int n) {
  __shared__ float most[64];
  int i = threadIdx.x;
  if (i >= n) return;
  most[i] = in[i];
  __syncthreads(); // found: early_return
  out[i] = most[i ^ 1];
}

__global__ void kron(const double *a, const double *b, double *result) {
  result[threadIdx.x] += a[threadIdx.x / 8] * b[threadIdx.x % 8]; // found: kron
}

__global__ void orientation(float *out) {
  extern __shared__ float histogram[];
  histogram[threadIdx.x] = threadIdx.x; // found: popsift
  __syncthreads();
  out[threadIdx.x] = histogram[63 - threadIdx.x];
}

__global__ void stamps(const float *in, float *out) {
  __shared__ float times[64];
  if (threadIdx.x < 32) times[threadIdx.x] = in[threadIdx.x], times[threadIdx.x + 32] = in[threadIdx.x + 32];
  out[threadIdx.x] = times[63 - threadIdx.x]; // found: kbmod
}

__global__ void value(int *out) { *out = 7; }

int main(int, char **argv) {
  auto is = [&](const char *name) { return strcmp(argv[1], name) == 0; };
  char *a, *b;
  if (is("boxfilter")) {
    cudaMalloc(&a, 2400), cudaMalloc(&b, 80), cudaMemset(a, 1, 2400);
    col_kernel<<<1, 32>>>((unsigned *)a, (unsigned *)b, 20, 30);
  }
  if (is("dxtc2")) {
    cudaMalloc(&a, 324), cudaMalloc(&b, 36), cudaMemset(a, 1, 324), cudaMemset(b, 0, 36);
    compress<<<9, 16>>>((unsigned *)a, (unsigned *)b);
  }
  int drawn[2048];
  for (int i = 0; i < 2048; i++) drawn[i] = i * 37 % 101 + 1;
  cudaMalloc(&a, 8192), cudaMalloc(&b, 8192), cudaMemcpy(a, drawn, 8192, cudaMemcpyHostToDevice);
  if (is("marching_cubes")) triangles<<<1, 128>>>((unsigned *)a, (unsigned *)b);
  if (is("surfel")) surfels<<<1, 256>>>((float *)a, (float *)b, 1024);
  if (is("floyd_warshall")) paths<<<1, 64>>>((int *)a);
  if (is("warp_sum")) total<<<1, 64>>>((float *)a, (float *)b);
  if (is("tvm_slice")) slice<<<1, 32>>>((unsigned short *)b, (unsigned short *)a);
  if (is("paddle_qkv")) transpose<<<1, 8>>>((float4 *)((float *)b + 2), (float4 *)a);
  if (is("failed_malloc")) {
    char *image = NULL;
    cudaMalloc(&image, (size_t)1 << 46);
    cudaGetLastError();
    blocks<<<1, 32>>>((uint2 *)image);
  }
  if (is("early_return")) pruned<<<1, 64>>>((float *)a, (float *)b, 40);
  if (is("kron")) kron<<<1, 64>>>((double *)a, (double *)a, (double *)b);
  if (is("popsift")) orientation<<<1, 64>>>((float *)b);
  if (is("kbmod")) stamps<<<1, 64>>>((float *)a, (float *)b);
  if (is("get_value")) {
    int *result;
    cudaMallocHost(&result, 4);
    *result = 1;
    value<<<1, 1>>>((int *)a);
    cudaMemcpyAsync(result, a, 4, cudaMemcpyDeviceToHost, 0);
    printf("%d\n", *result); // found: get_value
  }
  if (is("reset_then_free")) {
    cudaDeviceReset();
    cudaFree(a); // found: reset_then_free
  }
  if (is("wrong_branch")) {
    int m = 1;
    char held[8], *ps = held;
    if (m != 1) cudaMalloc(&ps, 64);
    if (m == 1) cudaFree(ps); // found: wrong_branch
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
