/* Graphs of launches, as capturing a stream makes them. What else may be in a graph ends its capture with an error. */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CAPTURES = 16 };
struct node { struct function *f; struct shape shape; void **values; }; /* what values point at stands behind them */
struct graph { struct node *nodes; int n, room, references; };
static struct { CUstream stream; struct graph *graph; int mode, invalid; pthread_t thread; } active[MOST_CAPTURES];
static int captures;
static __thread int thread_mode = CAPTURE_GLOBAL;

static int capture_of(CUstream stream) {
  for (int i = 0; i < captures; i++)
    if (active[i].stream == stream) return i;
  return -1;
}

CUresult not_captured(CUstream stream, const char *what) {
  HOLD;
  int i = capture_of(stream);
  if (i < 0) return CUDA_SUCCESS;
  active[i].invalid = 1;
  return failed(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s on a stream that is captured: graphs of the simulator hold launches", what);
}

CUresult safe_in_captures(const char *what) {
  int unsafe = 0;
  for (int i = 0; i < captures && thread_mode != CAPTURE_RELAXED; i++) {
    int mine = pthread_equal(active[i].thread, pthread_self());
    if (active[i].mode == CAPTURE_RELAXED || ((active[i].mode == CAPTURE_THREAD_LOCAL || thread_mode == CAPTURE_THREAD_LOCAL) && !mine)) continue;
    active[i].invalid = unsafe = 1;
  }
  return unsafe ? failed(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s while a stream is captured", what) : CUDA_SUCCESS;
}

static void forget(struct graph *g) {
  if (!g || --g->references > 0) return;
  for (int i = 0; i < g->n; i++) free(g->nodes[i].values);
  free(g->nodes);
  free(g);
}

static CUresult add(struct graph *g, struct function *f, const struct shape *s, void **values) {
  if (g->n == g->room) {
    int more = g->room ? 2 * g->room : 16;
    struct node *moved = realloc(g->nodes, (size_t)more * sizeof *moved);
    if (!moved) return CUDA_ERROR_OUT_OF_MEMORY;
    g->nodes = moved, g->room = more;
  }
  size_t bytes = (size_t)f->n * sizeof(void *);
  for (int i = 0; i < f->n; i++) bytes += (f->parameters[i].bytes + 7) & ~(size_t)7;
  void **copies = malloc(bytes + 1);
  if (!copies) return CUDA_ERROR_OUT_OF_MEMORY;
  char *at = (char *)(copies + f->n);
  for (int i = 0; i < f->n; i++) {
    copies[i] = memcpy(at, values[i], f->parameters[i].bytes);
    at += (f->parameters[i].bytes + 7) & ~(size_t)7;
  }
  g->nodes[g->n++] = (struct node){f, *s, copies};
  return CUDA_SUCCESS;
}

int captured(CUstream stream, struct function *f, const struct shape *s, void **values, CUresult *code) {
  int i = capture_of(stream);
  if (i < 0) return 0;
  *code = active[i].invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : add(active[i].graph, f, s, values);
  return 1;
}

API CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  HOLD;
  if ((uintptr_t)stream < 16) return failed(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a default stream is not captured");
  if (capture_of(stream) >= 0) return failed(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
  if (captures == MOST_CAPTURES || mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  struct graph *g = calloc(1, sizeof *g);
  if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
  g->references = 1;
  active[captures].stream = stream, active[captures].graph = g, active[captures].mode = mode, active[captures].invalid = 0;
  active[captures++].thread = pthread_self();
  return CUDA_SUCCESS;
}
API CUresult cuStreamBeginCapture(CUstream stream) { return cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL); }

API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  HOLD;
  int i = capture_of(stream);
  if (!graph || i < 0) return graph ? failed(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured") : CUDA_ERROR_INVALID_VALUE;
  int invalid = active[i].invalid;
  *graph = invalid ? NULL : active[i].graph;
  if (invalid) forget(active[i].graph);
  active[i] = active[--captures];
  return invalid ? failed(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "something came between the begin and the end of the capture") : CUDA_SUCCESS;
}

API CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  HOLD;
  if (!status) return CUDA_ERROR_INVALID_VALUE;
  int i = capture_of(stream);
  *status = i < 0 ? CAPTURE_NONE : active[i].invalid ? CAPTURE_INVALIDATED : CAPTURE_ACTIVE;
  return CUDA_SUCCESS;
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  if (!mode || *mode < CAPTURE_GLOBAL || *mode > CAPTURE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  int before = thread_mode;
  thread_mode = *mode, *mode = before;
  return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long f) {
  (void)f;
  HOLD;
  if (!made || !graph) return CUDA_ERROR_INVALID_VALUE;
  graph->references++;
  *made = graph;
  return CUDA_SUCCESS;
}
API CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  HOLD;
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  CUresult code = not_captured(stream, "a graph");
  for (int i = 0; i < graph->n && !code; i++) code = launch(graph->nodes[i].f, &graph->nodes[i].shape, stream, graph->nodes[i].values, NULL);
  return code;
}
API CUresult cuGraphDestroy(CUgraph graph) {
  HOLD;
  forget(graph);
  return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
API CUresult cuGraphExecDestroy(CUgraphExec graph) { return cuGraphDestroy(graph); }
