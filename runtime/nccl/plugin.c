/* The seven tables that NCCL looks up, and init, stop, state and finalize of each.
 *
 * Every function returns success, whatever it is given: NCCL up to 2.27 dereferences a null pointer after an init that failed, and later
 * releases may unload the library under another communicator. A recorder that cannot record hands out identifiers and does nothing. */
#define _GNU_SOURCE
#include "plugin.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"
#include "prlx_nccl.h"

enum { log_warn = 2, log_info = 3, subsystem_init = 1, subsystem_profile = 0x4000 };

static char problem[1200], chain_problem[1200];
static int is_open;

static void silence_child(void) {
  atomic_store(&recorder_gate->recorded, 0);
  atomic_store(&recorder_gate->cookie, 0);
  atomic_store(&recorder_gate->chained, 0);
}

/* Memory that a forked child sees as zeros. */
static struct gate *make_gate(void) {
  void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  madvise(p, 4096, MADV_WIPEONFORK); /* before Linux 4.14 the handler above does it alone */
  return p;
}

/* What we record where somebody else asks NCCL for more: our level's types, and whatever no type is asked for. */
static uint64_t recorded_with_chain(uint32_t level) {
  return (uint32_t)settings_mask(level) | UINT64_MAX << code_unknown;
}

static void start_recording(const struct settings *s) {
  recorder.level = s->level;
  recorder.wanted = settings_mask(s->level);
  recorder.duty_on_ms = s->duty_on_ms;
  recorder.duty_period_ms = s->duty_period_ms;
  keeper_anchor();
  if (keeper_start() != 0) atomic_fetch_or(&recorder.header->flags, file_no_keeper);
}

static void open_recorder(uint32_t version, const void *caller) {
  static struct settings s;
  char failed[1100] = "no memory";
  settings_read(&s, problem, sizeof problem);
  struct gate *gate = make_gate();
  if (gate) recorder_gate = gate;
  is_open = gate && file_open(&s, caller, failed, sizeof failed) == 0;
  if (recorder.cookie == 0) recorder.cookie = UINT64_C(1) << 48; /* identifiers are never null, whatever is recorded */
  if (!is_open) snprintf(problem, sizeof problem, "nothing is recorded: %s", failed);
  if (gate == NULL) return;
  if (*s.chain) {
    chain_open(s.chain, version, chain_problem, sizeof chain_problem);
    if (is_open && is_chained()) atomic_store(&gate->recorded, recorded_with_chain(s.level));
  }
  pthread_atfork(NULL, NULL, silence_child);
  if (is_open) start_recording(&s);
}

/* Once in a process. Of threads that come at the same time one opens and the others wait for it, unless this is a child that was forked
 * meanwhile: in it that one does not exist. */
static int open_once(uint32_t version, const void *caller) {
  enum { unopened, opening, opened };
  static _Atomic int state;
  static _Atomic int opener;
  int before = unopened;
  if (atomic_load(&state) == opened) return 1;
  int own = (int)getpid();
  if (atomic_compare_exchange_strong(&state, &before, opening)) {
    atomic_store(&opener, own);
    open_recorder(version, caller);
    atomic_store(&state, opened);
    return 1;
  }
  while (atomic_load(&state) == opening) {
    int by = atomic_load(&opener);
    if (by != 0 && by != own) return 0;
    struct timespec t = {0, 100000};
    nanosleep(&t, NULL);
  }
  return 1;
}

/* Exit without finalize is common; what is recorded is in the file already. The lock is kept, so that no segment is being taken again when
 * the process ends: its records would be counted and there. If a disk keeps the keeper from giving it, that is how it is. */
__attribute__((destructor)) static void end(void) {
  if (!is_open || !recording()) return;
  struct file_header *h = recorder.header;
  atomic_store(&recorder.stopping, 1);
  if (lock_wait(&recorder.prepare_lock, 1000000000)) {
    store_finish_sealed_locked();
    store_check_open_locked();
  }
  if (lock_wait(&recorder.anchor_lock, 1000000)) keeper_anchor(); /* what was recorded since the one before lies between two */
  set64(&h->ended_ticks, ticks_now());
  uint32_t state = file_recording;
  atomic_compare_exchange_strong(&h->state, &state, file_ended);
}

