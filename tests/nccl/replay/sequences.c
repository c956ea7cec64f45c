/* What NCCL does around collectives, point-to-point operations and graphs, in the order and on the threads in which it does: each
 * function is one scene, played by the thread of the seat that it gets. Events that a version lacks are not sent. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "stage.h"

/* Each scene runs on a thread of its own, as NCCL's do; the next begins when it has ended, or runs beside it. */
struct scene { struct stage *stage; void (*play)(struct stage *, struct seat *); int seat; pthread_t thread; };

static void *act(void *arg) {
  struct scene *s = arg;
  seat_thread(&s->stage->seats[s->seat]);
  s->play(s->stage, &s->stage->seats[s->seat]);
  return NULL;
}

static void begin(struct scene *s) {
  if (pthread_create(&s->thread, NULL, act, s) != 0) abort();
}

void together(struct stage *st, void (*a)(struct stage *, struct seat *), int seat_a, void (*b)(struct stage *, struct seat *), int seat_b) {
  struct scene first = {st, a, seat_a, 0}, second = {st, b, seat_b, 0};
  begin(&first);
  if (b) begin(&second);
  pthread_join(first.thread, NULL);
  if (b) pthread_join(second.thread, NULL);
}

struct event coll_event(struct stage *st, const char *func) {
  return (struct event){.type = Coll, .context = st->context[0], .rank = 3, .seq = st->seq, .send = 0x7f0000001000, .recv = 0x7f0000002000, .count = 1 << 20, .hash = 0xabcdef, .name = "world", .func = func, .datatype = "ncclFloat32", .algo = "RING", .proto = "SIMPLE", .channels = (uint8_t)st->channels, .warps = 16, .func8 = 4, .datatype8 = 7, .algo8 = 1, .proto8 = 2, .group = st->group.id, .parent = st->v >= 5 ? st->coll_api.id : st->group.id};
}

struct handle simple(struct stage *st, struct seat *s, uint64_t type, uint64_t parent) {
  struct event e = {.type = type, .context = st->context[0], .parent = parent, .depth = 1, .stream = 0x5500aa};
  return call_start(s, st->v, &e);
}

void stop(struct stage *st, struct seat *s, struct handle h) {
  if (h.id) call_stop(s, st->v, h);
}

/* 1. A ring AllReduce. */

static void user_begins(struct stage *st, struct seat *s) {
  st->seq++;
  st->group_api = simple(st, s, GroupApi, 0);
  if (st->v >= 5) call_state(s, st->v, st->group_api, 23, NULL);
  struct event api = {.type = CollApi, .context = st->context[0], .parent = st->group_api.id, .func = "AllReduce", .datatype = "ncclFloat32", .count = 1 << 20, .stream = 0x5500aa};
  st->coll_api = call_start(s, st->v, &api);
  stop(st, s, st->coll_api);
  if (st->v >= 5) call_state(s, st->v, st->group_api, 24, NULL);
  st->launch = simple(st, s, KernelLaunch, st->group_api.id);
  stop(st, s, st->launch);
  st->group = simple(st, s, Group, 0);
  struct event coll = coll_event(st, "AllReduce");
  /* Until 2.27 a plug-in that gives no handle for the group gets no operations (sequence 12). */
  st->coll = st->v <= 4 && st->group.id == 0 ? (struct handle){0, 0} : call_start(s, st->v, &coll);
}

static void user_ends(struct stage *st, struct seat *s) {
  stop(st, s, st->coll);
  stop(st, s, st->group);
  stop(st, s, st->group_api);
}

void one_step(struct stage *st, struct seat *s, int channel, int send, int number) {
  struct event e = {.type = ProxyStep, .context = st->context[0], .parent = st->op[send][channel].id, .rank = 3, .step = number};
  struct handle h = call_start(s, st->v, &e);
  uint64_t size[2] = {65536, 0};
  const void *args = st->v >= 4 ? size : NULL;
  call_state(s, st->v, h, send ? 8 : 10, args);
  for (int i = 0; send && st->v >= 4 && i < 1 + number % 3; i++) call_state(s, st->v, h, 20, args);
  call_state(s, st->v, h, send ? 9 : 11, args);
  if (!send) call_state(s, st->v, h, 12, args);
  stop(st, s, h);
}

