#include "event.h"

#include <inttypes.h>
#include <string.h>

/* Bytes. */

static void put(struct event_bytes *d, int at, const void *v, size_t n) { memcpy(d->at + at, v, n); }
static void put8(struct event_bytes *d, int at, uint8_t v) { put(d, at, &v, 1); }
static void put32(struct event_bytes *d, int at, uint32_t v) { put(d, at, &v, 4); }
static void put64(struct event_bytes *d, int at, uint64_t v) { put(d, at, &v, 8); }
static void putp(struct event_bytes *d, int at, const void *v) { put64(d, at, (uint64_t)(uintptr_t)v); }

static void encode_coll(struct event_bytes *d, const struct event *e, int v) {
  int old = v <= 3, at = old ? 40 : 24; /* of the sequence number */
  if (old) {
    putp(d, 24, e->name);
    put64(d, 32, e->hash);
  }
  put64(d, at, e->seq);
  if (v == 1) put8(d, at + 8, e->func8);
  else putp(d, at + 8, e->func);
  put64(d, at + 16, e->send);
  put64(d, at + 24, e->recv);
  put64(d, at + 32, e->count);
  put32(d, at + 40, (uint32_t)e->root);
  if (v == 1) {
    put8(d, 84, e->datatype8);
    put32(d, 88, (uint32_t)e->op);
    put64(d, 96, e->traffic);
    put8(d, 104, e->channels);
    put8(d, 105, e->warps);
    put8(d, 106, e->algo8);
    put8(d, 107, e->proto8);
    put32(d, 108, (uint32_t)e->collnet);
    put32(d, 112, (uint32_t)e->nvls);
    return;
  }
  putp(d, at + 48, e->datatype);
  int rest = at + 56;
  if (v == 2) {
    put64(d, rest, e->traffic);
    rest += 8;
  }
  put8(d, rest, e->channels);
  put8(d, rest + 1, e->warps);
  putp(d, rest + 8, e->algo);
  putp(d, rest + 16, e->proto);
  if (v >= 5) put64(d, 104, e->group);
  if (v < 7) return;
  putp(d, 112, e->variant);
  put8(d, 120, e->flag);
  put64(d, 128, e->tag);
}

static void encode_p2p(struct event_bytes *d, const struct event *e, int v) {
  if (v <= 3) {
    putp(d, 24, e->name);
    put64(d, 32, e->hash);
    if (v == 1) put8(d, 40, e->func8);
    else putp(d, 40, e->func);
    put64(d, 48, e->send);
    if (v == 1) put8(d, 56, e->datatype8);
    else putp(d, 56, e->datatype);
    put64(d, 64, e->count);
    put32(d, 72, (uint32_t)e->peer);
    return;
  }
  putp(d, 24, e->func);
  put64(d, 32, e->send);
  putp(d, 40, e->datatype);
  put64(d, 48, e->count);
  put32(d, 56, (uint32_t)e->peer);
  put8(d, 60, e->channels);
  if (v >= 5) put64(d, 64, e->group);
  if (v >= 7) put64(d, 72, e->tag);
}

static void encode_api(struct event_bytes *d, const struct event *e, int v) {
  int coll = e->type == CollApi, at = coll ? 56 : 48;
  putp(d, 24, e->func);
  put64(d, 32, e->count);
  putp(d, 40, e->datatype);
  if (coll) put32(d, 48, (uint32_t)e->root);
  put64(d, at, e->stream);
  put8(d, at + 8, e->flag);
  if (v >= 7) put64(d, at + 16, e->tag);
}

static void encode_ce(struct event_bytes *d, const struct event *e, int v) {
  put64(d, 24, e->seq);
  putp(d, 32, e->func);
  put64(d, 40, e->send);
  put64(d, 48, e->recv);
  put64(d, 56, e->count);
  put32(d, 64, (uint32_t)e->root);
  putp(d, 72, e->datatype);
  putp(d, 80, e->text);
  put8(d, 88, e->flag);
  put32(d, 92, e->batch_size);
  put32(d, 96, e->batches);
  put32(d, 100, e->ce_seq);
  put64(d, 104, e->stream);
  if (v >= 7) put64(d, 112, e->tag);
}

static void encode_op(struct event_bytes *d, const struct event *e) {
  put32(d, 24, (uint32_t)e->pid);
  put8(d, 28, e->channel);
  put32(d, 32, (uint32_t)e->peer);
  put32(d, 36, (uint32_t)e->steps);
  put32(d, 40, (uint32_t)e->chunk);
  put32(d, 44, (uint32_t)e->is_send);
}