static void tell(abi_logger log, const struct comm_entry *c) {
  if (log == NULL) return;
  if (*problem) log(log_warn, subsystem_init | subsystem_profile, "prlx", 0, "prlx: %s", problem);
  if (*chain_problem) log(log_warn, subsystem_init | subsystem_profile, "prlx", 0, "prlx: %s", chain_problem);
  chain_tell(log);
  if (recording() && c != NULL) log(log_info, subsystem_init | subsystem_profile, "prlx", 0, "prlx records level L%u to %s", recorder.level, recorder.path);
}

/* The entry of a new communicator. Numbers beyond the table are counted; their facts are in the stream alone. One that has a lower number may
 * be entered later, or never if the process ends before: what is used is told by the highest. */
static void enter_comm(uint64_t context, uint32_t version, uint64_t comm_id, const struct init_body *body, uint64_t ticks) {
  uint32_t used = relaxed32(&recorder.header->comms_used), own = (uint32_t)body->index + 1;
  while (used < own && !atomic_compare_exchange_weak(&recorder.header->comms_used, &used, own)) continue;
  struct comm_entry *c = comm_of((uint32_t)body->index);
  if (c == NULL) {
    atomic_fetch_add_explicit(&recorder.header->comms_beyond, 1, memory_order_relaxed);
    return;
  }
  c->context = context;
  c->comm_id = comm_id;
  c->name = body->name;
  c->nodes = body->nodes;
  c->ranks = body->ranks;
  atomic_store(&c->rank, body->rank);
  c->version = version;
  c->init_ticks = ticks;
  atomic_store_explicit(&c->state, comm_live, memory_order_release);
  crc32c_of_comm(c);
}

static void record_init(uint32_t version, uint64_t context, uint64_t comm_id, struct init_body body, uint64_t ticks) {
  struct writer *w = writer_enter();
  struct record *r = w ? writer_reserve(w, 2) : NULL;
  if (r == NULL) {
    if (w) writer_lose(w, code_control, ticks);
    else writer_lose_nowhere(code_control);
    if (w) writer_leave(w);
    return;
  }
  *r = (struct record){.ticks = ticks, .id = context, .value = comm_id, .comm = (uint16_t)comm_number((void *)(uintptr_t)context), .kind = kind_init, .slots = 2, .code = code_control, .flags = (uint8_t)version};
  *(struct init_body *)(void *)(r + 1) = body;
  writer_commit(w, 2);
  writer_leave(w);
}

/* The first communicator's address of NCCL's mask is everybody's. */
static void ask(int *mask) {
  lock_wait(&recorder.mask_lock, UINT64_MAX);
  atomic_fetch_add(&recorder.live, 1);
  if (mask != NULL) {
    atomic_store(&recorder.mask, mask);
    __atomic_store_n(mask, recorder.wanted | chain_mask(), __ATOMIC_RELAXED);
    mask_note(mask_init);
  }
  lock_leave(&recorder.mask_lock);
}

struct identity { uint64_t comm_id; const char *name; int nodes, ranks, rank; };

static int init(uint32_t version, uint64_t *context, int *mask, struct identity i, abi_logger log, const void *caller) {
  int before = errno;
  int has_opened = open_once(version, caller);
  uint64_t number = atomic_fetch_add(&recorder.inits, 1), own = identifier(code_context, number + 1);
  if (own == 0) own = 1; /* a child that was forked while its parent opened */
  if (context) *context = own;
  int records = has_opened && is_open && recording();
  if (has_opened && is_chained()) chain_init(version, (uint32_t)(number < comm_entries ? number : comm_entries), i.comm_id, i.name, i.nodes, i.ranks, i.rank, log);
  if (records) {
    uint64_t ticks = ticks_now();
    struct init_body body = {intern(i.name), i.nodes, i.ranks, i.rank, number, 0};
    enter_comm(own, version, i.comm_id, &body, ticks);
    ask(mask);
    record_init(version, own, i.comm_id, body, ticks);
  } else if (has_opened && mask && !is_open) {
    __atomic_store_n(mask, chain_mask(), __ATOMIC_RELAXED);
  }
  if (has_opened) tell(log, records ? comm_of(comm_number((void *)(uintptr_t)own)) : NULL);
  errno = before;
  return 0;
}

