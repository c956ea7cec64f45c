// Bugs that are seeded here, one for each name on the command line; bugs.py says what has to be found.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

// bounds
__global__ void off_by_one(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = i; // found: off_by_one
}
__global__ void before_begin(const int *a, int *b) { b[threadIdx.x] = a[(int)threadIdx.x - 1]; } // found: before_begin
__global__ void row_pitch(float *a, int w, int h) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x < w && y < h) a[y * (w + 1) + x] = 1; // found: row_pitch
}
__global__ void stencil(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i] + a[i + 1]; // found: stencil
}
__global__ void shared_bounds(int *a) {
  __shared__ int s[64];
  s[threadIdx.x + 1] = threadIdx.x; // found: shared_bounds
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x + 1];
}
__global__ void wide_store(int *a) { ((int4 *)a)[threadIdx.x] = make_int4(1, 2, 3, 4); } // found: wide_store
__global__ void negative_atomic(int *a, const int *b) { atomicAdd(&a[b[threadIdx.x]], 1); } // found: negative_atomic

// misaligned
__global__ void misaligned_load(const char *a, int *b) { b[threadIdx.x] = *(const int *)(a + 4 * threadIdx.x + 2); } // found: misaligned_load
__global__ void misaligned_vector(float *a) { *(float4 *)(a + threadIdx.x) = make_float4(0, 0, 0, 0); } // found: misaligned_vector

// use after free
__global__ void after_free(int *a) { a[threadIdx.x] = 1; } // found: after_free
struct List { int *items; int n; };
__global__ void after_free_inside(List l) { l.items[threadIdx.x] += 1; } // found: after_free_inside

// races in shared memory
__global__ void no_barrier(const int *a, int *b) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  b[threadIdx.x] = s[127 - threadIdx.x]; // found: no_barrier
}
__global__ void scan(int *a) {
  __shared__ int s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 128; d *= 2) {
    int before = threadIdx.x >= d ? s[threadIdx.x - d] : 0; // found: scan
    s[threadIdx.x] += before; // found: scan
    __syncthreads();
  }
  a[threadIdx.x] = s[threadIdx.x];
}
__global__ void shared_count(const int *a, int *b) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (a[threadIdx.x] == 0) count = count + 1; // found: shared_count
  __syncthreads();
  b[threadIdx.x] = count;
}

// races in global memory
__global__ void global_count(int *a) { a[0] = a[0] + 1; } // found: global_count
__global__ void neighbour(int *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = a[i + 1] + 1; // found: neighbour
}
__global__ void flag(volatile int *a, int *b) {
  if (blockIdx.x == 0) b[0] = 5, a[0] = 1; // found: flag
  else b[1] = b[0]; // found: flag
}

// barriers
__global__ void half_barrier(int *a) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  if (threadIdx.x < 40) __syncthreads(); // found: half_barrier
  a[threadIdx.x] = s[threadIdx.x];
}
__global__ void loop_barrier(const int *a, int *b) {
  for (int i = 0; i < a[threadIdx.x / 32]; i++) __syncthreads(); // found: loop_barrier
  b[threadIdx.x] = 1;
}

// __syncwarp
__global__ void lane_swap(const int *a, int *b) {
  __shared__ int s[32];
  s[threadIdx.x] = a[threadIdx.x];
  b[threadIdx.x] = s[31 - threadIdx.x]; // found: lane_swap
}
__global__ void half_shuffle(int *a) {
  int v = a[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffff, v, 8); // found: half_shuffle
  a[threadIdx.x] = v;
}

// uninitialised
__global__ void unwritten_shared(int *b) {
  __shared__ int s[64];
  if (threadIdx.x < 48) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  b[threadIdx.x] = s[threadIdx.x]; // found: unwritten_shared
}
__global__ void unwritten_sum(const int *a, int *b) { b[threadIdx.x] += a[threadIdx.x]; } // found: unwritten_sum
__global__ void unwritten_max(const int *a, int *b) { atomicMax(b, a[threadIdx.x]); } // found: unwritten_max
__global__ void unwritten_local(const int *a, int *b) {
  int list[8];
  for (int i = 0; i < a[0]; i++) list[i] = i;
  b[threadIdx.x] = list[(threadIdx.x + a[1]) % 8]; // found: unwritten_local
}

