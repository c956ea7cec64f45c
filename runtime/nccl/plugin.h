/* What the callbacks share. */
#ifndef PRLX_NCCL_PLUGIN_H
#define PRLX_NCCL_PLUGIN_H

#include "recorder.h"

#define EXPORT __attribute__((visibility("default")))

INTERNAL int start_v1(void *, uint64_t *, const struct abi_v1 *);
INTERNAL int start_v2(void *, uint64_t *, const struct abi_v2 *);
INTERNAL int start_v3(void *, uint64_t *, const struct abi_v3 *);
INTERNAL int start_v4(void *, uint64_t *, const struct abi_v4 *);
INTERNAL int start_v5(void *, uint64_t *, const struct abi_v5 *);
INTERNAL int start_v6(void *, uint64_t *, const struct abi_v6 *);
INTERNAL int start_v7(void *, uint64_t *, const struct abi_v7 *);

static inline int is_rccl(void) { return recorder.header != NULL && (relaxed32(&recorder.header->flags) & file_rccl); }

/* The number of a context's communicator, comm_elsewhere where it is not ours or the number does not fit. */
static inline uint32_t comm_number(const void *context) {
  uint64_t id = (uint64_t)(uintptr_t)context, number = (id & sequence_mask) - 1;
  return is_own(id) && code_of(id) == code_context && number < comm_elsewhere ? (uint32_t)number : comm_elsewhere;
}

/* The entry of a communicator, NULL where it has none. */
static inline struct comm_entry *comm_of(uint32_t number) { return number < comm_entries ? &recorder.comms[number] : NULL; }

#endif
