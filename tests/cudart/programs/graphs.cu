// Graphs that are captured from streams and built by hand, memory that is registered, and what a program asks of its kernels.
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OK(call) do { cudaError_t code = (call); if (code) { printf("%s: %s\n", #call, cudaGetErrorString(code)); exit(2); } } while (0)

__device__ int added = 1;
__constant__ int scale;

__global__ void add(int *data, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * scale + by + added;
}
__global__ void __launch_bounds__(256) shares(int *out) {
  __shared__ int room[300];
  room[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__global__ void together(int *data, int *sum) {
  atomicAdd(sum, data[blockIdx.x]);
  cooperative_groups::this_grid().sync();
  data[blockIdx.x] = *sum;
}
static void CUDART_CB told(void *p) { ++*(int *)p; }

int main() {
  const int n = 64;
  int host[n], back[n], calls = 0, *data, factor = 2, one = 1;
  for (int i = 0; i < n; i++) host[i] = i;
  OK(cudaMalloc(&data, sizeof host));
  OK(cudaMemcpyToSymbol(scale, &factor, sizeof factor));
  cudaStream_t first, second;
  OK(cudaStreamCreate(&first));
  OK(cudaStreamCreate(&second));
  cudaEvent_t begun, done;
  OK(cudaEventCreate(&begun));
  OK(cudaEventCreate(&done));

  // captured: copy, kernel, a second stream that joins and leaves, copy back, a call
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  OK(cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, first));
  OK(cudaEventRecord(begun, first));
  OK(cudaStreamWaitEvent(second, begun, 0));
  add<<<2, 32, 0, second>>>(data, n, 10);
  OK(cudaEventRecord(done, second));
  OK(cudaStreamWaitEvent(first, done, 0));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(second, &status));
  OK(cudaMemcpyAsync(back, data, sizeof back, cudaMemcpyDeviceToHost, first));
  OK(cudaLaunchHostFunc(first, told, &calls));
  OK(cudaStreamEndCapture(first, &graph));
  size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  printf("captured %zu nodes, the second stream %s, %d calls before\n", nodes, status == cudaStreamCaptureStatusActive ? "joined" : "did not join", calls);
  OK(cudaGraphInstantiate(&runs, graph, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(runs, first));
  OK(cudaStreamSynchronize(first));
  printf("launched thrice: back[5] %d, %d calls\n", back[5], calls);

  // by hand: the same kernel twice, on memory that a node fills, and a change of one node
  cudaGraph_t built;
  OK(cudaGraphCreate(&built, 0));
  cudaMemsetParams zero = {};
  zero.dst = data, zero.elementSize = 4, zero.value = 7, zero.width = n, zero.height = 1;
  cudaGraphNode_t filled, once, twice, copied;
  int count = n, by = 100;
  void *values[] = {&data, &count, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void *)add, kernel.gridDim = dim3(2), kernel.blockDim = dim3(32), kernel.kernelParams = values;
  OK(cudaGraphAddMemcpyNode1D(&copied, built, nullptr, 0, back, data, sizeof back, cudaMemcpyDeviceToHost)); // first in the list, last to run
  OK(cudaGraphAddMemsetNode(&filled, built, nullptr, 0, &zero));
  OK(cudaGraphAddKernelNode(&once, built, &filled, 1, &kernel));
  by = 1000; // what the first node has is its own
  OK(cudaGraphAddKernelNode(&twice, built, &once, 1, &kernel));
  OK(cudaGraphAddDependencies(built, &twice, &copied, nullptr, 1));
  OK(cudaGraphInstantiate(&runs, built, 0));
  OK(cudaGraphLaunch(runs, first));
  printf("by hand: back[0] %d\n", back[0]); // (7 * 2 + 101) * 2 + 1001
  by = 5;
  OK(cudaGraphExecKernelNodeSetParams(runs, twice, &kernel));
  OK(cudaGraphLaunch(runs, first));
  printf("with another parameter: back[0] %d\n", back[0]);
  OK(cudaMemcpyToSymbol(added, &factor, sizeof factor)); // the host writes, kernels read
  OK(cudaGraphLaunch(runs, first));
  printf("with another variable: back[0] %d\n", back[0]);

  // what is asked of kernels
  cudaFuncAttributes a;
  OK(cudaFuncGetAttributes(&a, shares));
  int grid, block, blocks;
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, shares));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shares, 256, 40000));
  printf("shares: %zu bytes, %d threads; best blocks of %d, %d of 40000 bytes more\n", a.sharedSizeBytes, a.maxThreadsPerBlock, block, blocks);
  shares<<<1, 257>>>(data);
  printf("a larger block: %s\n", cudaGetErrorString(cudaGetLastError()));

  // memory of the program, registered
  char *pages = (char *)malloc(10000), *own = pages + 100;
  memset(pages, 1, 10000);
  OK(cudaHostRegister(own, 4096, cudaHostRegisterMapped));
  int *mapped;
  OK(cudaHostGetDevicePointer((void **)&mapped, own + 412, 0));
  shares<<<1, 64>>>(mapped);
  OK(cudaDeviceSynchronize());
  printf("a kernel wrote %d and %d into it; again: %s\n", ((int *)(own + 412))[0], ((int *)(own + 412))[63], cudaGetErrorString(cudaHostRegister(own, 8, 0)));
  OK(cudaHostUnregister(own));
  own[412] = 9;
  printf("and it is the program's again: %d %d\n", own[412], pages[9999]);
  free(pages);

  // blocks that wait for each other
  int *sum;
  OK(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  OK(cudaMemset(data, 0, sizeof host));
  OK(cudaMemcpy(data + 3, &one, sizeof one, cudaMemcpyHostToDevice));
  void *both[] = {&data, &sum};
  OK(cudaLaunchCooperativeKernel((void *)together, dim3(8), dim3(1), both, 0, first));
  OK(cudaMemcpy(back, data, sizeof back, cudaMemcpyDeviceToHost));
  printf("after the grid's barrier %d and %d; too many blocks: %s\n", back[0], back[7], cudaGetErrorString(cudaLaunchCooperativeKernel((void *)together, dim3(100000), dim3(1024), both, 0, first)));
  for (void *p : {(void *)data, (void *)sum}) OK(cudaFree(p));
  return 0;
}
