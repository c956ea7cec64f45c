/* NCCL's profiler interface, versions 1 to 7, as this library is called through it: what lies where in memory, checked when it compiles.
 *
 * Pointers are declared as 64-bit numbers and bools as bytes: nothing of what NCCL passes is followed after the call, strings and the
 * descriptors of network plug-ins within it, and no bit pattern is wrong. */
#ifndef PRLX_NCCL_ABI_H
#define PRLX_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__LP64__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "NCCL runs on little-endian machines of 64 bits"
#endif

typedef uint64_t address;

enum { /* indices of the bits of event types */
  type_group, type_coll, type_p2p, type_proxy_op, type_proxy_step, type_proxy_ctrl, type_kernel_ch, type_net_plugin,
  type_group_api, type_coll_api, type_p2p_api, type_kernel_launch, type_ce_coll, type_ce_sync, type_ce_batch, type_kernel_phase,
};

enum { /* states; 8 to 12 and 20 are of proxy steps */
  state_last_of_op = 7, state_first_of_ctrl = 13, state_last_of_ctrl = 18, state_op_in_progress = 19, state_step_peer_wait = 20,
  state_net_update = 21, state_kernel_ch_stop = 22, state_group_api = 23, state_last_of_ce = 30, state_kernel_phase_stop = 31,
};

enum { net_ib_v1 = 0x10001, net_socket_v1 = 0x20001, net_ib_bytes = 40, net_socket_bytes = 24 };

/* Parts of descriptors that several versions share. */
struct abi_v1_coll { address name; uint64_t comm_hash, seq; uint8_t func; address send, recv; uint64_t count; int32_t root; uint8_t datatype; uint32_t op; uint64_t traffic; uint8_t max_channels, warps, algo, proto; int32_t collnet, nvls; };
struct abi_v1_p2p { address name; uint64_t comm_hash; uint8_t func; address buff; uint8_t datatype; uint64_t count; int32_t peer; };
struct abi_v2_coll { address name; uint64_t comm_hash, seq; address func, send, recv; uint64_t count; int32_t root; address datatype; uint64_t traffic; uint8_t max_channels, warps; address algo, proto; };
struct abi_v2_p2p { address name; uint64_t comm_hash; address func, buff, datatype; uint64_t count; int32_t peer; };
struct abi_v3_coll { address name; uint64_t comm_hash, seq; address func, send, recv; uint64_t count; int32_t root; address datatype; uint8_t max_channels, warps; address algo, proto; };
struct abi_v4_coll { uint64_t seq; address func, send, recv; uint64_t count; int32_t root; address datatype; uint8_t channels, warps; address algo, proto; };
struct abi_v4_p2p { address func, buff, datatype; uint64_t count; int32_t peer; uint8_t channels; };
struct abi_v5_coll { uint64_t seq; address func, send, recv; uint64_t count; int32_t root; address datatype; uint8_t channels, warps; address algo, proto, parent_group; };
struct abi_v5_p2p { address func, buff, datatype; uint64_t count; int32_t peer; uint8_t channels; address parent_group; };
struct abi_v7_coll { uint64_t seq; address func, send, recv; uint64_t count; int32_t root; address datatype; uint8_t channels, warps; address algo, proto, parent_group, variant; uint8_t symmetric; uint64_t user_tag; };
struct abi_v7_p2p { address func, buff, datatype; uint64_t count; int32_t peer; uint8_t channels; address parent_group; uint64_t user_tag; };

