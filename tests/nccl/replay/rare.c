/* Scenes that happen less often, or should not happen at all. Numbers are those of the sequences in sequences.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stage.h"

/* 2. A group within a group of sends and receives; both halves of a pair come from one slot of the device. */
static void pairs(struct stage *st, struct seat *s) {
  struct event outer = {.type = GroupApi, .context = st->context[0], .depth = 2};
  st->group_api = call_start(s, st->v, &outer);
  st->group = simple(st, s, Group, 0);
  struct handle halves[2];
  for (int k = 0; k < 2; k++) {
    struct event api = {.type = P2pApi, .context = st->context[0], .parent = st->group_api.id, .func = k ? "Send" : "Recv", .datatype = "ncclFloat16", .count = 8, .stream = 1};
    struct handle a = call_start(s, st->v, &api);
    stop(st, s, a);
    struct event e = {.type = P2p, .context = st->context[0], .parent = st->v >= 5 ? a.id : st->group.id, .group = st->group.id, .rank = 3, .peer = 5, .count = 8, .func = k ? "Send" : "Recv", .datatype = "ncclFloat16", .channels = 1, .func8 = (uint8_t)(6 + k), .name = "world"};
    halves[k] = call_start(s, st->v, &e);
    struct event ch = {.type = KernelCh, .context = st->context[0], .parent = halves[k].id, .channel = 2, .gpu_ns = 1760000000000001024u};
    struct handle h = call_start(s, st->v, &ch);
    uint64_t stopped[2] = {1760000000000002048u, 0};
    if (h.id && st->v >= 4) call_state(s, st->v, h, 22, stopped);
    stop(st, s, h);
  }
  stop(st, s, halves[1]);
  stop(st, s, halves[0]);
  stop(st, s, st->group);
  stop(st, s, st->group_api);
}

/* 3. Eight communicators, each on a thread of its own. */
struct member { struct stage *st; int number; pthread_t thread; };

static void *gather(void *arg) {
  struct member *m = arg;
  struct stage own = *m->st; /* what is written into it is this thread's */
  struct seat s;
  seat_open(&s, own.plugin, own.truth, 40 + m->number, 1);
  own.context[0] = own.context[m->number + 1];
  for (int k = 0; k < 50; k++) {
    own.group_api = simple(&own, &s, GroupApi, 0);
    own.group = simple(&own, &s, Group, 0);
    struct event e = coll_event(&own, "AllGather");
    e.parent = own.v >= 5 ? own.group_api.id : own.group.id;
    stop(&own, &s, call_start(&s, own.v, &e));
    stop(&own, &s, own.group);
    stop(&own, &s, own.group_api);
  }
  seat_close(&s);
  return NULL;
}

static void eight_threads(struct stage *st) {
  struct member all[8];
  for (int k = 0; k < 8; k++) {
    all[k] = (struct member){st, k, 0};
    if (pthread_create(&all[k].thread, NULL, gather, &all[k]) != 0) abort();
  }
  for (int k = 0; k < 8; k++) pthread_join(all[k].thread, NULL);
}

/* 4 and 11. A capture, with copy engines in it, and replays that show neither kernels nor API calls. */
static void capture(struct stage *st, struct seat *s) {
  struct event outer = {.type = GroupApi, .context = st->context[0], .depth = 1, .flag = 1};
  st->group_api = call_start(s, st->v, &outer);
  struct event api = {.type = CollApi, .context = st->context[0], .parent = st->group_api.id, .func = "AllGather", .datatype = "ncclInt8", .count = 4, .stream = 2, .flag = 1};
  st->coll_api = call_start(s, st->v, &api);
  stop(st, s, st->coll_api);
  struct event ce = {.type = CeColl, .context = st->context[0], .parent = st->coll_api.id, .rank = 3, .func = "AllGather", .datatype = "ncclInt8", .text = "UC", .stream = 2};
  stop(st, s, call_start(s, st->v, &ce));
  struct event launch = {.type = KernelLaunch, .context = st->context[0], .parent = st->group_api.id, .stream = 2};
  st->launch = call_start(s, st->v, &launch);
  stop(st, s, st->launch);
  stop(st, s, st->group_api);
}

static void silent_replays(struct stage *st, struct seat *s) {
  for (int k = 0; k < 20; k++) {
    st->group = simple(st, s, Group, 0);
    struct event e = coll_event(st, "AllGather"); /* the number stands still, the parent is the capture's */
    st->coll = call_start(s, st->v, &e);
    struct event op = {.type = ProxyOp, .context = st->context[0], .parent = st->coll.id, .rank = 3, .peer = 4, .steps = 1, .is_send = 1};
    st->op[1][0] = call_start(s, st->v, &op);
    one_step(st, s, 0, 1, 0);
    stop(st, s, st->coll);
    stop(st, s, st->op[1][0]); /* operations outlive their collective */
    stop(st, s, st->launch);   /* once more, after each replay */
    stop(st, s, st->group);
  }
}

/* With kernels recorded NCCL counts replays as well: the number goes on, the parent is still the capture's. */
static void counted_replays(struct stage *st, struct seat *s) {
  for (int k = 0; k < 20; k++) {
    st->seq++;
    struct event e = coll_event(st, "AllGather");
    st->coll = call_start(s, st->v, &e);
    kernels(st, s);
    stop(st, s, st->coll);
    stop(st, s, st->launch);
  }
}

