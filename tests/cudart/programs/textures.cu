// Textures and surfaces of every shape that the runtime of prlx has, checked against what the CUDA programming guide says of them.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#define OK(call) do { cudaError_t code = (call); if (code) { printf("%s: %s\n", #call, cudaGetErrorString(code)); exit(2); } } while (0)

static int wrong;
static void expect(const char *what, float got, float want) {
  if (std::fabs(got - want) > 1e-5f) printf("%s: %g, want %g\n", what, got, want), wrong++;
}

static cudaTextureObject_t texture(const cudaResourceDesc &r, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc t = {};
  t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = mode, t.filterMode = filter, t.readMode = read, t.normalizedCoords = normalized;
  cudaTextureObject_t object;
  OK(cudaCreateTextureObject(&object, &r, &t, nullptr));
  return object;
}

static cudaResourceDesc of(cudaArray_t array) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray, r.res.array.array = array;
  return r;
}

__global__ void planes(cudaTextureObject_t point, cudaTextureObject_t linear, float *out) {
  out[0] = tex2D<float>(point, 2.5f, 1.5f);                // 12
  out[1] = tex2D<float>(linear, 2.0f, 1.0f);               // between 1, 2, 11 and 12
  out[2] = tex2Dgather<float4>(point, 2.0f, 1.0f, 0).x;    // row 1, column 1
  out[3] = tex2DLod<float>(point, 3.5f, 0.5f, 0.0f);
}

__global__ void lines(cudaTextureObject_t line, cudaTextureObject_t bytes, cudaTextureObject_t pixels, float *out) {
  out[0] = tex1Dfetch<float>(line, threadIdx.x);
  out[1] = tex1Dfetch<float>(line, 1 << 20);               // beyond the end: 0
  out[2] = tex2D<float>(bytes, 1.5f, 1.5f);                // 51 of 255
  uchar4 p = tex2D<uchar4>(pixels, 1.5f, 0.5f);
  out[3] = p.x + 2 * p.y + 3 * p.z + 4 * p.w;
}

__global__ void deep(cudaTextureObject_t volume, cudaTextureObject_t layers, cudaTextureObject_t cube, float *out) {
  out[0] = tex3D<float>(volume, 0.5f, 0.5f, 0.5f);         // the middle of 2 x 2 x 2 values from 0 to 7
  out[1] = tex2DLayered<float>(layers, 1.5f, 0.5f, 1);
  out[2] = tex2DLayered<float>(layers, 1.5f, 0.5f, 9);     // the last layer
  out[3] = texCubemap<float>(cube, 0.1f, -1.0f, 0.1f);     // face 3
}

__global__ void turned(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x >= width) return;
  float v;
  surf2Dread(&v, from, x * 4, y);
  surf2Dwrite(v + 1, to, y * 4, width - 1 - x);
  surf2Dwrite(-1.0f, to, (x + height) * 4, y, cudaBoundaryModeZero); // beyond the edge: nothing is written
  if (x == 0) surf2Dread(&v, from, 400, y, cudaBoundaryModeZero);
  if (x == 0 && v != 0) surf2Dwrite(-2.0f, to, 0, 0);
}

__global__ void beyond(cudaSurfaceObject_t to, int row) { surf2Dwrite(1.0f, to, threadIdx.x * 4, row); } // surface: beyond
__global__ void gone(cudaTextureObject_t t, float *out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); } // texture: gone

