/* libcuda.so.1 on the simulator of prlx: the driver API over one device that is a program. */
#ifndef PRLX_CUDA_DRIVER_H
#define PRLX_CUDA_DRIVER_H

#include "abi.h"

#include <pthread.h>
#include <stdio.h>

#define API __attribute__((visibility("default")))

/* ---- door.c: the way to the simulator ---- */

/* A reply, to be freed: JSON behind a byte that is 0 for a document and 1 for an error. NULL: there is no device. */
char *ask(const char *op, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As ask, with a request that is text. */
char *ask_text(const char *op, const char *request, size_t n);
/* Opens the door, once; whether there is a device. */
int connected(void);
/* Shows memory of the device at pages of the process; at device 0 memory of its own again. Whether that could be done. */
int shown_at(void *at, size_t bytes, uint64_t device);
/* Whether somebody gathers what launches do, and says at the end what was found. */
int watched(void);

/* ---- text.c: JSON, as much as the requests and replies have ---- */

struct text { char *at; size_t n, room; };
void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_quoted(struct text *t, const char *s, size_t n);
void say_base64(struct text *t, const void *data, size_t n);
/* What stands behind the first "key": from here on, NULL where it is not there. */
const char *value_of(const char *json, const char *key);
long long number_of(const char *json, const char *key, long long otherwise);
/* Copies a string, its escapes resolved; whether it was one. */
int string_of(const char *value, char *to, size_t room);
/* Whether what stands behind a key is a string. */
int is(const char *json, const char *key, const char *string);
/* Behind a value. */
const char *after(const char *value);

/* ---- errors.c ---- */

/* Remembers what was wrong, for cuGetErrorString, and returns the code. */
CUresult failed(CUresult code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Likewise of a reply that is an error; frees it. */
CUresult refused(char *reply, CUresult code);

/* ---- memory.c ---- */

struct place { void *at[6]; }; /* addresses in the program, the innermost first */
extern const uint64_t region_base;
extern const size_t region_bytes;
enum { ORDINARY, PINNED, MANAGED };
struct allocation { uint64_t at; size_t bytes; int kind, live, kept, fresh; struct place where; }; /* kept: by this library; fresh: no call of the program wrote it; where: who allocated it, in a run */
/* The allocation that has an address, NULL where none has. The caller holds the lock. */
struct allocation *allocation_at(uint64_t address);
/* Tells the device which arrays came and went; whether it knows. The table is the device's number of them. */
CUresult arrays_told(long long *table);
/* Whether bytes at an address are all in one live allocation, or are memory of the process. */
CUresult reachable(uint64_t address, size_t bytes);
CUresult cuMemAllocAsync(CUdeviceptr *at, size_t bytes, CUstream stream);

/* ---- notes.c ---- */

/* Where in the program a call comes from. */
struct place caller(void);
/* Notes a finding; where NULL: where the program called. */
void prlx_cuda_note(const char *check, const char *call, const char *message, const struct place *where);
/* A kernel's name as people write it. */
const char *prlx_cuda_called(CUfunction f);
/* An allocation is no leak where the program leaves it. */
void prlx_cuda_keep(CUdeviceptr at);

/* ---- contexts.c ---- */

extern pthread_mutex_t lock; /* recursive; around everything that is shared */
struct lock_held { int dummy; };
int held_begin(void);
void held_end(int *held);
/* Holds the lock until the function returns. */
#define HOLD __attribute__((cleanup(held_end), unused)) int held_ = held_begin()

/* ---- graphs.c ---- */

/* What a graph does not hold is not put on a stream that is captured: the capture is invalid then. */
CUresult not_captured(CUstream stream, const char *what);
/* What no thread does while a stream is captured, unless that thread or the capture says that it may (cuThreadExchangeStreamCaptureMode). */
CUresult safe_in_captures(const char *what);

/* ---- streams.c ---- */

extern uint64_t clock_ns; /* of the device: grows by what launches cost */

#endif
