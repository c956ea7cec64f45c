/* The second plug-in, which PRLX_NCCL_CHAIN names: it is called as NCCL would call it, after the recorder and with handles of its own.
 *
 * Its handles and contexts are pointers that it follows. NCCL holds ours instead, so every one that NCCL passes, parents included, is looked
 * up in a table by our identifier. What is not there is not passed on and is counted: handles of another process (PXN), and those of events
 * so old that the table has forgotten them. It has one place for each of some thousand open events of a type, and forgets stopped ones first. */
#define _GNU_SOURCE
#include "chain.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#include "libc.h"

AS_IN_OLD_GLIBC(dlopen);
AS_IN_OLD_GLIBC(dlsym);
AS_IN_OLD_GLIBC(dlerror);

enum { sets = 1 << 14, ways = 4 };

struct place {
  shared64 id; /* 0: free; 1: being changed */
  _Atomic(void *) handle;
  shared32 stopped, comm;
};

static struct {
  const struct abi_table *table;
  uint32_t native, version; /* the one that NCCL uses of us, the one that we use of it */
  int mask;
  struct place (*places)[sets][ways]; /* by code */
  _Atomic(void *) contexts[comm_entries];
  _Atomic int failed; /* what its init returned */
} chain;

typedef int (*old_init)(void **, int *);
typedef int (*v4_init)(void **, int *, const char *, uint64_t, int, int, int, abi_logger);
typedef int (*new_init)(void **, uint64_t, int *, const char *, int, int, int, abi_logger);
typedef int (*start_call)(void *, void **, const void *);
typedef int (*stop_call)(void *);
typedef int (*state_call)(void *, uint32_t, const void *);

int chain_mask(void) { return is_chained() ? __atomic_load_n(&chain.mask, __ATOMIC_RELAXED) : 0; }

static void set_state(uint32_t to) {
  atomic_store(&recorder_gate->chained, to == chain_on);
  if (recorder.header) set32(&recorder.header->chain, to);
}

static void withhold(void) {
  if (recorder.header) atomic_fetch_add_explicit(&recorder.header->chain_withheld, 1, memory_order_relaxed);
}

/* Versions 5 to 7 grow at their ends: an older one of these can read what a newer one describes, and 6 what 5 does. */
static int can_read(uint32_t theirs, uint32_t native) {
  return theirs == native || (theirs >= 5 && native >= 5 && (theirs < native || theirs == 6));
}

static const struct abi_table *find(void *library, uint32_t native, uint32_t *version) {
  for (uint32_t k = 0; k < 8; k++) {
    uint32_t v = k == 0 ? native : 8 - k; /* the same, else the newest that can read it */
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%u", v);
    const struct abi_table *t = can_read(v, native) ? dlsym(library, symbol) : NULL;
    *version = v;
    if (t != NULL) return t;
  }
  return NULL;
}

/* As NCCL looks for a plug-in: the name as it is, then as the middle of a file's name. */
static void *open_library(const char *path, const char **why) {
  char composed[512];
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) *why = dlerror ? dlerror() : NULL; /* of the name that was given */
  if (library == NULL && strchr(path, '/') == NULL && snprintf(composed, sizeof composed, "libnccl-profiler-%s.so", path) < (int)sizeof composed)
    library = dlopen(composed, RTLD_NOW | RTLD_LOCAL);
  return library;
}

extern const struct abi_table ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;

static int is_ourselves(const struct abi_table *t) {
  static const struct abi_table *const own[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3, &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6, &ncclProfiler_v7};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (t == own[i]) return 1;
  return 0;
}

void chain_open(const char *path, uint32_t version, char *said, size_t room) {
  const char *why = NULL;
  set_state(chain_not_opened);
  if (!dlopen || !dlsym) {
    snprintf(said, room, "the chain is off: this libc has no dlopen");
    return;
  }
  void *library = open_library(path, &why);
  if (library == NULL) {
    snprintf(said, room, "the chain is off: %.900s", why ? why : path);
    return;
  }
  chain.native = version;
  chain.table = find(library, version, &chain.version);
  if (chain.table == NULL || is_ourselves(chain.table)) {
    snprintf(said, room, "the chain is off: %.300s %s", path, chain.table ? "is this plug-in itself" : "has no version of the profiler interface that can read what this NCCL describes");
    return;
  }
  void *p = mmap(NULL, sizeof *chain.places * codes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    snprintf(said, room, "the chain is off: no memory");
    return;
  }
  chain.places = p;
  set_state(chain_on);
}