/* A record of a handle alone. */
static int record_handle(uint32_t version, uint64_t id, uint8_t kind) {
  uint32_t code = is_own(id) ? code_of(id) % codes : code_foreign;
  if (unlikely(!recording())) return 0;
  struct writer *w = writer_enter();
  if (unlikely(w == NULL)) {
    writer_lose_nowhere(code);
    return 0;
  }
  uint64_t ticks = ticks_now();
  struct record *r = writer_reserve(w, 1);
  if (unlikely(r == NULL)) {
    writer_lose(w, code, ticks);
    writer_leave(w);
    return 0;
  }
  r->ticks = ticks;
  r->id = id;
  r->value = 0;
  r->comm = comm_elsewhere;
  r->kind = kind;
  r->slots = 1;
  r->code = (uint8_t)code;
  r->flags = (uint8_t)version;
  r->extra = 0;
  writer_commit(w, 1);
  writer_leave(w);
  return 0;
}

__attribute__((noinline, cold)) static int stop_in_chain(uint32_t version, uint64_t id) {
  if (!is_unrecorded(id)) record_handle(version, id, kind_stop);
  chain_stop(version, id);
  return 0;
}

static inline int stop(uint32_t version, uint64_t id) {
  if (unlikely(is_chained())) return stop_in_chain(version, id);
  return is_unrecorded(id) ? 0 : record_handle(version, id, kind_stop);
}

static int finalize(uint32_t version, uint64_t context) {
  int before = errno;
  chain_finalize(version, context);
  if (!recording()) {
    errno = before;
    return 0;
  }
  struct comm_entry *c = comm_of(comm_number((void *)(uintptr_t)context));
  uint32_t live = comm_live;
  int ends = c != NULL ? atomic_compare_exchange_strong(&c->state, &live, comm_finalized) : is_own(context) && code_of(context) == code_context;
  if (ends) { /* one too many would only keep us from writing NCCL's mask */
    if (c != NULL) {
      set64(&c->finalize_ticks, ticks_now());
      crc32c_of_comm(c);
    }
    lock_wait(&recorder.mask_lock, UINT64_MAX);
    atomic_fetch_sub(&recorder.live, 1);
    lock_leave(&recorder.mask_lock);
  }
  record_handle(version, context, kind_finalize);
  errno = before;
  return 0;
}

/* States. */

struct state {
  uint64_t value;      /* what the args say */
  int32_t second;      /* steps of a proxy operation */
  uint32_t raw_bytes;  /* of args that are kept as they are */
  uint32_t net_bytes;  /* of a network descriptor that `value` leads to */
  int extended;
};

static void read_legacy_args(struct state *s, uint32_t state, const union abi_v1_args *args) {
  if (state <= state_last_of_op) {
    s->value = args->op.transferred;
    s->second = args->op.steps;
    s->extended = 1;
  } else if (state >= state_first_of_ctrl && state <= state_last_of_ctrl) {
    s->value = (uint32_t)args->ctrl.appended;
  } else if (state < 8 || (state > 12 && state != state_step_peer_wait && state != state_net_update && state != state_kernel_ch_stop)) {
    s->raw_bytes = sizeof *args;
  }
}

static void read_args(struct state *s, uint32_t version, uint32_t state, uint64_t id, const union abi_v4_args *args) {
  if (state >= state_first_of_ctrl && state <= state_last_of_ctrl) s->value = (uint32_t)args->appended;
  else if ((state >= 8 && state <= 12) || state == state_step_peer_wait) s->value = args->transferred;
  else if (state == state_kernel_ch_stop || (state == state_kernel_phase_stop && version == 7)) s->value = args->gpu_ns;
  else if (state == state_net_update) {
    s->value = args->data;
    if (s->value != 0 && is_own(id)) s->net_bytes = code_of(id) == code_net_ib ? net_ib_bytes : code_of(id) == code_net_socket ? net_socket_bytes : 0;
  } else if (state == state_kernel_phase_stop && version == 6) s->raw_bytes = 24; /* RCCL's ProxyDiag */
  else if (state <= state_last_of_op || state > state_last_of_ce) s->raw_bytes = sizeof *args;
}

