/* startEvent of every version: a descriptor becomes a record. Heads are alike; what follows depends on the type, and for collectives,
 * point-to-point and API events on the version. */
#include "chain.h"
#include "plugin.h"

enum { slot = sizeof(struct record) };

/* What the head of a descriptor says. Its type is a byte until version 4. */
struct head {
  uint64_t type, parent;
  int32_t rank;
  uint32_t version;
  const char *arms; /* the union */
  uint32_t arms_bytes;
};

static inline uint32_t code_of_type(uint64_t type, uint32_t version) {
  if (likely(type != 0 && (type & (type - 1)) == 0 && type <= 1u << type_kernel_phase)) {
    uint32_t code = (uint32_t)__builtin_ctzll(type);
    return unlikely(code == type_kernel_phase && version != 7) ? (version == 6 ? code_proxy_diag : code_unknown) : code;
  }
  return type == 1 << 16 && version == 7 ? code_proxy_diag : code_unknown;
}

static uint32_t text(address pointer) { return intern((const char *)(uintptr_t)pointer); }

/* Bodies. Each fills what it knows of a body that is all zeros. */

static void fill_v1_coll(struct coll_body *b, const struct abi_v1_coll *c) {
  *b = (struct coll_body){.seq = c->seq, .send = c->send, .recv = c->recv, .count = c->count, .traffic = c->traffic, .comm_hash = c->comm_hash, .root = c->root, .func = c->func, .datatype = c->datatype, .algo = c->algo, .proto = c->proto, .name = text(c->name), .op = c->op, .collnet = c->collnet, .nvls = c->nvls, .channels = c->max_channels, .warps = c->warps};
}

static void fill_v2_coll(struct coll_body *b, const struct abi_v2_coll *c) {
  *b = (struct coll_body){.seq = c->seq, .send = c->send, .recv = c->recv, .count = c->count, .traffic = c->traffic, .comm_hash = c->comm_hash, .root = c->root, .func = text(c->func), .datatype = text(c->datatype), .algo = text(c->algo), .proto = text(c->proto), .name = text(c->name), .channels = c->max_channels, .warps = c->warps};
}

static void fill_v3_coll(struct coll_body *b, const struct abi_v3_coll *c) {
  *b = (struct coll_body){.seq = c->seq, .send = c->send, .recv = c->recv, .count = c->count, .comm_hash = c->comm_hash, .root = c->root, .func = text(c->func), .datatype = text(c->datatype), .algo = text(c->algo), .proto = text(c->proto), .name = text(c->name), .channels = c->max_channels, .warps = c->warps};
}

static void fill_v4_coll(struct coll_body *b, const struct abi_v4_coll *c) {
  *b = (struct coll_body){.seq = c->seq, .send = c->send, .recv = c->recv, .count = c->count, .root = c->root, .func = text(c->func), .datatype = text(c->datatype), .algo = text(c->algo), .proto = text(c->proto), .channels = c->channels, .warps = c->warps};
}

/* Version 7 begins as 5 does. */
static void fill_coll(struct coll_body *b, const char *arms, uint32_t version) {
  switch (version) {
    case 1: fill_v1_coll(b, (const void *)arms); return;
    case 2: fill_v2_coll(b, (const void *)arms); return;
    case 3: fill_v3_coll(b, (const void *)arms); return;
    default: fill_v4_coll(b, (const void *)arms);
  }
  if (version >= 5) b->parent_group = ((const struct abi_v5_coll *)(const void *)arms)->parent_group;
  if (version < 7) return;
  const struct abi_v7_coll *c = (const void *)arms;
  b->variant = text(c->variant);
  b->symmetric = c->symmetric;
  b->user_tag = c->user_tag;
}

static void fill_p2p(struct p2p_body *b, const char *arms, uint32_t version) {
  if (version == 1) {
    const struct abi_v1_p2p *p = (const void *)arms;
    *b = (struct p2p_body){.buff = p->buff, .count = p->count, .comm_hash = p->comm_hash, .func = p->func, .datatype = p->datatype, .peer = p->peer, .name = text(p->name)};
  } else if (version <= 3) {
    const struct abi_v2_p2p *p = (const void *)arms;
    *b = (struct p2p_body){.buff = p->buff, .count = p->count, .comm_hash = p->comm_hash, .func = text(p->func), .datatype = text(p->datatype), .peer = p->peer, .name = text(p->name)};
  } else {
    const struct abi_v4_p2p *p = (const void *)arms;
    *b = (struct p2p_body){.buff = p->buff, .count = p->count, .func = text(p->func), .datatype = text(p->datatype), .peer = p->peer, .channels = p->channels};
  }
  if (version >= 5) b->parent_group = ((const struct abi_v5_p2p *)(const void *)arms)->parent_group;
  if (version >= 7) b->user_tag = ((const struct abi_v7_p2p *)(const void *)arms)->user_tag;
}

static void fill_coll_api(struct api_body *b, const char *arms, uint32_t version) {
  const struct abi_coll_api *a = (const void *)arms;
  *b = (struct api_body){.count = a->count, .stream = a->stream, .func = text(a->func), .datatype = text(a->datatype), .root = a->root, .captured = a->captured};
  if (version >= 7) b->user_tag = ((const struct abi_v7_coll_api *)a)->user_tag;
}

