/* The file that the recorder writes, byte by byte: docs/formats/nccl-segments.md says what everything means. */
#ifndef PRLX_NCCL_SEGMENT_H
#define PRLX_NCCL_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t shared64; /* one thread writes, other processes read */
typedef _Atomic uint32_t shared32;

enum {
  file_version = 2,
  header_bytes = 4096,
  segment_bytes = 128 << 10,
  segment_slots = segment_bytes / 32 - 4,
  thread_entries = 1024,
  comm_entries = 4096,
  anchor_entries = 2048,
  mask_entries = 1024,
  string_bytes = 512 << 10,
  environ_bytes = 32 << 10,
  string_longest = 1024,
  gpu_entries = 64,
};

/* What a handle of ours is of, and what losses are counted by: 0 to 15 are the bits of event types. */
enum {
  code_unknown = 16,    /* a type that this version does not know */
  code_proxy_diag = 17, /* RCCL's ProxyDiag: bit 15 in version 6, bit 16 in version 7 */
  code_net_ib = 18,     /* NetPlugin whose descriptor is InfiniBand's, of a socket */
  code_net_socket = 19,
  code_foreign = 20,    /* stop or state of a handle that another process made, or of none */
  code_control = 21,    /* init and finalize */
  code_context = 22,    /* of contexts */
  codes = 32,
  code_unrecorded = 32, /* beside a code in a handle: its event was not recorded, nor are its states and its stop */
};

enum { kind_start = 1, kind_stop, kind_state, kind_loss, kind_thread, kind_init, kind_finalize };

enum { /* flags of a record, above the version in the low four bits */
  flag_extended = 0x10, /* a slot `extension` follows */
  flag_rank_zero = 0x20,
  flag_args = 0x40, /* state: args were given */
  flag_raw = 0x80,  /* start: the body is the descriptor's union; state: a body with raw args follows */
};

enum { comm_elsewhere = 0xffff }; /* the extension has the context */

struct record {
  uint64_t ticks, id, value;
  uint16_t comm;
  uint8_t kind, slots, code, flags;
  uint16_t extra;
};

struct extension {
  uint64_t context, raw;
  int32_t rank, value;
  uint64_t zero;
};

struct anchor {
  uint64_t ticks;
  int64_t monotonic_ns, realtime_ns, boottime_ns;
  uint64_t bracket_ticks;
};

struct segment {
  uint32_t magic, index;
  shared64 generation; /* goes up when the segment is taken again; 0 until it was first prepared */
  shared64 committed;  /* slots that are whole */
  uint32_t thread, thread_generation, tid;
  shared32 state;
  uint64_t order;
  struct anchor opened;
  uint64_t sealed_ticks;
  uint32_t crc;      /* CRC-32C of the bytes above and of the slots that are whole */
  shared32 crc_made; /* 1 once `crc` is there: a moment after the segment is sealed */
  shared64 running;  /* below, a CRC-32C of what never changes above and of the first slots; above, of how many. Each second */
  uint64_t zero[2];
};

enum { segment_magic = 0x314c5850 /* "PXL1" */, segment_ready = 0, segment_open = 1, segment_sealed = 2 };

struct section {
  uint64_t offset;
  uint32_t entry_bytes, entries;
};

struct thread_entry {
  shared32 tid, generation;
  shared64 pending; /* lost callbacks of this thread that no loss record tells of, and between when and when */
  shared64 pending_first, pending_last;
  char name[16];
  uint64_t zero[2];
  shared64 lost[codes]; /* of all threads that had this entry */
};

struct comm_entry {
  uint64_t context, comm_id;
  uint32_t name;
  int32_t nodes, ranks;
  _Atomic int32_t rank; /* -1 until it is known */
  uint32_t version;
  shared32 state;
  uint64_t init_ticks;
  shared64 finalize_ticks, comm_hash; /* the hash is learnt from the first operation, versions 1 to 3 */
  shared32 crc, crc_made; /* CRC-32C of the above */
};

enum { comm_free = 0, comm_live = 1, comm_finalized = 2 };

struct anchor_entry {
  shared64 number; /* 1 for the first anchor of the file; 0 while it is written */
  struct anchor anchor;
  uint32_t crc, zero; /* CRC-32C of the above */
};

struct mask_entry {
  shared64 number;
  uint64_t ticks;
  uint32_t nccl, recorded, cause;
  uint32_t crc; /* CRC-32C of the above */
};

enum { mask_init = 1, mask_control = 2, mask_duty = 3, mask_other = 4, mask_chain = 5 };

struct gpu_entry { /* of this machine, as /proc/driver/nvidia says */
  int32_t minor;
  uint32_t is_open; /* the process had /dev/nvidia<minor> open at its first init */
  char bus[40], uuid[80];
};