static int record_state(uint32_t version, uint64_t id, uint32_t state, const void *args) {
  if (unlikely(!recording())) return 0;
  uint32_t code = is_own(id) ? code_of(id) % codes : code_foreign;
  struct writer *w = writer_enter();
  if (unlikely(w == NULL)) {
    writer_lose_nowhere(code);
    return 0;
  }
  uint64_t ticks = ticks_now();
  struct state s = {.extended = state > state_kernel_phase_stop};
  if (args != NULL && version <= 3) read_legacy_args(&s, state, args);
  else if (args != NULL) read_args(&s, version, state, id, args);
  uint32_t body = s.raw_bytes ? 1 : (s.net_bytes + 31) / 32;
  uint32_t slots = 1 + (s.extended ? 1 : 0) + body;
  struct record *r = writer_reserve(w, slots);
  if (unlikely(r == NULL)) {
    writer_lose(w, code, ticks);
    writer_leave(w);
    return 0;
  }
  r->ticks = ticks;
  r->id = id;
  r->value = s.value;
  r->comm = comm_elsewhere;
  r->kind = kind_state;
  r->slots = (uint8_t)slots;
  r->code = state > state_kernel_phase_stop ? UINT8_MAX : (uint8_t)state;
  r->flags = (uint8_t)(version | (s.extended ? flag_extended : 0) | (args ? flag_args : 0) | (s.raw_bytes ? flag_raw : 0));
  r->extra = (uint16_t)code;
  struct record *next = r + 1;
  if (s.extended) *(struct extension *)(void *)next++ = (struct extension){0, state, 0, s.second, 0};
  if (body) {
    memset(next, 0, (size_t)body * sizeof *next);
    memcpy(next, s.raw_bytes ? args : (const void *)(uintptr_t)s.value, s.raw_bytes ? s.raw_bytes : s.net_bytes);
  }
  writer_commit(w, slots);
  writer_leave(w);
  return 0;
}

__attribute__((noinline, cold)) static int state_in_chain(uint32_t version, uint64_t id, uint32_t state, const void *args) {
  if (!is_unrecorded(id)) record_state(version, id, state, args);
  chain_state(version, id, state, args);
  return 0;
}

static inline int state_of(uint32_t version, uint64_t id, uint32_t state, const void *args) {
  if (unlikely(is_chained())) return state_in_chain(version, id, state, args);
  return is_unrecorded(id) ? 0 : record_state(version, id, state, args);
}

#define COMMON(v)                                                                                                                            \
  static int stop_v##v(uint64_t handle) { return stop(v, handle); }                                                                           \
  static int state_v##v(uint64_t handle, uint32_t state, const void *args) { return state_of(v, handle, state, args); }                       \
  static int finalize_v##v(uint64_t context) { return finalize(v, context); }

#define INIT_OLD(v)                                                                                                                          \
  static int init_v##v(uint64_t *context, int *mask) {                                                                                        \
    return init(v, context, mask, (struct identity){0, NULL, -1, -1, -1}, NULL, __builtin_return_address(0));                                 \
  }
#define INIT_NEW(v)                                                                                                                          \
  static int init_v##v(uint64_t *context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank, abi_logger log) {         \
    return init(v, context, mask, (struct identity){id, name, nodes, ranks, rank}, log, __builtin_return_address(0));                         \
  }

COMMON(1) COMMON(2) COMMON(3) COMMON(4) COMMON(5) COMMON(6) COMMON(7)
INIT_OLD(1) INIT_OLD(2) INIT_OLD(3)
static int init_v4(uint64_t *context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank, abi_logger log) {
  return init(4, context, mask, (struct identity){hash, name, nodes, ranks, rank}, log, __builtin_return_address(0));
}
INIT_NEW(5) INIT_NEW(6) INIT_NEW(7)

/* Version 8 has its place here: a row more, and its layout in abi.h. */
#define TABLE(v) EXPORT const struct abi_table ncclProfiler_v##v = {"prlx", (void *)init_v##v, (void *)start_v##v, (void *)stop_v##v, (void *)state_v##v, (void *)finalize_v##v};
TABLE(1) TABLE(2) TABLE(3) TABLE(4) TABLE(5) TABLE(6) TABLE(7)

/* Controls. */

EXPORT int prlx_nccl_set_mask(int nccl, uint64_t recorded) {
  if (!is_open || !recording()) return -1;
  lock_wait(&recorder.mask_lock, UINT64_MAX);
  recorder.wanted = nccl;
  mask_set(nccl, recorded, mask_control);
  lock_leave(&recorder.mask_lock);
  return 0;
}

EXPORT const char *prlx_nccl_path(void) { return is_open && recording() ? recorder.path : ""; }