int event_known(uint64_t type, int version) {
  static const uint64_t newest[] = {0, ProxyCtrl, ProxyCtrl, NetPlugin, NetPlugin, KernelLaunch, CeBatch, KernelPhase};
  return type != 0 && (type & (type - 1)) == 0 && type <= newest[version];
}

void event_encode(struct event_bytes *d, const struct event *e, int v) {
  memset(d, 0xa5, sizeof *d);
  memcpy(d->at + 24, e->tail, sizeof e->tail);
  if (v <= 4) put8(d, 0, (uint8_t)e->type);
  else put64(d, 0, e->type);
  put64(d, 8, e->parent);
  put32(d, 16, (uint32_t)e->rank);
  if (!event_known(e->type, v)) return;
  switch (e->type) {
    case Coll: encode_coll(d, e, v); break;
    case P2p: encode_p2p(d, e, v); break;
    case ProxyOp: encode_op(d, e); break;
    case ProxyStep: put32(d, 24, (uint32_t)e->step); break;
    case KernelCh: put8(d, 24, e->channel); if (v >= 4) put64(d, 32, e->gpu_ns); break;
    case NetPlugin: put64(d, 24, (uint64_t)e->net_id); putp(d, 32, e->net); break;
    case GroupApi: put8(d, 24, e->flag); put32(d, 28, (uint32_t)e->depth); break;
    case CollApi: case P2pApi: encode_api(d, e, v); break;
    case KernelLaunch: put64(d, 24, e->stream); break;
    case CeColl: encode_ce(d, e, v); break;
    case CeSync: put8(d, 24, e->flag); put32(d, 28, (uint32_t)e->ranks); break;
    case CeBatch: put32(d, 24, (uint32_t)e->ops); put64(d, 32, e->bytes); put8(d, 40, e->flag); break;
    case KernelPhase: put8(d, 24, e->channel); put8(d, 25, e->phase); putp(d, 32, e->text); put64(d, 40, e->gpu_ns); break;
  }
}

/* Lines. */

static uint32_t fnv(const void *p, size_t n) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)p)[i]) * 16777619u;
  return h;
}

struct line { char *at, *end; };

static void say(struct line *l, const char *format, uint64_t v) {
  int n = snprintf(l->at, (size_t)(l->end - l->at), format, v);
  l->at += n < l->end - l->at ? n : l->end - l->at;
}
static void hex(struct line *l, uint64_t v) { say(l, " %" PRIx64, v); }
static void number(struct line *l, int64_t v) { say(l, " %" PRId64, (uint64_t)v); }
static void word(struct line *l, const char *s) {
  int n = snprintf(l->at, (size_t)(l->end - l->at), " %s", s);
  l->at += n < l->end - l->at ? n : l->end - l->at;
}

/* A text: as it is where it is short and plain, else its stored length and hash; - for none. */
static void text(struct line *l, const char *s) {
  if (s == NULL) {
    word(l, "-");
    return;
  }
  size_t n = 0;
  int plain = 1;
  for (; n < 1024 && s[n]; n++) plain = plain && s[n] > ' ' && s[n] < 127;
  if (plain && n > 0 && n < 40 && !s[n]) {
    word(l, s);
    return;
  }
  say(l, " #%" PRIu64, n);
  say(l, ":%" PRIx64, fnv(s, n));
}

/* Texts from version 2 on, NCCL's enumerators in version 1. */
static void named(struct line *l, int v, const char *s, uint8_t value) {
  if (v == 1) number(l, value);
  else text(l, s);
}

static void raw(struct line *l, const void *p, size_t n) { hex(l, fnv(p, n)); }

static void coll_line(struct line *l, const struct event *e, int v) {
  hex(l, e->seq); hex(l, e->send); hex(l, e->recv); hex(l, e->count); number(l, e->root);
  named(l, v, e->func, e->func8); named(l, v, e->datatype, e->datatype8); named(l, v, e->algo, e->algo8); named(l, v, e->proto, e->proto8);
  number(l, e->channels); number(l, e->warps);
  hex(l, v >= 5 ? e->group : 0); hex(l, v >= 7 ? e->tag : 0); hex(l, v <= 2 ? e->traffic : 0); hex(l, v <= 3 ? e->hash : 0);
  text(l, v <= 3 ? e->name : NULL); text(l, v >= 7 ? e->variant : NULL); number(l, v >= 7 ? e->flag : 0);
  number(l, v == 1 ? (int64_t)(uint32_t)e->op : 0); number(l, v == 1 ? e->collnet : 0); number(l, v == 1 ? e->nvls : 0);
}

static void p2p_line(struct line *l, const struct event *e, int v) {
  hex(l, e->send); hex(l, e->count); named(l, v, e->func, e->func8); named(l, v, e->datatype, e->datatype8); number(l, e->peer);
  number(l, v >= 4 ? e->channels : 0); hex(l, v >= 5 ? e->group : 0); hex(l, v >= 7 ? e->tag : 0); hex(l, v <= 3 ? e->hash : 0);
  text(l, v <= 3 ? e->name : NULL);
}

