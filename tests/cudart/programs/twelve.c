/* A program for the runtime of CUDA 12, in C: it brings the text of its kernel, and has bytes behind what the runtime fills. */
#include "../../../runtime/cudart/abi.h"

#include <stdio.h>
#include <string.h>

int cudaGetDeviceProperties_v2(struct cudaDeviceProp *, int), cudaRuntimeGetVersion(int *), cudaMalloc(void **, size_t), cudaMallocManaged(void **, size_t, unsigned);
int cudaPointerGetAttributes(struct cudaPointerAttributes *, const void *), cudaLibraryLoadData(CUmodule *, const void *, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryGetKernel(cudaKernel_t *, CUmodule, const char *), cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t), cudaDeviceSynchronize(void);

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 p, .param .u32 by)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %d<3>;\n"
                           "\tld.param.u64 %d1, [p];\n\tld.param.u32 %r1, [by];\n\tst.global.u32 [%d1], %r1;\n\tret;\n}\n";

int main(void) {
  struct { struct cudaDeviceProp of; char behind[256]; } p;
  struct { struct cudaPointerAttributes of; char behind[256]; } a;
  int version = 0, *m = NULL, by = 7, kept = 0;
  CUmodule library;
  cudaKernel_t kernel;
  dim3 alone = {1, 1, 1};
  memset(&p, 1, sizeof p), memset(&a, 1, sizeof a);
  int code = cudaRuntimeGetVersion(&version);
  if (!code) code = cudaGetDeviceProperties_v2(&p.of, 0);
  if (!code) code = cudaMallocManaged((void **)&m, 4, 1);
  if (!code) code = cudaPointerGetAttributes(&a.of, m);
  if (!code) code = cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0);
  if (!code) code = cudaLibraryGetKernel(&kernel, library, "one");
  void *values[] = {&m, &by};
  if (!code) code = cudaLaunchKernel(kernel, alone, alone, values, 0, NULL);
  if (!code) code = cudaDeviceSynchronize();
  for (int i = 0; i < 256; i++) kept += p.behind[i] + a.behind[i];
  printf("%d: runtime %d, clock %d, memory clock %d, pools %d, kind %d, stored %d, %d bytes kept\n", code, version, p.of.clockRate, p.of.memoryClockRate, p.of.memoryPoolsSupported, a.of.type, m ? *m : -1, kept);
  return code;
}