struct abi_proxy_op { int32_t pid; uint8_t channel; int32_t peer, steps, chunk, is_send; };
struct abi_proxy_step { int32_t step; };
struct abi_v3_kernel_ch { uint8_t channel; };
struct abi_kernel_ch { uint8_t channel; uint64_t gpu_ns; };
struct abi_net { int64_t id; address data; };
struct abi_group_api { uint8_t captured; int32_t depth; };
struct abi_coll_api { address func; uint64_t count; address datatype; int32_t root; address stream; uint8_t captured; };
struct abi_p2p_api { address func; uint64_t count; address datatype, stream; uint8_t captured; };
struct abi_v7_coll_api { address func; uint64_t count; address datatype; int32_t root; address stream; uint8_t captured; uint64_t user_tag; };
struct abi_v7_p2p_api { address func; uint64_t count; address datatype, stream; uint8_t captured; uint64_t user_tag; };
struct abi_launch { address stream; };
struct abi_ce_coll { uint64_t seq; address func, send, recv; uint64_t count; int32_t root; address datatype, strategy; uint8_t intra_sync; uint32_t batch_size, batches, ce_seq; address stream; };
struct abi_v7_ce_coll { uint64_t seq; address func, send, recv; uint64_t count; int32_t root; address datatype, strategy; uint8_t intra_sync; uint32_t batch_size, batches, ce_seq; address stream; uint64_t user_tag; };
struct abi_ce_sync { uint8_t complete; int32_t ranks; };
struct abi_ce_batch { int32_t ops; uint64_t bytes; uint8_t intra_sync; };
struct abi_kernel_phase { uint8_t channel, phase; address name; uint64_t gpu_ns; };

/* Descriptors. The type is a byte until version 4. */
struct abi_v1 { uint8_t type; address parent; int32_t rank; union { struct abi_v1_coll coll; struct abi_v1_p2p p2p; struct abi_proxy_op op; struct abi_proxy_step step; } u; };
struct abi_v2 { uint8_t type; address parent; int32_t rank; union { struct abi_v2_coll coll; struct abi_v2_p2p p2p; struct abi_proxy_op op; struct abi_proxy_step step; } u; };
struct abi_v3 { uint8_t type; address parent; int32_t rank; union { struct abi_v3_coll coll; struct abi_v2_p2p p2p; struct abi_proxy_op op; struct abi_proxy_step step; struct abi_v3_kernel_ch ch; struct abi_net net; } u; };
struct abi_v4 { uint8_t type; address parent; int32_t rank; union { struct abi_v4_coll coll; struct abi_v4_p2p p2p; struct abi_proxy_op op; struct abi_proxy_step step; struct abi_kernel_ch ch; struct abi_net net; } u; };
#define ABI_OLD_ARMS struct abi_proxy_op op; struct abi_proxy_step step; struct abi_kernel_ch ch; struct abi_net net; struct abi_group_api group_api; struct abi_launch launch
#define ABI_CE_ARMS struct abi_ce_sync sync; struct abi_ce_batch batch
struct abi_v5 { uint64_t type; address parent; int32_t rank; union { struct abi_v5_coll coll; struct abi_v5_p2p p2p; struct abi_coll_api coll_api; struct abi_p2p_api p2p_api; ABI_OLD_ARMS; } u; };
struct abi_v6 { uint64_t type; address parent; int32_t rank; union { struct abi_v5_coll coll; struct abi_v5_p2p p2p; struct abi_coll_api coll_api; struct abi_p2p_api p2p_api; struct abi_ce_coll ce; ABI_CE_ARMS; ABI_OLD_ARMS; uint8_t rccl[88]; } u; };
struct abi_v7 { uint64_t type; address parent; int32_t rank; union { struct abi_v7_coll coll; struct abi_v7_p2p p2p; struct abi_v7_coll_api coll_api; struct abi_v7_p2p_api p2p_api; struct abi_v7_ce_coll ce; ABI_CE_ARMS; struct abi_kernel_phase phase; ABI_OLD_ARMS; } u; };

/* What recordEventState is given. RCCL's version 6 has 24 bytes, in its state 31. */
union abi_v1_args { struct { uint64_t transferred; int32_t steps; } op; struct { int32_t appended; } ctrl; };
union abi_v4_args { uint64_t transferred; int32_t appended; address data; uint64_t gpu_ns; };

typedef void (*abi_logger)(int level, unsigned long subsystem, const char *file, int line, const char *format, ...);

/* The table that NCCL looks up by name. Its functions differ by version; a table holds addresses. */
struct abi_table { const char *name; void *init, *start, *stop, *state, *finalize; };

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)