// launch size
__global__ void each(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 1; } // found: too_many_blocks
__global__ void dynamic(int *a) {
  extern __shared__ int s[];
  s[threadIdx.x] = threadIdx.x; // found: little_shared
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x ^ 1];
}

// pointer space
__global__ void of_host(const int *p, int *b) { b[threadIdx.x] = p[threadIdx.x]; } // found: host_pointer
__global__ void of_null(int *p) { p[threadIdx.x] = 1; } // found: null_pointer

int main(int, char **argv) {
  auto is = [&](const char *name) { return strcmp(argv[1], name) == 0; };
  int *a, *b, mine[256] = {3, 8};
  cudaMalloc(&a, 4000), cudaMalloc(&b, 4000), cudaMemset(a, 0, 4000);
  if (is("off_by_one")) off_by_one<<<4, 256>>>(a, 1000);
  if (is("before_begin")) before_begin<<<1, 64>>>(a, b);
  if (is("row_pitch")) row_pitch<<<40, 32>>>((float *)a, 25, 40);
  if (is("stencil")) stencil<<<4, 256>>>((float *)a, (float *)b, 1000);
  if (is("shared_bounds")) shared_bounds<<<1, 64>>>(a);
  if (is("wide_store")) wide_store<<<1, 256>>>(a);
  if (is("negative_atomic")) cudaMemset(a, 0xff, 4000), negative_atomic<<<1, 32>>>(b, a);
  if (is("misaligned_load")) misaligned_load<<<1, 32>>>((char *)a, b);
  if (is("misaligned_vector")) misaligned_vector<<<1, 32>>>((float *)a);
  if (is("after_free")) cudaFree(a), after_free<<<1, 32>>>(a);
  if (is("after_free_inside")) cudaFree(a), after_free_inside<<<1, 32>>>(List{a, 32});
  if (is("no_barrier")) no_barrier<<<1, 128>>>(a, b);
  if (is("scan")) scan<<<1, 128>>>(a);
  if (is("shared_count")) shared_count<<<1, 128>>>(a, b);
  if (is("global_count")) global_count<<<8, 1>>>(a);
  if (is("neighbour")) neighbour<<<4, 64>>>(a);
  if (is("flag")) flag<<<2, 1>>>(a, b);
  if (is("half_barrier")) half_barrier<<<1, 64>>>(a);
  if (is("loop_barrier")) cudaMemcpy(a, mine, 8, cudaMemcpyHostToDevice), loop_barrier<<<1, 64>>>(a, b);
  if (is("lane_swap")) lane_swap<<<1, 32>>>(a, b);
  if (is("half_shuffle")) half_shuffle<<<1, 32>>>(a);
  if (is("unwritten_shared")) unwritten_shared<<<1, 64>>>(b);
  if (is("unwritten_sum")) unwritten_sum<<<1, 64>>>(a, b);
  if (is("unwritten_max")) unwritten_max<<<1, 64>>>(a, b);
  if (is("unwritten_local")) cudaMemcpy(a, mine, 4, cudaMemcpyHostToDevice), unwritten_local<<<1, 32>>>(a, b);
  if (is("too_many_blocks")) each<<<32, 32>>>(a);
  if (is("little_shared")) dynamic<<<1, 128, 128>>>(a);
  if (is("host_pointer")) of_host<<<1, 32>>>(mine, b);
  if (is("null_pointer")) of_null<<<1, 32>>>(NULL);
  if (is("double_free")) {
    cudaFree(a);
    cudaFree(a); // found: double_free
  }
  if (is("free_inside")) cudaFree(a + 16); // found: free_inside
  if (is("free_of_host")) cudaFree(mine); // found: free_of_host
  if (is("unwaited")) {
    int *pinned;
    cudaMallocHost(&pinned, 4000);
    cudaMemcpyAsync(pinned, a, 4000, cudaMemcpyDeviceToHost, 0);
    printf("%d\n", pinned[5]); // found: unwaited
  }
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