int main(int argc, char **argv) {
  float host[64], *out;
  OK(cudaMalloc(&out, sizeof host));
  auto fetched = [&](void) { OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost)); };

  // an array of 5 x 4: value 10 * row + column
  std::vector<float> plane(20);
  for (int i = 0; i < 20; i++) plane[i] = 10 * (i / 5) + i % 5;
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t array, other;
  OK(cudaMallocArray(&array, &floats, 5, 4, cudaArraySurfaceLoadStore | cudaArrayTextureGather));
  OK(cudaMemcpy2DToArray(array, 0, 0, plane.data(), 20, 20, 4, cudaMemcpyHostToDevice));
  cudaTextureObject_t point = texture(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
  planes<<<1, 1>>>(point, texture(of(array), cudaAddressModeClamp, cudaFilterModeLinear, false), out);
  fetched();
  expect("tex2D, point", host[0], 12), expect("tex2D, linear", host[1], 6.5f), expect("tex2Dgather", host[2], 11), expect("tex2DLod", host[3], 3);

  // memory in a line, and in rows with a pitch
  cudaResourceDesc line = {};
  line.resType = cudaResourceTypeLinear, line.res.linear.devPtr = out, line.res.linear.desc = floats, line.res.linear.sizeInBytes = 16;
  unsigned char *bytes;
  size_t pitch;
  OK(cudaMallocPitch(&bytes, &pitch, 8, 2));
  unsigned char rows[2][8] = {{0, 1, 2, 3, 10, 20, 30, 40}, {50, 51, 52, 53, 54, 55, 56, 57}};
  OK(cudaMemcpy2D(bytes, pitch, rows, 8, 8, 2, cudaMemcpyHostToDevice));
  cudaResourceDesc pitched = {};
  pitched.resType = cudaResourceTypePitch2D, pitched.res.pitch2D.devPtr = bytes, pitched.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
  pitched.res.pitch2D.width = 8, pitched.res.pitch2D.height = 2, pitched.res.pitch2D.pitchInBytes = pitch;
  cudaTextureObject_t units = texture(pitched, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>(), pitched.res.pitch2D.width = 2;
  lines<<<1, 1>>>(texture(line, cudaAddressModeClamp, cudaFilterModePoint, false), units, texture(pitched, cudaAddressModeClamp, cudaFilterModePoint, false), out);
  fetched();
  expect("tex1Dfetch", host[0], 12), expect("tex1Dfetch beyond", host[1], 0), expect("normalized bytes", host[2], 51 / 255.f), expect("uchar4", host[3], 10 + 40 + 90 + 160);

  // a volume, layers and the faces of a cube
  std::vector<float> values(24);
  for (int i = 0; i < 24; i++) values[i] = i;
  cudaArray_t volume, layers, cube;
  auto filled = [&](cudaArray_t *a, cudaExtent e, unsigned flags) {
    OK(cudaMalloc3DArray(a, &floats, e, flags));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(values.data(), e.width * 4, e.width, e.height), p.dstArray = *a, p.extent = e, p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
  };
  filled(&volume, make_cudaExtent(2, 2, 2), 0), filled(&layers, make_cudaExtent(2, 2, 3), cudaArrayLayered), filled(&cube, make_cudaExtent(2, 2, 6), cudaArrayCubemap);
  deep<<<1, 1>>>(texture(of(volume), cudaAddressModeWrap, cudaFilterModeLinear, true), texture(of(layers), cudaAddressModeClamp, cudaFilterModePoint, false),
                 texture(of(cube), cudaAddressModeClamp, cudaFilterModePoint, true), out);
  fetched();
  expect("tex3D, linear", host[0], 3.5f), expect("a layer", host[1], 5), expect("the last layer", host[2], 9), expect("a face", host[3], 13);

  // surfaces: what is read from one is written into another, turned
  OK(cudaMallocArray(&other, &floats, 4, 5, cudaArraySurfaceLoadStore));
  cudaResourceDesc r = of(array), q = of(other);
  cudaSurfaceObject_t from, to;
  OK(cudaCreateSurfaceObject(&from, &r));
  OK(cudaCreateSurfaceObject(&to, &q));
  turned<<<4, 32>>>(from, to, 5, 4);
  float back[20];
  OK(cudaMemcpy2DFromArray(back, 16, other, 0, 0, 16, 5, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 5; x++) expect("a turned texel", back[(4 - x) * 4 + y], plane[y * 5 + x] + 1);

  cudaTextureDesc t = {};
  t.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t none;
  printf("integers cannot be filtered: %s\n", cudaGetErrorString(cudaCreateTextureObject(&none, &pitched, &t, nullptr)));
  printf("%d wrong\n", wrong);
  if (argc > 1 && !strcmp(argv[1], "beyond")) beyond<<<1, 2>>>(to, 5);
  if (argc > 1 && !strcmp(argv[1], "gone")) {
    float *memory;
    OK(cudaMalloc(&memory, 128));
    line.res.linear.devPtr = memory, line.res.linear.sizeInBytes = 128;
    cudaTextureObject_t late = texture(line, cudaAddressModeClamp, cudaFilterModePoint, false);
    OK(cudaFree(memory));
    gone<<<1, 4>>>(late, out);
  }
  if (argc > 1) printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return wrong;
}