static void net_line(struct line *l, int64_t id, const void *data) {
  hex(l, (uint64_t)id); hex(l, (uint64_t)(uintptr_t)data);
  size_t n = id == 0x10001 ? 40 : id == 0x20001 ? 24 : 0;
  if (data && n) raw(l, data, n);
  else hex(l, 0);
}

static void op_line(struct line *l, const struct event *e, int v, int rccl) {
  number(l, e->pid); number(l, e->channel); number(l, e->peer); number(l, e->steps); number(l, e->chunk); number(l, e->is_send);
  if (v == 6 && rccl) raw(l, e->tail + 24, 64);
}

int event_line(char *out, size_t room, const struct event *e, int v, uint64_t handle, int rccl) {
  struct line line = {out, out + room - 1}, *l = &line;
  static const int arms[] = {0, 96, 104, 96, 80, 88, 88, 112};
  uint64_t type = v <= 4 ? (uint8_t)e->type : e->type;
  say(l, "S%" PRIu64, (uint64_t)v); hex(l, handle); hex(l, type); hex(l, e->context); hex(l, e->parent); number(l, e->rank);
  if (!event_known(type, v)) {
    struct event_bytes d;
    event_encode(&d, e, v);
    raw(l, d.at + 24, (size_t)arms[v]);
    *l->at = 0;
    return (int)(l->at - out);
  }
  switch (type) {
    case Coll: coll_line(l, e, v); break;
    case P2p: p2p_line(l, e, v); break;
    case ProxyOp: op_line(l, e, v, rccl); break;
    case ProxyStep: number(l, e->step); break;
    case KernelCh: number(l, e->channel); hex(l, v >= 4 ? e->gpu_ns : 0); break;
    case NetPlugin: net_line(l, e->net_id, e->net); break;
    case GroupApi: number(l, e->depth); number(l, e->flag); break;
    case CollApi: case P2pApi:
      text(l, e->func); text(l, e->datatype); hex(l, e->count); number(l, type == CollApi ? e->root : 0); hex(l, e->stream); number(l, e->flag); hex(l, v >= 7 ? e->tag : 0);
      break;
    case KernelLaunch: hex(l, e->stream); break;
    case CeColl:
      hex(l, e->seq); text(l, e->func); hex(l, e->send); hex(l, e->recv); hex(l, e->count); number(l, e->root); text(l, e->datatype); text(l, e->text);
      number(l, e->flag); number(l, e->batch_size); number(l, e->batches); number(l, e->ce_seq); hex(l, e->stream); hex(l, v >= 7 ? e->tag : 0);
      break;
    case CeSync: number(l, e->ranks); number(l, e->flag); break;
    case CeBatch: number(l, e->ops); hex(l, e->bytes); number(l, e->flag); break;
    case KernelPhase: number(l, e->channel); number(l, e->phase); text(l, e->text); hex(l, e->gpu_ns); break;
  }
  *l->at = 0;
  return (int)(l->at - out);
}

/* What a state's args mean: docs of NCCL, not our recorder, say which arm counts. */
int state_line(char *out, size_t room, int v, uint64_t handle, uint32_t state, const void *args, int code) {
  struct line line = {out, out + room - 1}, *l = &line;
  uint64_t eight = 0;
  uint32_t four = 0;
  say(l, "R%" PRIu64, (uint64_t)v); hex(l, handle); number(l, state); number(l, args != NULL);
  if (args) {
    memcpy(&eight, args, 8);
    memcpy(&four, args, 4);
  }
  int step = (state >= 8 && state <= 12) || state == 20, ctrl = state >= 13 && state <= 18;
  if (!args) ;
  else if (ctrl) hex(l, four);
  else if (v <= 3 && state <= 7) {
    hex(l, eight);
    memcpy(&four, (const char *)args + 8, 4);
    number(l, (int32_t)four);
  } else if (v <= 3 && (step || state == 21 || state == 22)) ;
  else if (v <= 3) raw(l, args, 16);
  else if (step || state == 22 || (state == 31 && v == 7)) hex(l, eight);
  else if (state == 21) {
    hex(l, eight);
    if (eight && code == 18) raw(l, (const void *)(uintptr_t)eight, 40);
    if (eight && code == 19) raw(l, (const void *)(uintptr_t)eight, 24);
  } else if (state == 31 && v == 6) raw(l, args, 24);
  else if (state <= 7 || state > 30) raw(l, args, 8);
  *l->at = 0;
  return (int)(l->at - out);
}
