/* An event as the harness means it, the bytes that NCCL of a version would pass for it, and the line that the truth has of it.
 *
 * Offsets stand here as numbers, apart from runtime/nccl/abi.h: two descriptions of NCCL's interface that check each other. */
#ifndef PRLX_NCCL_EVENT_H
#define PRLX_NCCL_EVENT_H

#include <stdint.h>
#include <stdio.h>

enum {
  Group = 1, Coll = 2, P2p = 4, ProxyOp = 8, ProxyStep = 16, ProxyCtrl = 32, KernelCh = 64, NetPlugin = 128, GroupApi = 256, CollApi = 512,
  P2pApi = 1024, KernelLaunch = 2048, CeColl = 4096, CeSync = 8192, CeBatch = 16384, KernelPhase = 32768, ProxyDiag7 = 65536,
};

struct event {
  uint64_t type, parent, context;
  int32_t rank;
  uint64_t seq, send, recv, count, group, tag, traffic, hash, stream, bytes, gpu_ns;
  int32_t root, peer, op, collnet, nvls, depth, pid, steps, chunk, is_send, step, ranks, ops;
  uint32_t batch_size, batches, ce_seq;
  uint8_t channels, warps, channel, phase, flag, func8, datatype8, algo8, proto8;
  const char *func, *datatype, *algo, *proto, *variant, *name, *text;
  int64_t net_id;
  const void *net;
  uint8_t tail[88]; /* what lies where nothing is defined */
};

struct event_bytes { _Alignas(8) uint8_t at[136]; };

/* The descriptor of an event in a version. */
void event_encode(struct event_bytes *d, const struct event *e, int version);

/* Whether a version has a type at all. */
int event_known(uint64_t type, int version);

/* The line of the truth for a start, without its end. rccl: the library knows that it is RCCL's. */
int event_line(char *out, size_t room, const struct event *e, int version, uint64_t handle, int rccl);

/* The line for a state. code: 18 and 19 where the handle is of an IB or socket event, else anything. */
int state_line(char *out, size_t room, int version, uint64_t handle, uint32_t state, const void *args, int code);

#endif