static void append_ops(struct stage *st, struct seat *s) {
  struct handle ctrl = simple(st, s, ProxyCtrl, 0);
  call_state(s, st->v, ctrl, 17, NULL);
  for (int c = 0; c < st->channels; c++)
    for (int send = 0; send < 2; send++) {
      struct event e = {.type = ProxyOp, .context = st->context[0], .parent = st->coll.id, .rank = 3, .pid = 4711, .channel = (uint8_t)c, .peer = send ? 4 : 2, .steps = 8, .chunk = 1 << 19, .is_send = send};
      st->op[send][c] = call_start(s, st->v, &e);
    }
  int32_t appended[4] = {2 * st->channels, 0, 0, 0};
  call_state(s, st->v, ctrl, 18, appended);
  stop(st, s, ctrl);
}

static void progress(struct stage *st, struct seat *s) {
  struct handle sleep = simple(st, s, ProxyCtrl, 0);
  call_state(s, st->v, sleep, 15, NULL);
  call_state(s, st->v, sleep, 16, NULL);
  stop(st, s, sleep);
  append_ops(st, s);
  struct { uint64_t transferred; int32_t steps, zero; } old = {1 << 20, 3, 0};
  for (int c = 0; c < st->channels; c++)
    for (int send = 0; send < 2; send++) {
      if (st->v >= 4) call_state(s, st->v, st->op[send][c], 19, NULL);
      for (uint32_t k = 0; st->v <= 3 && k < 4; k++) call_state(s, st->v, st->op[send][c], k + (send ? 0 : 4), &old);
      for (int k = 0; k < 8; k++) one_step(st, s, c, send, k);
    }
  for (int c = 0; c < st->channels; c++)
    for (int send = 0; send < 2; send++) stop(st, s, st->op[send][c]);
}

void kernels(struct stage *st, struct seat *s) {
  for (int c = 0; c < st->channels; c++) {
    struct event e = {.type = KernelCh, .context = st->context[0], .parent = st->coll.id, .channel = (uint8_t)c, .gpu_ns = 1760000000000000000u + st->seq * 1024};
    struct handle h = call_start(s, st->v, &e);
    if (!h.id) return;
    struct event p = {.type = KernelPhase, .context = st->context[0], .parent = h.id, .channel = (uint8_t)c, .phase = 1, .text = "compute", .gpu_ns = e.gpu_ns + 1};
    struct handle phase = call_start(s, st->v, &p);
    uint64_t stopped[2] = {e.gpu_ns + 4096, 0};
    if (phase.id) call_state(s, st->v, phase, 31, stopped);
    stop(st, s, phase);
    if (st->v >= 4) call_state(s, st->v, h, 22, stopped);
    stop(st, s, h);
  }
}

static void all_reduce(struct stage *st) {
  together(st, user_begins, User, NULL, 0);
  together(st, progress, Progress, kernels, Kernel);
  together(st, user_ends, User, NULL, 0);
}

/* 2. A group of point-to-point operations: an all-to-all, with the rank itself. */
static void all_to_all(struct stage *st, struct seat *s) {
  st->group_api = simple(st, s, GroupApi, 0);
  st->group = simple(st, s, Group, 0);
  for (int peer = 0; peer < 64; peer++)
    for (int k = 0; k < 2; k++) {
      struct event api = {.type = P2pApi, .context = st->context[0], .parent = st->group_api.id, .func = k ? "Send" : "Recv", .datatype = "ncclInt8", .count = 4096, .stream = 0x5500aa};
      struct handle a = call_start(s, st->v, &api);
      stop(st, s, a);
      struct event e = {.type = P2p, .context = st->context[0], .parent = st->v >= 5 ? a.id : st->group.id, .group = st->group.id, .rank = 3, .peer = peer, .send = 0x7f0000003000, .count = 4096, .func = k ? "Send" : "Recv", .datatype = "ncclInt8", .channels = 2, .func8 = (uint8_t)(k ? 6 : 7), .name = "world"};
      stop(st, s, call_start(s, st->v, &e));
    }
  stop(st, s, st->group);
  stop(st, s, st->group_api);
}

