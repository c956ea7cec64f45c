/* prlx_nccl.h: controls of the recorder of NCCL's events, for programs that have loaded libnccl-profiler-prlx.so.
 *
 * NCCL loads the library by itself when NCCL_PROFILER_PLUGIN names it, privately: look these up with dlopen(PATH, RTLD_NOLOAD) and dlsym.
 * What is written is described in docs/formats/nccl-segments.md. */
#ifndef PRLX_NCCL_H
#define PRLX_NCCL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on NCCL is asked for the types of `nccl` (its bits of event types), and of what it delivers those of `recorded` are written
 * (bits by code, docs/formats/nccl-segments.md; UINT64_MAX: all). Stops and states of events whose start was written always are. 0, or -1
 * where nothing is recorded: before the first communicator, after a fork, or where the file could not be made. */
int prlx_nccl_set_mask(int nccl, uint64_t recorded);

/* The file of this process; "" where nothing is recorded. */
const char *prlx_nccl_path(void);

#ifdef __cplusplus
}
#endif
#endif
