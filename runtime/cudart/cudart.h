/* libcudart.so.12 and .13 on the driver of prlx: thin, so that what a program does is what the driver is asked for. */
#ifndef PRLX_CUDART_H
#define PRLX_CUDART_H

#include "abi.h"

#define API __attribute__((visibility("default")))
/* A function's other name, for programs whose default stream is one per thread: here all streams are in order. */
#define PER_THREAD(name, suffix) extern __typeof(name) name##suffix API __attribute__((alias(#name)))

/* ---- errors.c ---- */

/* The result of a call: remembered for cudaGetLastError where it is an error. */
cudaError_t done(cudaError_t code);
/* Whether calls may go on: the device is there, and no kernel has failed. Anything else is the call's result. */
cudaError_t ready(void);
/* What a launch came to. A kernel that failed is told by the next call, and by all behind it, as on a GPU. */
cudaError_t launched(int code);
/* Whether somebody gathers what launches do, and says it when the program has ended. */
int watched(void);
/* Says on standard error why something is refused, with what the driver knows of it. */
void tell(const char *what, int code);

/* ---- findings.c ---- */

/* Notes a finding: what the driver has just refused in a call of the program. */
void wrong(const char *check, const char *call);
struct place { void *at[6]; };
void prlx_cuda_note(const char *check, const char *call, const char *message, const struct place *where); /* of the driver */
const char *prlx_cuda_called(CUfunction f);                                                     /* likewise: its name as people write it */
void prlx_cuda_keep(CUdeviceptr at);                                                            /* likewise */
/* The program has begun a copy that it has to wait for before it uses the target. */
void not_waited(const struct cudaMemcpy3DParms *p);
/* It waits for something: what it uses from here on may be there. */
void waited(void);

/* ---- register.c ---- */

struct binary { const void *image; CUmodule module; int refused; }; /* refused: why it cannot be loaded */
struct kernel { const void *host, *self; struct binary *binary; const char *name; CUfunction function; };
/* A kernel by the address of its host function, or by its handle; NULL where it is neither. */
struct kernel *kernel_of(const void *function);
/* Likewise, loaded. */
cudaError_t function_of(CUfunction *into, const void *function);
/* Where a variable is, by the address of its host twin. */
cudaError_t variable_of(CUdeviceptr *at, size_t *bytes, const void *host);

/* ---- memory.c ---- */

/* Whether the addresses of a copy are of the kinds that its direction names. Memory that both sides have fits either. */
cudaError_t directed(const void *to, const void *from, int kind);
/* The kind of memory at an address; memory of the process itself is unregistered. */
int kind_of(const void *p);
/* Where bytes of a variable of the program are on the device. */
cudaError_t symbol_at(char **at, const void *symbol, size_t bytes, size_t offset);

/* ---- arrays.c ---- */

struct cudaArray { CUdeviceptr at; struct cudaChannelFormatDesc desc; struct cudaExtent extent; unsigned flags; size_t texel, pitch, slice; };
/* The bytes of a texel, 0 where there is none of that kind. */
size_t texel_bytes(const struct cudaChannelFormatDesc *d);
/* Copies rows of arrays and of memory. */
cudaError_t copy_rows(const struct cudaMemcpy3DParms *p);

/* ---- work.c, graphs.c ---- */

/* A copy of bytes from address to address. */
struct cudaMemcpy3DParms row_of(void *to, const void *from, size_t bytes, int kind);
/* A copy in a stream, which may be captured into a graph. */
cudaError_t enqueue_copy(cudaStream_t stream, const struct cudaMemcpy3DParms *p);
/* Whether a stream is captured, and what was asked of it has become a part of the graph. */
int captured_event(cudaEvent_t event, cudaStream_t stream);
int captured_wait(cudaStream_t stream, cudaEvent_t event);
int captured_allocation(void **into, size_t bytes, cudaStream_t stream, cudaError_t *code);

/* ---- device.c ---- */

int attribute(int number); /* of the device; 0 where it has none */

#endif