SIZE(struct abi_table, 48);
SIZE(struct abi_v1, 120); SIZE(struct abi_v2, 128); SIZE(struct abi_v3, 120); SIZE(struct abi_v4, 104);
SIZE(struct abi_v5, 112); SIZE(struct abi_v6, 112); SIZE(struct abi_v7, 136);
SIZE(union abi_v1_args, 16); SIZE(union abi_v4_args, 8);

#define HEAD(v) AT(struct abi_##v, type, 0); AT(struct abi_##v, parent, 8); AT(struct abi_##v, rank, 16); AT(struct abi_##v, u, 24)
HEAD(v1); HEAD(v2); HEAD(v3); HEAD(v4); HEAD(v5); HEAD(v6); HEAD(v7);

AT(struct abi_v1, u.coll.name, 24); AT(struct abi_v1, u.coll.comm_hash, 32); AT(struct abi_v1, u.coll.seq, 40); AT(struct abi_v1, u.coll.func, 48);
AT(struct abi_v1, u.coll.send, 56); AT(struct abi_v1, u.coll.recv, 64); AT(struct abi_v1, u.coll.count, 72); AT(struct abi_v1, u.coll.root, 80);
AT(struct abi_v1, u.coll.datatype, 84); AT(struct abi_v1, u.coll.op, 88); AT(struct abi_v1, u.coll.traffic, 96); AT(struct abi_v1, u.coll.max_channels, 104);
AT(struct abi_v1, u.coll.warps, 105); AT(struct abi_v1, u.coll.algo, 106); AT(struct abi_v1, u.coll.proto, 107); AT(struct abi_v1, u.coll.collnet, 108);
AT(struct abi_v1, u.coll.nvls, 112);
AT(struct abi_v2, u.coll.func, 48); AT(struct abi_v2, u.coll.send, 56); AT(struct abi_v2, u.coll.recv, 64); AT(struct abi_v2, u.coll.count, 72);
AT(struct abi_v2, u.coll.root, 80); AT(struct abi_v2, u.coll.datatype, 88); AT(struct abi_v2, u.coll.traffic, 96); AT(struct abi_v2, u.coll.max_channels, 104);
AT(struct abi_v2, u.coll.warps, 105); AT(struct abi_v2, u.coll.algo, 112); AT(struct abi_v2, u.coll.proto, 120);
AT(struct abi_v3, u.coll.max_channels, 96); AT(struct abi_v3, u.coll.warps, 97); AT(struct abi_v3, u.coll.algo, 104); AT(struct abi_v3, u.coll.proto, 112);
AT(struct abi_v4, u.coll.seq, 24); AT(struct abi_v4, u.coll.func, 32); AT(struct abi_v4, u.coll.send, 40); AT(struct abi_v4, u.coll.recv, 48);
AT(struct abi_v4, u.coll.count, 56); AT(struct abi_v4, u.coll.root, 64); AT(struct abi_v4, u.coll.datatype, 72); AT(struct abi_v4, u.coll.channels, 80);
AT(struct abi_v4, u.coll.warps, 81); AT(struct abi_v4, u.coll.algo, 88); AT(struct abi_v4, u.coll.proto, 96);
AT(struct abi_v5, u.coll.parent_group, 104); AT(struct abi_v6, u.coll.parent_group, 104); AT(struct abi_v7, u.coll.parent_group, 104);
AT(struct abi_v7, u.coll.variant, 112); AT(struct abi_v7, u.coll.symmetric, 120); AT(struct abi_v7, u.coll.user_tag, 128);

AT(struct abi_v1, u.p2p.func, 40); AT(struct abi_v1, u.p2p.buff, 48); AT(struct abi_v1, u.p2p.datatype, 56); AT(struct abi_v1, u.p2p.count, 64); AT(struct abi_v1, u.p2p.peer, 72);
AT(struct abi_v2, u.p2p.func, 40); AT(struct abi_v2, u.p2p.buff, 48); AT(struct abi_v2, u.p2p.datatype, 56); AT(struct abi_v2, u.p2p.count, 64); AT(struct abi_v2, u.p2p.peer, 72);
AT(struct abi_v4, u.p2p.func, 24); AT(struct abi_v4, u.p2p.buff, 32); AT(struct abi_v4, u.p2p.datatype, 40); AT(struct abi_v4, u.p2p.count, 48);
AT(struct abi_v4, u.p2p.peer, 56); AT(struct abi_v4, u.p2p.channels, 60);
AT(struct abi_v5, u.p2p.parent_group, 64); AT(struct abi_v7, u.p2p.parent_group, 64); AT(struct abi_v7, u.p2p.user_tag, 72);