static void fill_p2p_api(struct api_body *b, const char *arms, uint32_t version) {
  const struct abi_p2p_api *a = (const void *)arms;
  *b = (struct api_body){.count = a->count, .stream = a->stream, .func = text(a->func), .datatype = text(a->datatype), .captured = a->captured};
  if (version >= 7) b->user_tag = ((const struct abi_v7_p2p_api *)a)->user_tag;
}

static void fill_ce(struct ce_body *b, const char *arms, uint32_t version) {
  const struct abi_ce_coll *c = (const void *)arms;
  *b = (struct ce_body){.seq = c->seq, .send = c->send, .recv = c->recv, .count = c->count, .stream = c->stream, .func = text(c->func), .datatype = text(c->datatype), .strategy = text(c->strategy), .root = c->root, .batch_size = c->batch_size, .batches = c->batches, .ce_seq = c->ce_seq, .intra_sync = c->intra_sync};
  if (version >= 7) b->user_tag = ((const struct abi_v7_ce_coll *)c)->user_tag;
}

static void fill_net(struct net_body *b, const char *arms, uint32_t code) {
  const struct abi_net *n = (const void *)arms;
  *b = (struct net_body){.id = n->id, .data = n->data};
  size_t bytes = code == code_net_ib ? net_ib_bytes : code == code_net_socket ? net_socket_bytes : 0;
  if (n->data != 0 && bytes != 0) memcpy(b->descriptor, (const void *)(uintptr_t)n->data, bytes);
}

/* Events with one number, one value or little more. */
static void fill_small(struct small_body *b, const struct head *h, uint32_t code) {
  const char *arms = h->arms;
  *b = (struct small_body){0};
  if (code == type_group_api) {
    const struct abi_group_api *g = (const void *)arms;
    b->value = g->depth;
    b->a = g->captured;
  } else if (code == type_kernel_launch) {
    b->number = ((const struct abi_launch *)(const void *)arms)->stream;
  } else if (code == type_kernel_ch) {
    b->number = ((const struct abi_kernel_ch *)(const void *)arms)->gpu_ns;
  } else if (code == type_ce_sync) {
    const struct abi_ce_sync *s = (const void *)arms;
    b->value = s->ranks;
    b->a = s->complete;
  } else if (code == type_ce_batch) {
    const struct abi_ce_batch *c = (const void *)arms;
    b->number = c->bytes;
    b->value = c->ops;
    b->a = c->intra_sync;
  } else if (code == type_kernel_phase) {
    const struct abi_kernel_phase *p = (const void *)arms;
    b->number = p->gpu_ns;
    b->text = text(p->name);
    b->a = p->channel;
    b->b = p->phase;
  }
}

static void fill_op(struct op_body *b, const char *arms) {
  const struct abi_proxy_op *o = (const void *)arms;
  *b = (struct op_body){.pid = o->pid, .peer = o->peer, .steps = o->steps, .chunk = o->chunk, .is_send = o->is_send, .channel = o->channel};
}

/* How many slots the body of an event has. A code that the version does not have is raw. */
static uint32_t body_slots(uint32_t code, const struct head *h) {
  switch (code) {
    case type_group: case type_proxy_step: case type_proxy_ctrl: return 0;
    case type_coll: return sizeof(struct coll_body) / slot;
    case type_p2p: return sizeof(struct p2p_body) / slot;
    case type_proxy_op: return h->version == 6 && is_rccl() ? 3 : 1;
    case type_kernel_ch: return h->version >= 4;
    case type_coll_api: case type_p2p_api: return sizeof(struct api_body) / slot;
    case type_ce_coll: return sizeof(struct ce_body) / slot;
    case code_net_ib: case code_net_socket: case type_net_plugin: return sizeof(struct net_body) / slot;
    case code_unknown: case code_proxy_diag: return (h->arms_bytes + slot - 1) / slot;
    default: return 1;
  }
}

static void fill_body(void *body, const struct head *h, uint32_t code, uint32_t slots) {
  switch (code) {
    case type_coll: fill_coll(body, h->arms, h->version); return;
    case type_p2p: fill_p2p(body, h->arms, h->version); return;
    case type_coll_api: fill_coll_api(body, h->arms, h->version); return;
    case type_p2p_api: fill_p2p_api(body, h->arms, h->version); return;
    case type_ce_coll: fill_ce(body, h->arms, h->version); return;
    case code_net_ib: case code_net_socket: case type_net_plugin: fill_net(body, h->arms, code); return;
    case type_proxy_op:
      fill_op(body, h->arms);
      if (slots == 3) memcpy((char *)body + slot, h->arms + 24, 64); /* RCCL's, from commHash to rawProxyNsteps */
      return;
    case code_unknown: case code_proxy_diag:
      memset(body, 0, (size_t)slots * slot);
      memcpy(body, h->arms, h->arms_bytes);
      return;
    default: fill_small(body, h, code);
  }
}