struct file_header {
  char magic[8];
  uint32_t version, header_bytes_, segment_bytes_, record_bytes;
  uint64_t max_bytes, segments_offset;
  shared32 segments, state;
  struct section threads, comms, anchors, masks, strings, environment;
  uint32_t cookie, clock;
  uint64_t ticks_per_second;
  uint32_t pid, level;
  uint64_t pid_start, pid_namespace;
  int64_t started_realtime_ns;
  shared64 heartbeat_ticks, ended_ticks;
  shared32 threads_used, comms_used;
  shared64 anchors_written, masks_written;
  shared32 strings_used, environment_used;
  shared64 overwritten_records, overwritten_segments, lost_strings, comms_beyond;
  shared32 flags, storage_errno;
  uint32_t nccl_version; /* what ncclGetVersion of the library that called init says; 0: not known */
  shared32 chain;        /* the second plug-in: 0 none, 1 on, 2 could not be opened, 3 turned off by its init */
  struct section gpus;
  uint32_t gpus_used, zero_used;
  shared64 chain_withheld;  /* calls that could not be passed on: of another process, or of another version */
  shared64 chain_forgotten; /* open events whose handle the table had no place for */
  shared64 opened;          /* segments that were opened: the order of the next one */
  uint32_t facts_crc;       /* CRC-32C of what never changes: see facts_of */
  shared32 is_checked;      /* 1: all checksums are there */
  uint64_t zero[21];
  char host[256], boot_id[40], writer[40], library[176];
  shared64 overwritten[codes]; /* records by type that made room for newer ones */
  shared64 lost[codes];        /* callbacks of threads that have no entry */
};

enum { file_making = 0, file_recording = 1, file_ended = 2 };
enum { clock_tsc = 1, clock_cntvct = 2, clock_monotonic = 3 };
enum { file_rccl = 1, file_no_keeper = 2, file_storage_short = 4 };

_Static_assert(sizeof(struct record) == 32 && sizeof(struct extension) == 32, "slots");
_Static_assert(sizeof(struct segment) == 128 && sizeof(struct anchor) == 40, "segment");
_Static_assert(sizeof(struct thread_entry) == 320 && sizeof(struct comm_entry) == 72, "entries");
_Static_assert(offsetof(struct segment, crc) == 96 && offsetof(struct segment, running) == 104 && sizeof(struct gpu_entry) == 128, "entries");
_Static_assert(sizeof(struct anchor_entry) == 56 && sizeof(struct mask_entry) == 32, "entries");
_Static_assert(offsetof(struct file_header, threads) == 48 && offsetof(struct file_header, cookie) == 144, "header");
_Static_assert(offsetof(struct file_header, heartbeat_ticks) == 192 && offsetof(struct file_header, flags) == 272, "header");
_Static_assert(offsetof(struct file_header, host) == 512 && offsetof(struct file_header, overwritten) == 1024, "header");
_Static_assert(offsetof(struct file_header, nccl_version) == 280 && offsetof(struct file_header, gpus) == 288 && offsetof(struct file_header, chain_withheld) == 312, "header");
_Static_assert(offsetof(struct file_header, opened) == 328 && offsetof(struct file_header, facts_crc) == 336, "header");
_Static_assert(offsetof(struct file_header, library) == 848 && sizeof(struct file_header) == 1536, "header");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "atomics");

/* Bodies of start records, in whole slots. Strings are numbers of entries of the section `strings`; in version 1 func, datatype, algo
 * and proto of operations are NCCL's enumerators instead. */
struct coll_body { uint64_t seq, send, recv, count, parent_group, user_tag, traffic, comm_hash; int32_t root; uint32_t func, datatype, algo, proto, variant, name, op; int32_t collnet, nvls; uint8_t channels, warps, symmetric, zero[21]; };
struct p2p_body { uint64_t buff, count, parent_group, comm_hash, user_tag; uint32_t func, datatype; int32_t peer; uint32_t name; uint8_t channels, zero[7]; };
struct api_body { uint64_t count, stream, user_tag; uint32_t func, datatype; int32_t root; uint8_t captured, zero[27]; };
struct ce_body { uint64_t seq, send, recv, count, stream, user_tag; uint32_t func, datatype, strategy; int32_t root; uint32_t batch_size, batches, ce_seq; uint8_t intra_sync, zero[19]; };
struct op_body { int32_t pid, peer, steps, chunk, is_send; uint8_t channel, zero[11]; };
struct net_body { int64_t id; uint64_t data; uint8_t descriptor[48]; };
struct small_body { uint64_t number; int32_t value; uint32_t text; uint8_t a, b, zero[14]; };
struct init_body { uint32_t name; int32_t nodes, ranks, rank; uint64_t index, zero; };

_Static_assert(sizeof(struct coll_body) == 128 && sizeof(struct p2p_body) == 64 && sizeof(struct api_body) == 64, "bodies");
_Static_assert(sizeof(struct ce_body) == 96 && sizeof(struct op_body) == 32 && sizeof(struct net_body) == 64, "bodies");
_Static_assert(sizeof(struct small_body) == 32 && sizeof(struct init_body) == 32, "bodies");
#endif
