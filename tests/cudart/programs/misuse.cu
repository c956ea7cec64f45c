// What a program does wrong with the runtime, each by its name: prlx names the line that is marked.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>

__global__ void fill(int *p, int v) { p[threadIdx.x] = v; }
__global__ void __launch_bounds__(64) bounded(int *p) { p[threadIdx.x] = 1; }

int main(int, char **argv) {
  int *device, *pinned, *other, sum = 0, stack[4];
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&device, 4096 * sizeof(int));
  cudaMallocHost(&pinned, 4096 * sizeof(int));
  cudaMalloc(&other, 100); // misuse: leak
  fill<<<1, 64, 0, stream>>>(device, 7);
  if (!strcmp(argv[1], "twice")) {
    cudaFree(device);
    cudaFree(device); // misuse: twice
  }
  if (!strcmp(argv[1], "inside")) cudaFree(device + 4); // misuse: inside
  if (!strcmp(argv[1], "stack")) cudaFree(stack);       // misuse: stack
  if (!strcmp(argv[1], "pinned")) cudaFree(pinned);     // misuse: pinned
  if (!strcmp(argv[1], "array")) {
    cudaArray_t array;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &floats, 8, 8);
    cudaFreeArray(array);
    cudaFreeArray(array); // misuse: array
  }
  if (!strcmp(argv[1], "threads")) fill<<<1, 2048>>>(device, 7);                 // misuse: threads
  if (!strcmp(argv[1], "cube")) fill<<<1, dim3(32, 32, 2)>>>(device, 7);         // misuse: cube
  if (!strcmp(argv[1], "blocks")) fill<<<dim3(1, 70000), 32>>>(device, 7);       // misuse: blocks
  if (!strcmp(argv[1], "nothing")) fill<<<0, 32>>>(device, 7);                   // misuse: nothing
  if (!strcmp(argv[1], "bounds")) bounded<<<1, 128>>>(device);                   // misuse: bounds
  if (!strcmp(argv[1], "shared")) fill<<<1, 32, 100000>>>(device, 7);            // misuse: shared
  if (!strcmp(argv[1], "unwaited")) {
    cudaMemcpyAsync(pinned, device, 4096 * sizeof(int), cudaMemcpyDeviceToHost, stream);
    for (int i = 0; i < 64; i++)
      sum += ((volatile int *)pinned)[i]; // misuse: unwaited
    cudaStreamSynchronize(stream);
    printf("sum %d\n", sum);
  }
  if (!strcmp(argv[1], "waited")) {
    cudaEvent_t copied;
    cudaEventCreate(&copied);
    for (int way = 0; way < 4; way++) {
      cudaMemcpyAsync(pinned, device, 4096 * sizeof(int), cudaMemcpyDeviceToHost, stream);
      cudaEventRecord(copied, stream);
      if (way == 0) cudaStreamSynchronize(stream);
      if (way == 1) cudaEventSynchronize(copied);
      if (way == 2) cudaDeviceSynchronize();
      if (way == 3) while (cudaStreamQuery(stream) != cudaSuccess) {}
      for (int i = 0; i < 64; i++) sum += pinned[i];
    }
    printf("sum %d\n", sum);
  }
  if (strcmp(argv[1], "leak")) cudaFree(other);
  if (strcmp(argv[1], "twice")) cudaFree(device);
  cudaFreeHost(pinned);
}