/* Types that a version does not have are kept raw, however well known they are in another. */
static inline uint32_t code_in_version(uint64_t type, uint32_t version) {
  static const uint32_t types_until[] = {0, 1 << 6, 1 << 6, 1 << 8, 1 << 8, 1 << 12, 1 << 16, 1 << 17};
  return type >= types_until[version] ? code_unknown : code_of_type(type, version);
}

static uint32_t refine_net(uint32_t code, const struct head *h) {
  if (code != type_net_plugin) return code;
  int64_t id = ((const struct abi_net *)(const void *)h->arms)->id;
  return id == net_ib_v1 ? code_net_ib : id == net_socket_v1 ? code_net_socket : code;
}

/* The 16 bits beside a record that hold a step or a channel; what does not fit goes into the extension. */
static int small_number(const struct head *h, uint32_t code, int32_t *number) {
  *number = 0;
  if (code == type_proxy_step) *number = ((const struct abi_proxy_step *)(const void *)h->arms)->step;
  if (code == type_kernel_ch) *number = ((const struct abi_v3_kernel_ch *)(const void *)h->arms)->channel;
  return *number >= 0 && *number <= 0xffff;
}

static void learn_identity(struct comm_entry *c, const struct head *h, uint32_t code) {
  if (c == NULL || h->version > 3 || (code != type_coll && code != type_p2p)) return;
  int32_t unknown = -1;
  uint64_t hash = ((const struct abi_v2_p2p *)(const void *)h->arms)->comm_hash;
  if (!atomic_compare_exchange_strong(&c->rank, &unknown, h->rank) && relaxed64(&c->comm_hash) == hash) return;
  set64(&c->comm_hash, hash);
  crc32c_of_comm(c);
}

static uint64_t start(void *context, const struct head *h, uint32_t code) {
  code = refine_net(code, h);
  struct writer *w = writer_enter();
  if (unlikely(w == NULL)) {
    if (!recording()) return identifier(code | code_unrecorded, 0);
    writer_lose_nowhere(code);
    return identifier(code, atomic_fetch_add_explicit(&recorder.ids, 1, memory_order_relaxed));
  }
  uint64_t ticks = ticks_now(), id = identifier(code, writer_id(w));
  uint32_t number = comm_number(context), body = body_slots(code, h);
  struct comm_entry *c = comm_of(number);
  learn_identity(c, h, code);
  int32_t small;
  uint8_t flags = (uint8_t)h->version;
  if (!small_number(h, code, &small) || number == comm_elsewhere || code == code_unknown || code == code_proxy_diag) flags |= flag_extended;
  if (h->rank == 0) flags |= flag_rank_zero;
  else if (c == NULL || h->rank == -1 /* what a rank is that is learnt later */ || atomic_load_explicit(&c->rank, memory_order_relaxed) != h->rank) flags |= flag_extended;
  if (code == code_unknown || code == code_proxy_diag) flags |= flag_raw;
  uint32_t slots = 1 + (flags & flag_extended ? 1 : 0) + body;
  struct record *r = writer_reserve(w, slots);
  if (unlikely(r == NULL)) {
    writer_lose(w, code, ticks);
    writer_leave(w);
    return id;
  }
  r->ticks = ticks;
  r->id = id;
  r->value = h->parent;
  r->comm = (uint16_t)number;
  r->kind = kind_start;
  r->slots = (uint8_t)slots;
  r->code = (uint8_t)code;
  r->flags = flags;
  r->extra = (uint16_t)small;
  struct record *next = r + 1;
  if (flags & flag_extended) *(struct extension *)(void *)next++ = (struct extension){(uint64_t)(uintptr_t)context, h->type, h->rank, small, 0};
  if (body) fill_body(next, h, code, body);
  writer_commit(w, slots);
  writer_leave(w);
  return id;
}

__attribute__((noinline, cold)) static int start_in_chain(void *context, uint64_t *handle, const struct head *h, const void *descriptor, uint32_t code) {
  uint64_t id = wants(code) ? start(context, h, code) : identifier(code | code_unrecorded, 0);
  *handle = chain_start(h->version, (uint64_t)(uintptr_t)context, id, descriptor);
  return 0;
}

/* A type that is masked costs a look at the gate. */
#define START(v)                                                                                                                             \
  int start_v##v(void *context, uint64_t *handle, const struct abi_v##v *d) {                                                                 \
    if (unlikely(d == NULL || handle == NULL)) return 0;                                                                                      \
    uint32_t code = code_in_version(d->type, v);                                                                                              \
    if (!wants(code) && likely(!is_chained())) {                                                                                              \
      *handle = identifier(code | code_unrecorded, 0);                                                                                        \
      return 0;                                                                                                                               \
    }                                                                                                                                         \
    struct head h = {d->type, d->parent, d->rank, v, (const char *)&d->u, sizeof *d - offsetof(struct abi_v##v, u)};                          \
    if (unlikely(is_chained())) return start_in_chain(context, handle, &h, d, code);                                                          \
    *handle = start(context, &h, code);                                                                                                       \
    return 0;                                                                                                                                 \
  }
START(1)
START(2)
START(3)
START(4)
START(5)
START(6)
START(7)