/* Its init. A failure turns the chain off and is nobody else's: NCCL would drop it, or crash. */
void chain_init(uint32_t version, uint32_t number, uint64_t comm_id, const char *name, int nodes, int ranks, int rank, abi_logger log) {
  if (!is_chained() || version != chain.native || number >= comm_entries) return;
  void *context = NULL;
  int failed;
  if (version <= 3) failed = ((old_init)chain.table->init)(&context, &chain.mask);
  else if (version == 4) failed = ((v4_init)chain.table->init)(&context, &chain.mask, name, comm_id, nodes, ranks, rank, log);
  else failed = ((new_init)chain.table->init)(&context, comm_id, &chain.mask, name, nodes, ranks, rank, log);
  if (failed == 0) {
    atomic_store_explicit(&chain.contexts[number], context, memory_order_release);
    return;
  }
  set_state(chain_turned_off);
  atomic_store(&chain.failed, failed);
}

/* Of its init that failed. The communicator that it failed for may have no logger: each that has one is told. */
void chain_tell(abi_logger log) {
  int failed = atomic_load(&chain.failed);
  if (failed) log(2, 0x4001, "prlx", 0, "prlx: the chain is off: init of %s failed with %d", chain.table->name ? chain.table->name : "the plug-in", failed);
}

/* The table of handles. */

static struct place *set_of(uint64_t id) {
  uint64_t h = (id & sequence_mask) * UINT64_C(0x9e3779b97f4a7c15);
  return chain.places[code_of(id) % codes][h >> 50];
}

static struct place *place_of(uint64_t id) {
  struct place *set = set_of(id);
  for (int k = 0; k < ways; k++)
    if (atomic_load_explicit(&set[k].id, memory_order_acquire) == id) return &set[k];
  return NULL;
}

/* Its handle for ours; NULL where it gave none, where the table has forgotten it, and where its communicator is finalized: it has freed it. */
static void *handle_of(uint64_t id) {
  struct place *p = is_own(id) ? place_of(id) : NULL;
  if (p == NULL) return NULL;
  void *handle = atomic_load_explicit(&p->handle, memory_order_acquire);
  uint32_t comm = atomic_load_explicit(&p->comm, memory_order_acquire);
  if (atomic_load_explicit(&p->id, memory_order_acquire) != id) return NULL; /* it was another's meanwhile */
  return comm < comm_entries && atomic_load_explicit(&chain.contexts[comm], memory_order_acquire) ? handle : NULL;
}

/* Free places first, then those of stopped events, then the first that nobody else is changing. */
static void remember(uint64_t id, void *handle, uint32_t comm) {
  struct place *set = set_of(id);
  for (int pass = 0; pass < 3; pass++)
    for (int k = 0; k < ways; k++) {
      struct place *p = &set[k];
      uint64_t now = atomic_load(&p->id);
      if (now == 1 || (pass == 0 && now != 0) || (pass == 1 && !atomic_load(&p->stopped))) continue;
      if (!atomic_compare_exchange_strong(&p->id, &now, 1)) continue;
      if (pass == 2 && recorder.header) atomic_fetch_add_explicit(&recorder.header->chain_forgotten, 1, memory_order_relaxed);
      atomic_store_explicit(&p->handle, handle, memory_order_release);
      atomic_store_explicit(&p->comm, comm, memory_order_release);
      atomic_store_explicit(&p->stopped, 0, memory_order_release);
      atomic_store_explicit(&p->id, id, memory_order_release);
      return;
    }
}

/* Calls. */