/* 5. Another namespace of processes: the number of the process is ours, the context is not. */
static void same_number(struct stage *st, struct seat *s) {
  struct event e = {.type = ProxyOp, .context = 0x4321000000001111, .parent = 0x4321000000002222, .rank = 1, .pid = (int32_t)getpid(), .channel = 1, .peer = 4, .steps = 1};
  struct handle op = call_start(s, st->v, &e);
  struct event step = {.type = ProxyStep, .context = 0x4321000000001111, .parent = op.id, .rank = 1};
  struct handle h = call_start(s, st->v, &step);
  if (st->v >= 4) call_state(s, st->v, h, 10, NULL);
  stop(st, s, h);
  stop(st, s, op);
}

/* 7. A proxy operation before there is a collective, one after its end, and the stop of what was never begun. */
static void at_wrong_times(struct stage *st, struct seat *s) {
  struct event early = {.type = ProxyOp, .context = st->context[0], .parent = 0, .rank = 3, .peer = 2};
  struct handle a = call_start(s, st->v, &early);
  struct event coll = coll_event(st, "Reduce");
  struct handle c = call_start(s, st->v, &coll);
  stop(st, s, c);
  struct event late = {.type = ProxyOp, .context = st->context[0], .parent = c.id, .rank = 3, .peer = 2};
  struct handle b = call_start(s, st->v, &late);
  call_state(s, st->v, c, 19, NULL); /* of the wrong event, which has ended */
  stop(st, s, b);
  stop(st, s, a);
  call_stop(s, st->v, (struct handle){0x7777000000000123, 0});
  call_state(s, st->v, (struct handle){0x7777000000000123, 0}, 9, NULL);
}

/* 9. A host that lags: more kernels begin than the device has slots, stops come from newer ones, times repeat, and the clock is 3 s off. */
static void lag(struct stage *st, struct seat *s) {
  struct handle h[200];
  for (int k = 0; k < 200; k++) {
    struct event e = {.type = KernelCh, .context = st->context[0], .parent = st->coll.id, .channel = (uint8_t)(k % 2), .gpu_ns = 1760000000000000000u - 3000000000u + (uint64_t)(k / 70) * 1024};
    h[k] = call_start(s, st->v, &e);
  }
  for (int k = 0; k < 200; k++) {
    uint64_t stopped[2] = {1760000000000000000u + (uint64_t)(k / 90), 0};
    if (h[k].id && st->v >= 4) call_state(s, st->v, h[k], 22, stopped);
    stop(st, s, h[k]);
  }
}

/* 13. The mask changes within a collective, and types and states come that nobody knows. */
static void toggled(struct stage *st, struct seat *s) {
  int (*set_mask)(int, uint64_t) = (int (*)(int, uint64_t))dlsym(st->plugin->library, "prlx_nccl_set_mask");
  st->group_api = simple(st, s, GroupApi, 0);
  struct event coll = coll_event(st, "AllReduce");
  struct handle c = call_start(s, st->v, &coll);
  if (set_mask) set_mask(0, 0);
  struct event op = {.type = ProxyOp, .context = st->context[0], .parent = c.id, .rank = 3, .peer = 2};
  struct handle o = call_start(s, st->v, &op);
  if (set_mask) set_mask(65535, UINT64_MAX);
  stop(st, s, o); /* it was masked when it began */
  call_stop(s, st->v, c);
  stop(st, s, st->group_api);
  if (!set_mask) return; /* other plug-ins read beyond what such events have */
  static const uint64_t unknown[] = {0, 3, 1 << 20, UINT64_C(1) << 40};
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++) {
    struct event e = {.type = unknown[k], .context = st->context[0], .parent = c.id, .rank = 3};
    struct handle h = call_send(s, st->v, &e);
    uint64_t args[4] = {1, 2, 3, 4};
    call_state(s, st->v, h, 77, args);
    call_state(s, st->v, h, 0x40000000, NULL);
    call_stop(s, st->v, h);
  }
}

/* 6. What comes after finalize: the proxy thread of shared resources goes on with the context of the communicator that made them. */
void after_finalize(struct stage *st, struct seat *s) {
  struct event open = {.type = ProxyOp, .context = st->context[0], .parent = st->coll.id, .rank = 3, .peer = 2};
  st->op[0][0] = call_start(s, st->v, &open);
  call_finalize(s, st->v, st->context[0]);
  call_finalize(s, st->v, st->context[0]);
  struct handle ctrl = simple(st, s, ProxyCtrl, 0);
  call_state(s, st->v, ctrl, 13, NULL);
  call_state(s, st->v, ctrl, 14, NULL);
  stop(st, s, ctrl);
  one_step(st, s, 0, 0, 1); /* the operation was open, its children go on */
  stop(st, s, st->op[0][0]);
  for (int k = 0; k < 1000; k++) call_finalize(s, st->v, call_init(s, st->v, 1000 + (uint64_t)k, &nccl_mask, "short", 1, 2, 0));
}

void play_rare(struct stage *st) {
  together(st, pairs, User, NULL, 0);
  eight_threads(st);
  together(st, capture, User, NULL, 0);
  together(st, silent_replays, Host, same_number, Progress);
  together(st, counted_replays, Host, NULL, 0);
  together(st, at_wrong_times, Progress, lag, Kernel);
  together(st, toggled, User, NULL, 0);
}