/* 3. Several communicators in one group: the API event belongs to the first. */
static void several_comms(struct stage *st, struct seat *s) {
  uint64_t first = st->context[0];
  st->group_api = simple(st, s, GroupApi, 0);
  for (int k = 0; k < 8; k++) {
    st->context[0] = st->context[k + 1];
    struct event e = coll_event(st, "AllGather");
    stop(st, s, call_start(s, st->v, &e));
  }
  st->context[0] = first;
  stop(st, s, st->group_api);
}

/* 4. A graph: captured once; replays come from the host's callback with handles of the capture and the same number. */
static void replay(struct stage *st, struct seat *s) {
  for (int k = 0; k < 5; k++) {
    struct event e = coll_event(st, "AllReduce");
    st->coll = call_start(s, st->v, &e);
    kernels(st, s);
    stop(st, s, st->launch);
    stop(st, s, st->coll);
  }
}

/* 5. PXN: an operation of another process, whose context and parent mean nothing here; its steps have a parent that does. */
static void pxn(struct stage *st, struct seat *s) {
  struct event e = {.type = ProxyOp, .context = 0x1234000000005678, .parent = 0x1234000000009999, .rank = 9, .pid = 99, .channel = 63, .peer = 4, .steps = 8, .chunk = 4096, .is_send = 1};
  struct handle op = call_start(s, st->v, &e);
  for (int k = 0; k < 8; k++) {
    struct event step = {.type = ProxyStep, .context = 0x1234000000005678, .parent = op.id, .rank = 9, .step = k};
    stop(st, s, call_start(s, st->v, &step));
  }
  stop(st, s, op);
}

/* 7. Orders that nobody promises. */
static void out_of_order(struct stage *st, struct seat *s) {
  stop(st, s, st->group_api);
  stop(st, s, st->group_api);
  call_state(s, st->v, st->coll, 19, NULL);
  call_stop(s, st->v, (struct handle){0, 0});
  call_state(s, st->v, (struct handle){0, 0}, 9, NULL);
  struct event e = {.type = ProxyOp, .context = st->context[0], .parent = st->coll.id, .rank = 3, .channel = 1, .peer = 2};
  call_start(s, st->v, &e); /* is never stopped, as NCCL leaves those of CollNet */
  struct event channel = {.type = KernelCh, .context = st->context[0], .parent = st->coll.id, .channel = 63, .gpu_ns = 0};
  uint64_t before[2] = {1, 0};
  struct handle h = call_start(s, st->v, &channel);
  if (h.id && st->v >= 4) call_state(s, st->v, h, 22, before);
}

/* 8. The same step over and over: a receiver that polls. */
static void storms(struct stage *st, struct seat *s) {
  struct event e = {.type = ProxyStep, .context = st->context[0], .parent = st->op[0][0].id, .rank = 3, .step = 70000};
  struct handle h = {0, 0};
  for (int k = 0; k < st->storm; k++) h = call_start(s, st->v, &e);
  for (int k = 0; st->v >= 4 && k < st->storm; k++) call_state(s, st->v, h, 20, NULL);
}

/* 10. Network plug-ins: more queue pairs than somebody may have planned for, ids that nobody knows, no data. */
static void network(struct stage *st, struct seat *s) {
  _Alignas(8) uint8_t descriptor[48];
  static const int64_t ids[] = {0x10001, 0x20001, 0x30001};
  for (int k = 0; k < 36; k++) {
    memset(descriptor, k, sizeof descriptor);
    struct event e = {.type = NetPlugin, .context = st->context[0], .parent = st->op[1][0].id, .rank = 3, .net_id = ids[k % 3], .net = k % 5 ? descriptor : NULL};
    struct handle h = call_start(s, st->v, &e);
    if (!h.id) return;
    uint64_t data[2] = {k % 7 ? (uint64_t)(uintptr_t)descriptor : 0, 0};
    if (st->v >= 4) call_state(s, st->v, h, 21, data);
    stop(st, s, h);
  }
  call_stop(s, st->v, (struct handle){0, 0});
}

/* 11. Copy engines. */
static void copy_engines(struct stage *st, struct seat *s) {
  struct event e = {.type = CeColl, .context = st->context[0], .parent = st->coll_api.id, .rank = 3, .seq = 5, .func = "AllGather", .datatype = "ncclInt8", .text = "MC", .flag = 1, .batch_size = 8, .batches = 2, .ce_seq = 77, .stream = 0x5500aa, .tag = 42};
  struct handle coll = call_start(s, st->v, &e);
  struct event batch = {.type = CeBatch, .context = st->context[0], .parent = coll.id, .rank = 3, .ops = 0, .bytes = 1 << 30, .flag = 1};
  struct handle b = call_start(s, st->v, &batch);
  struct event sync = {.type = CeSync, .context = st->context[0], .parent = b.id, .rank = 3, .ranks = 8, .flag = 1};
  stop(st, s, call_start(s, st->v, &sync));
  stop(st, s, b);
  stop(st, s, coll);
}