/* Whether NCCL would deliver a type to it alone: what it asks for, and the parents of that. */
static int would_get(uint64_t type) {
  enum { Group = 1, Coll = 2, P2p = 4, Op = 8, Step = 16, Ch = 64, Net = 128, CollApi = 512, P2pApi = 1024, Launch = 2048, CeColl = 4096, CeSync = 8192, CeBatch = 16384, Phase = 32768, below = Op | Step | Ch | Net | Phase, ce = CeColl | CeSync | CeBatch };
  uint64_t mask = (uint32_t)__atomic_load_n(&chain.mask, __ATOMIC_RELAXED), wanted = type;
  static const uint64_t last[] = {0, 1 << 6, 1 << 6, 1 << 8, 1 << 8, 1 << 12, 1 << 15, 1 << 17};
  if ((type & (type - 1)) != 0 || (type >= last[chain.version] && chain.version != chain.native)) return 0; /* a type that it does not know */
  switch (type) {
    case Group: wanted |= Coll | P2p | below; break;
    case Coll: case P2p: wanted |= below; break;
    case Op: wanted |= Step | Net; break;
    case Step: wanted |= Net; break;
    case Ch: wanted |= Phase; break;
    case 256: wanted |= Group | Coll | P2p | CollApi | P2pApi | Launch | below | ce; break;
    case CollApi: wanted |= Coll | below | ce; break;
    case P2pApi: wanted |= P2p | below; break;
    case CeColl: wanted |= ce; break;
  }
  return (mask & wanted) != 0;
}

static size_t descriptor_bytes(uint32_t version) {
  static const size_t bytes[] = {0, sizeof(struct abi_v1), sizeof(struct abi_v2), sizeof(struct abi_v3), sizeof(struct abi_v4), sizeof(struct abi_v5), sizeof(struct abi_v6), sizeof(struct abi_v7)};
  return bytes[version];
}

/* Puts its handle in the place of ours. */
static void translate(uint64_t *id) { *id = (uint64_t)(uintptr_t)handle_of(*id); }

uint64_t chain_start(uint32_t version, uint64_t context, uint64_t id, const void *descriptor) {
  uint32_t number = is_own(context) && code_of(context) == code_context ? (uint32_t)((context & sequence_mask) - 1) : comm_entries;
  void *theirs = number < comm_entries ? atomic_load_explicit(&chain.contexts[number], memory_order_acquire) : NULL;
  union { struct abi_v5 head; struct abi_v7 v7; char bytes[sizeof(struct abi_v7)]; } d;
  memcpy(&d, descriptor, descriptor_bytes(version));
  uint64_t type = version <= 4 ? (uint8_t)d.head.type : d.head.type;
  if (!would_get(type) && version == chain.native) return id;
  if (version != chain.native || theirs == NULL) { /* a context of another process, or of an init that failed */
    withhold();
    return id;
  }
  translate(&d.head.parent);
  if (version >= 5 && type == 1u << type_coll) translate(&d.v7.u.coll.parent_group);
  if (version >= 5 && type == 1u << type_p2p) translate(&d.v7.u.p2p.parent_group);
  void *handle = NULL;
  ((start_call)chain.table->start)(theirs, &handle, &d);
  if (handle == NULL) return id;
  if (is_unrecorded(id)) id = identifier(code_of(id), atomic_fetch_add_explicit(&recorder.ids, 1, memory_order_relaxed));
  remember(id, handle, number);
  return id;
}

/* What has no handle of its own is of an event that it did not get or gave none for, which is no loss, or of another process. NULL is
 * passed on as it is: network plug-ins do that. */
static int is_passed(uint32_t version, uint64_t id, void **handle) {
  *handle = handle_of(id);
  if (version == chain.native && (*handle != NULL || id == 0)) return 1;
  if (version != chain.native || !is_own(id)) withhold();
  return 0;
}

void chain_stop(uint32_t version, uint64_t id) {
  void *handle;
  if (!is_passed(version, id, &handle)) return;
  struct place *p = id ? place_of(id) : NULL;
  if (p) atomic_store_explicit(&p->stopped, 1, memory_order_relaxed);
  ((stop_call)chain.table->stop)(handle);
}

void chain_state(uint32_t version, uint64_t id, uint32_t state, const void *args) {
  void *handle;
  if (!is_passed(version, id, &handle) || (state >= state_kernel_phase_stop && chain.version < version)) return;
  ((state_call)chain.table->state)(handle, state, args);
}

/* Its context is given back once, also after the chain was turned off. */
void chain_finalize(uint32_t version, uint64_t context) {
  uint64_t number = (context & sequence_mask) - 1;
  if (chain.table == NULL || version != chain.native || !is_own(context) || code_of(context) != code_context || number >= comm_entries) return;
  void *theirs = atomic_exchange(&chain.contexts[number], NULL);
  if (theirs) ((stop_call)chain.table->finalize)(theirs);
}
