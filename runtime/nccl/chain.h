/* A second plug-in behind this one: NCCL loads one only. */
#ifndef PRLX_NCCL_CHAIN_H
#define PRLX_NCCL_CHAIN_H

#include "recorder.h"

enum { chain_none = 0, chain_on = 1, chain_not_opened = 2, chain_turned_off = 3 };

/* Opens it for the version that NCCL has asked us for. On failure `said` is a sentence. */
INTERNAL void chain_open(const char *path, uint32_t version, char *said, size_t room);
INTERNAL void chain_init(uint32_t version, uint32_t number, uint64_t comm_id, const char *name, int nodes, int ranks, int rank, abi_logger log);
INTERNAL void chain_tell(abi_logger log);

/* Passes a start on. Returns the handle that NCCL gets: `id`, or one of our own for an event that is passed on and not recorded. */
INTERNAL uint64_t chain_start(uint32_t version, uint64_t context, uint64_t id, const void *descriptor);
INTERNAL void chain_stop(uint32_t version, uint64_t id);
INTERNAL void chain_state(uint32_t version, uint64_t id, uint32_t state, const void *args);
INTERNAL void chain_finalize(uint32_t version, uint64_t context);

/* What it asks NCCL for, 0 where there is none. It may change it at any time. */
INTERNAL int chain_mask(void);

static inline int is_chained(void) { return atomic_load_explicit(&recorder_gate->chained, memory_order_relaxed) != 0; }

#endif