#define OLD_ARMS(v) AT(struct abi_##v, u.op.pid, 24); AT(struct abi_##v, u.op.channel, 28); AT(struct abi_##v, u.op.peer, 32); AT(struct abi_##v, u.op.steps, 36); \
  AT(struct abi_##v, u.op.chunk, 40); AT(struct abi_##v, u.op.is_send, 44); AT(struct abi_##v, u.step.step, 24)
OLD_ARMS(v1); OLD_ARMS(v2); OLD_ARMS(v3); OLD_ARMS(v4); OLD_ARMS(v5); OLD_ARMS(v6); OLD_ARMS(v7);
#define NET_ARMS(v) AT(struct abi_##v, u.ch.channel, 24); AT(struct abi_##v, u.net.id, 24); AT(struct abi_##v, u.net.data, 32)
NET_ARMS(v3); NET_ARMS(v4); NET_ARMS(v5); NET_ARMS(v6); NET_ARMS(v7);
#define API_ARMS(v) AT(struct abi_##v, u.ch.gpu_ns, 32); AT(struct abi_##v, u.group_api.captured, 24); AT(struct abi_##v, u.group_api.depth, 28); \
  AT(struct abi_##v, u.coll_api.func, 24); AT(struct abi_##v, u.coll_api.count, 32); AT(struct abi_##v, u.coll_api.datatype, 40); AT(struct abi_##v, u.coll_api.root, 48); \
  AT(struct abi_##v, u.coll_api.stream, 56); AT(struct abi_##v, u.coll_api.captured, 64); AT(struct abi_##v, u.p2p_api.func, 24); AT(struct abi_##v, u.p2p_api.count, 32); \
  AT(struct abi_##v, u.p2p_api.datatype, 40); AT(struct abi_##v, u.p2p_api.stream, 48); AT(struct abi_##v, u.p2p_api.captured, 56); AT(struct abi_##v, u.launch.stream, 24)
API_ARMS(v5); API_ARMS(v6); API_ARMS(v7);
AT(struct abi_v7, u.coll_api.user_tag, 72); AT(struct abi_v7, u.p2p_api.user_tag, 64);
#define CE_ARMS(v) AT(struct abi_##v, u.ce.seq, 24); AT(struct abi_##v, u.ce.func, 32); AT(struct abi_##v, u.ce.send, 40); AT(struct abi_##v, u.ce.recv, 48); \
  AT(struct abi_##v, u.ce.count, 56); AT(struct abi_##v, u.ce.root, 64); AT(struct abi_##v, u.ce.datatype, 72); AT(struct abi_##v, u.ce.strategy, 80); \
  AT(struct abi_##v, u.ce.intra_sync, 88); AT(struct abi_##v, u.ce.batch_size, 92); AT(struct abi_##v, u.ce.batches, 96); AT(struct abi_##v, u.ce.ce_seq, 100); \
  AT(struct abi_##v, u.ce.stream, 104); AT(struct abi_##v, u.sync.complete, 24); AT(struct abi_##v, u.sync.ranks, 28); AT(struct abi_##v, u.batch.ops, 24); \
  AT(struct abi_##v, u.batch.bytes, 32); AT(struct abi_##v, u.batch.intra_sync, 40)
CE_ARMS(v6); CE_ARMS(v7);
AT(struct abi_v7, u.ce.user_tag, 112);
AT(struct abi_v7, u.phase.channel, 24); AT(struct abi_v7, u.phase.phase, 25); AT(struct abi_v7, u.phase.name, 32); AT(struct abi_v7, u.phase.gpu_ns, 40);

#undef HEAD
#undef OLD_ARMS
#undef NET_ARMS
#undef API_ARMS
#undef CE_ARMS
#endif