/* 13. The mask is written by somebody else, with bits that nobody knows. */
static void mask_elsewhere(struct stage *st, struct seat *s) {
  int before = __atomic_exchange_n(&nccl_mask, 0x7fff0007, __ATOMIC_RELAXED);
  stop(st, s, simple(st, s, GroupApi, 0));
  __atomic_store_n(&nccl_mask, before, __ATOMIC_RELAXED);
}

/* 14. Communicators that come into being at once, with names of every kind. */
struct birth { struct plugin *plugin; const char *truth; int v, number; pthread_t thread; };

static void *be_born(void *arg) {
  struct birth *b = arg;
  struct seat s;
  seat_open(&s, b->plugin, b->truth, seats + b->number, 1);
  char *name = malloc(1 << 20);
  memset(name, 'x', (1 << 20) - 1);
  name[(1 << 20) - 1] = 0;
  const char *names[] = {NULL, name, "\xc3\x28 not text", "plain"};
  s.no_log = b->number % 5 == 4;
  uint64_t context = call_init(&s, b->v, 100 + (uint64_t)b->number, &nccl_mask, names[b->number % 4], 1, b->number % 2 ? 1 : 100000, b->number);
  memset(name, 'y', 1 << 10);
  free(name);
  if (b->number % 3 == 0) call_finalize(&s, b->v, context);
  seat_close(&s);
  return NULL;
}

static void births(struct stage *st, const char *truth) {
  struct birth b[16];
  for (int k = 0; k < 16; k++) {
    b[k] = (struct birth){st->plugin, truth, st->v, k, 0};
    if (pthread_create(&b[k].thread, NULL, be_born, &b[k]) != 0) abort();
  }
  for (int k = 0; k < 16; k++) pthread_join(b[k].thread, NULL);
}

void play_sequences(struct plugin *p, const char *truth, int storm) {
  struct stage *st = calloc(1, sizeof *st);
  st->plugin = p;
  st->v = p->newest;
  st->truth = truth;
  st->storm = storm;
  for (int k = 0; k < seats; k++) seat_open(&st->seats[k], p, truth, k, 1);
  births(st, truth);
  for (int k = 0; k < 9; k++) st->context[k] = call_init(&st->seats[User], st->v, 7 + (uint64_t)k, &nccl_mask, k ? "part" : "world", 2, 8, 3);
  static const int widths[] = {1, 4, 64};
  for (int k = 0; k < 30; k++) {
    st->channels = widths[k % 3];
    all_reduce(st);
  }
  together(st, all_to_all, User, NULL, 0);
  together(st, several_comms, User, NULL, 0);
  together(st, replay, Host, NULL, 0);
  together(st, pxn, Progress, network, Socket);
  together(st, out_of_order, User, copy_engines, Host);
  together(st, storms, Progress, NULL, 0);
  together(st, mask_elsewhere, User, NULL, 0);
  play_rare(st);
  together(st, after_finalize, Progress, NULL, 0);
  for (int k = 0; k < seats; k++) seat_close(&st->seats[k]);
  free(st);
}

/* Collectives one after the other, as fast as their threads go, and the end of the communicator. */
void play_all_reduces(struct plugin *p, const char *truth, int n, int channels) {
  struct stage *st = calloc(1, sizeof *st);
  st->plugin = p;
  st->v = p->newest;
  st->channels = channels;
  for (int k = 0; k < seats; k++) seat_open(&st->seats[k], p, truth, k, 1);
  st->context[0] = call_init(&st->seats[User], st->v, 7, &nccl_mask, "world", 2, 8, 3);
  for (int k = 0; k < n; k++) all_reduce(st);
  seat_thread(&st->seats[User]);
  call_finalize(&st->seats[User], st->v, st->context[0]);
  for (int k = 0; k < seats; k++) seat_close(&st->seats[k]);
  free(st);
}
