/* Events that NCCL may send and events that it never would, over all versions at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { remembered = 256, comms = 24 };

struct player {
  struct seat *s;
  struct handle handles[remembered];
  struct { uint64_t context; int version; int rank; } comms[comms];
  char changing[64]; /* a text whose content is another each time */
  _Alignas(8) uint8_t net[48];
  uint64_t args[4];
};

static const char *const words[] = {"AllReduce", "AllGather", "Broadcast", "ncclFloat32", "ncclInt8", "RING", "TREE", "LL128", "SIMPLE", "Send", "Recv", "MC", ""};
static const char not_utf8[] = "\xff\xfe name\n";

static const char *some_text(struct player *p) {
  uint64_t k = seat_below(p->s, 20);
  if (k == 13) return NULL;
  if (k == 14) return not_utf8;
  if (k == 15) {
    snprintf(p->changing, sizeof p->changing, "text%u", (unsigned)seat_below(p->s, 50));
    return p->changing;
  }
  return words[k % 13];
}

static int32_t some_number(struct player *p) {
  switch (seat_below(p->s, 5)) {
    case 0: return (int32_t)seat_random(p->s);
    case 1: return -1;
    case 2: return 65535 + (int32_t)seat_below(p->s, 3);
    default: return (int32_t)seat_below(p->s, 64);
  }
}

static uint64_t some_type(struct player *p) {
  switch (seat_below(p->s, 20)) {
    case 0: return seat_random(p->s);
    case 1: return 0;
    case 2: return 3;
    case 3: return UINT64_C(1) << seat_below(p->s, 64);
    default: return 1u << seat_below(p->s, 16);
  }
}

static void fill(struct player *p, struct event *e) {
  struct seat *s = p->s;
  uint64_t *tail = (uint64_t *)(void *)e->tail;
  for (size_t i = 0; i < sizeof e->tail / 8; i++) tail[i] = seat_random(s);
  e->type = some_type(p);
  e->parent = seat_below(s, 3) ? p->handles[seat_below(s, remembered)].id : seat_random(s);
  e->seq = seat_random(s); e->send = seat_random(s); e->recv = seat_random(s); e->count = seat_random(s); e->group = seat_random(s);
  e->tag = seat_random(s); e->traffic = seat_random(s); e->hash = seat_random(s); e->stream = seat_random(s); e->bytes = seat_random(s);
  e->gpu_ns = seat_below(s, 4) ? seat_random(s) : 0;
  e->root = some_number(p); e->peer = some_number(p); e->op = some_number(p); e->collnet = some_number(p); e->nvls = some_number(p);
  e->depth = some_number(p); e->pid = some_number(p); e->steps = some_number(p); e->chunk = some_number(p); e->is_send = some_number(p);
  e->step = some_number(p); e->ranks = some_number(p); e->ops = some_number(p);
  e->batch_size = (uint32_t)some_number(p); e->batches = (uint32_t)some_number(p); e->ce_seq = (uint32_t)some_number(p);
  uint64_t bytes = seat_random(s);
  e->channels = (uint8_t)bytes; e->warps = (uint8_t)(bytes >> 8); e->channel = (uint8_t)(bytes >> 16); e->phase = (uint8_t)(bytes >> 24);
  e->flag = (uint8_t)(bytes >> 32); e->func8 = (uint8_t)(bytes >> 40); e->datatype8 = (uint8_t)(bytes >> 48);
  e->algo8 = (uint8_t)(bytes >> 56); e->proto8 = (uint8_t)(bytes >> 20);
  e->func = some_text(p); e->datatype = some_text(p); e->algo = some_text(p); e->proto = some_text(p); e->variant = some_text(p); e->name = some_text(p); e->text = some_text(p);
  for (size_t i = 0; i < sizeof p->net; i++) p->net[i] = (uint8_t)seat_random(s);
  static const int64_t ids[] = {0x10001, 0x20001, 0x30001, -1};
  e->net_id = ids[seat_below(s, 4)];
  e->net = seat_below(s, 4) ? p->net : NULL;
}

static void start_some(struct player *p) {
  struct event e;
  struct seat *s = p->s;
  uint64_t k = seat_below(s, comms);
  fill(p, &e);
  e.context = seat_below(s, 12) ? p->comms[k].context : seat_below(s, 2) ? seat_random(s) : 0;
  static const int32_t ranks[] = {0, 1, -1};
  e.rank = seat_below(s, 3) ? p->comms[k].rank : ranks[seat_below(s, 3)];
  int v = seat_below(s, 10) ? p->comms[k].version : 1 + (int)seat_below(s, 7);
  p->handles[seat_below(s, remembered)] = call_send(s, v, &e);
}

/* A number that cannot be a handle of this process: those begin with the same 16 bits as its contexts. */
static uint64_t stranger(struct player *p) {
  uint64_t v = seat_random(p->s);
  return v >> 48 == p->comms[0].context >> 48 ? ~v : v;
}

static struct handle some_handle(struct player *p, int v) {
  uint64_t k = seat_below(p->s, 40);
  if (k == 0) return (struct handle){0, 0};
  if (k == 1) return (struct handle){stranger(p), 0};
  struct handle h = p->handles[seat_below(p->s, remembered)];
  (void)v;
  return h;
}

static void state_some(struct player *p) {
  struct seat *s = p->s;
  int v = 1 + (int)seat_below(s, 7);
  struct handle h = some_handle(p, v);
  uint32_t state = seat_below(s, 30) ? (uint32_t)seat_below(s, 33) : (uint32_t)seat_random(s);
  for (int i = 0; i < 4; i++) p->args[i] = seat_random(s);
  if (state == 21) p->args[0] = seat_below(s, 3) ? (uint64_t)(uintptr_t)p->net : 0;
  call_state(s, v, h, state, seat_below(s, 5) ? p->args : NULL);
}

static void open_comm(struct player *p, int k) {
  struct seat *s = p->s;
  int v = 1 + (int)seat_below(s, 7), rank = (int)seat_below(s, 8);
  if (p->comms[k].context) call_finalize(s, p->comms[k].version, p->comms[k].context);
  p->comms[k].version = v;
  p->comms[k].rank = rank;
  p->comms[k].context = call_init(s, v, seat_random(s), &nccl_mask, some_text(p), some_number(p), some_number(p), rank);
}

void play_random(struct seat *s, uint64_t events) {
  struct player *p = calloc(1, sizeof *p);
  p->s = s;
  for (int k = 0; k < comms; k++) open_comm(p, k);
  int (*set_mask)(int, uint64_t) = (int (*)(int, uint64_t))dlsym(s->plugin->library, "prlx_nccl_set_mask");
  for (uint64_t i = 0; i < events; i++) {
    uint64_t k = seat_below(s, 1000);
    if (k < 470) start_some(p);
    else if (k < 740) {
      int v = 1 + (int)seat_below(s, 7);
      call_stop(s, v, some_handle(p, v));
    } else if (k < 996) state_some(p);
    else if (k < 997) open_comm(p, (int)seat_below(s, comms));
    else if (k == 997 && set_mask && s->number == 0 && seat_below(s, 20) == 0) set_mask((int)seat_random(s), seat_below(s, 2) ? seat_random(s) : UINT64_MAX);
  }
  if (set_mask && s->number == 0) set_mask(4095, UINT64_MAX);
  free(p);
}
