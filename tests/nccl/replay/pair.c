/* PXN between two processes, for real: one schedules collectives, the other has the network and does their sends. All that goes from the one to
 * the other is what NCCL hands over: an opaque context, an opaque parent and the number of the process. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

struct handed { uint64_t context, parent; int32_t pid, rank; };

enum { pair_channels = 2, pair_steps = 8 };

static void whole(ssize_t n, size_t want) {
  if (n != (ssize_t)want) abort();
}

static struct event pair_op(uint64_t context, uint64_t parent, int32_t pid, int32_t rank, int channel, int is_send) {
  return (struct event){.type = ProxyOp, .context = context, .parent = parent, .rank = rank, .pid = pid, .channel = (uint8_t)channel, .peer = is_send ? 4 : 2, .steps = pair_steps, .chunk = 1 << 19, .is_send = is_send};
}

/* A proxy operation with its steps, of which the last stays open where `hangs`. */
static void pair_moves(struct seat *s, const struct event *meant, int hangs) {
  int v = s->plugin->newest;
  uint64_t size[2] = {65536, 0};
  struct handle op = call_start(s, v, meant);
  call_state(s, v, op, 19, NULL);
  for (int k = 0; k < pair_steps; k++) {
    struct event e = {.type = ProxyStep, .context = meant->context, .parent = op.id, .rank = meant->rank, .step = k};
    struct handle step = call_start(s, v, &e);
    call_state(s, v, step, meant->is_send ? 8 : 10, size);
    call_state(s, v, step, meant->is_send ? 9 : 11, size);
    if (hangs && k == pair_steps - 1) return;
    call_stop(s, v, step);
  }
  call_stop(s, v, op);
}

/* Schedules collectives and receives; hands its sends over. Its collective ends when the other process says so. */
static int pair_owner(struct plugin *p, const char *truth, int colls, int to) {
  struct seat s;
  seat_open(&s, p, truth, 0, 1);
  int v = p->newest;
  uint64_t context = call_init(&s, v, 7, &nccl_mask, "world", 2, 8, 3);
  for (int k = 0; k < colls; k++) {
    struct event e = {.type = Coll, .context = context, .rank = 3, .seq = (uint64_t)k, .count = 1 << 20, .func = "AllReduce", .datatype = "ncclFloat32", .algo = "RING", .proto = "SIMPLE", .channels = pair_channels, .warps = 16};
    struct handle coll = call_start(&s, v, &e);
    struct handed h = {context, coll.id, (int32_t)getpid(), 3};
    whole(write(to, &h, sizeof h), sizeof h);
    for (int c = 0; c < pair_channels; c++) {
      struct event op = pair_op(context, coll.id, (int32_t)getpid(), 3, c, 0);
      pair_moves(&s, &op, 0);
    }
    char done;
    whole(read(to, &done, 1), 1);
    call_stop(&s, v, coll);
  }
  seat_close(&s);
  return 0;
}

/* Has collectives of its own, and does the sends of the other process, which may be gone before it has done them. The last one hangs. */
static int pair_doer(struct plugin *p, const char *truth, int colls, int from) {
  struct seat s;
  struct handed h;
  seat_open(&s, p, truth, 1, 1);
  int v = p->newest;
  uint64_t context = call_init(&s, v, 7, &nccl_mask, "world", 2, 8, 4);
  for (int k = 0; k < colls; k++) {
    struct event e = {.type = Coll, .context = context, .rank = 4, .seq = (uint64_t)k, .count = 1 << 20, .func = "AllReduce", .datatype = "ncclFloat32", .algo = "RING", .proto = "SIMPLE", .channels = pair_channels, .warps = 16};
    struct handle coll = call_start(&s, v, &e);
    whole(read(from, &h, sizeof h), sizeof h);
    struct event own = pair_op(context, coll.id, (int32_t)getpid(), 4, 0, 1);
    pair_moves(&s, &own, 0);
    whole(write(from, "", 1), 1);
    for (int c = 0; c < pair_channels; c++) {
      struct event op = pair_op(h.context, h.parent, h.pid, h.rank, c, 1);
      pair_moves(&s, &op, k == colls - 1 && c == pair_channels - 1);
    }
    call_stop(&s, v, coll);
  }
  seat_close(&s);
  return 0;
}

/* pair TRUTH COLLECTIVES: prints the numbers of the process whose operations they are and of the one that does their sends. */
int mode_pair(struct plugin *p, char **args) {
  int ends[2], colls = atoi(args[1]), failed = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  pid_t who[2];
  for (int k = 0; k < 2; k++) {
    who[k] = fork(); /* before the first communicator: each is a process of NCCL's */
    if (who[k] < 0) return 1;
    if (who[k] > 0) continue;
    char truth[4096];
    snprintf(truth, sizeof truth, "%s-%s", args[0], k ? "doer" : "owner");
    close(ends[1 - k]);
    exit((k ? pair_doer : pair_owner)(p, truth, colls, ends[k]));
  }
  close(ends[0]);
  close(ends[1]);
  for (int k = 0; k < 2; k++) {
    int status = 1;
    if (waitpid(who[k], &status, 0) != who[k] || status != 0) failed = 1;
  }
  printf("%d %d\n", (int)who[0], (int)who[1]);
  return failed;
}
