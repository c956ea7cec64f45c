/* Graphs: nodes with what they wait for. A launch does them one after the other, in an order that these dependencies allow. */
#define _GNU_SOURCE
#include "work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; struct graph *graph; const struct node *origin; struct work work; struct node **from; size_t count; void **values; int done, disabled; };
struct graph { struct node *first, **end; size_t count; };
typedef struct node *cudaGraphNode_t;
typedef struct graph *cudaGraph_t, *cudaGraphExec_t; /* an executable one is a copy that remembers its origin */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int held(void) { return pthread_mutex_lock(&lock); }
static void let_go(int *none) { (void)none; pthread_mutex_unlock(&lock); }
#define HOLD __attribute__((cleanup(let_go), unused)) int held_ = held()

/* ---- nodes ---- */

/* Copies the parameters of a kernel, whose sizes the driver knows. */
static cudaError_t own_values(struct node *n) {
  CUfunction f;
  struct cudaKernelNodeParams *k = &n->work.kernel;
  cudaError_t code = function_of(&f, k->func);
  if (code) return code;
  if (!k->kernelParams && k->extra) return done(cudaErrorNotSupported);
  size_t count = 0, bytes = 0, offset, size;
  while (cuFuncGetParamInfo(f, count, &offset, &size) == 0) count++, bytes += (size + 15) / 16 * 16;
  char *data = malloc(count * sizeof(void *) + 16 + bytes);
  if (!data) return done(cudaErrorMemoryAllocation);
  void **values = (void **)data;
  char *at = data + (count * sizeof(void *) + 15) / 16 * 16;
  for (size_t i = 0; i < count; i++) {
    cuFuncGetParamInfo(f, i, &offset, &size);
    values[i] = at;
    memcpy(at, k->kernelParams[i], size);
    at += (size + 15) / 16 * 16;
  }
  free(n->values);
  n->values = k->kernelParams = values;
  return cudaSuccess;
}

static cudaError_t add(cudaGraphNode_t *into, cudaGraph_t g, const cudaGraphNode_t *from, size_t count, const struct work *w) {
  HOLD;
  if (!g || (count && !from)) return done(cudaErrorInvalidValue);
  struct node *n = calloc(1, sizeof *n);
  if (!n || (count && !(n->from = calloc(count, sizeof *n->from)))) return free(n), done(cudaErrorMemoryAllocation);
  n->graph = g, n->work = *w, n->count = count;
  if (count) memcpy(n->from, from, count * sizeof *from);
  cudaError_t code = w->type == NODE_KERNEL ? own_values(n) : cudaSuccess;
  if (code) return free(n->from), free(n), code;
  *g->end = n, g->end = &n->next, g->count++;
  if (into) *into = n;
  return cudaSuccess;
}

static cudaGraph_t made(void) {
  cudaGraph_t g = calloc(1, sizeof *g);
  if (g) g->end = &g->first;
  return g;
}

static void destroy(cudaGraph_t g) {
  if (!g) return;
  for (struct node *n = g->first, *next; n; n = next) {
    next = n->next;
    if (n->work.type == NODE_GRAPH) destroy(n->work.child);
    free(n->values), free(n->from), free(n);
  }
  free(g);
}

static struct node *twin_of(cudaGraph_t g, const struct node *origin) {
  struct node *n = g->first;
  while (n && n->origin != origin) n = n->next;
  return n;
}

static cudaGraph_t copy_of(cudaGraph_t g) {
  cudaGraph_t copy = made();
  for (struct node *n = g->first; copy && n; n = n->next) {
    struct work w = n->work;
    struct node *twin;
    if (w.type == NODE_GRAPH && !(w.child = copy_of(w.child))) return NULL;
    if (add(&twin, copy, NULL, 0, &w)) return NULL;
    twin->origin = n, twin->disabled = n->disabled;
  }
  for (struct node *n = g->first, *twin = copy ? copy->first : NULL; twin; n = n->next, twin = twin->next) {
    twin->from = calloc(n->count + 1, sizeof *twin->from), twin->count = n->count;
    for (size_t i = 0; i < n->count; i++) twin->from[i] = twin_of(copy, n->from[i]);
  }
  return copy;
}

static cudaError_t run(cudaGraph_t g, cudaStream_t stream) {
  size_t left = g->count;
  for (struct node *n = g->first; n; n = n->next) n->done = 0;
  while (left) {
    size_t before = left;
    for (struct node *n = g->first; n; n = n->next) {
      int ready_now = !n->done;
      for (size_t i = 0; i < n->count && ready_now; i++) ready_now = n->from[i]->done;
      if (!ready_now) continue;
      cudaError_t code = n->disabled ? cudaSuccess : n->work.type == NODE_GRAPH ? run(n->work.child, stream) : perform(&n->work, stream);
      if (code) return code;
      n->done = 1, left--;
    }
    if (left == before) return done(cudaErrorInvalidValue); /* a circle */
  }
  return cudaSuccess;
}

/* ---- capture ---- */

enum { MOST_CAPTURES = 64 };
static struct capture { cudaStream_t stream, origin; cudaGraph_t graph; cudaGraphNode_t *last; size_t count; int given; } captures[MOST_CAPTURES];
static int capture_count;
static struct marked { struct marked *next; cudaEvent_t event; cudaStream_t origin; cudaGraph_t graph; cudaGraphNode_t *last; size_t count; } *marks;

static struct capture *capture_of(cudaStream_t stream) {
  for (int i = 0; i < capture_count; i++)
    if (captures[i].stream == stream) return &captures[i];
  return NULL;
}

static cudaError_t now_last(struct capture *c, const cudaGraphNode_t *list, size_t count) {
  cudaGraphNode_t *copy = malloc((count + 1) * sizeof *copy);
  if (!copy) return done(cudaErrorMemoryAllocation);
  if (count) memcpy(copy, list, count * sizeof *copy);
  free(c->last);
  c->last = copy, c->count = count;
  return cudaSuccess;
}

static struct capture *begin(cudaStream_t stream, cudaStream_t origin, cudaGraph_t g) {
  if (capture_count == MOST_CAPTURES || !g) return NULL;
  captures[capture_count] = (struct capture){stream, origin, g, NULL, 0, 0};
  return &captures[capture_count++];
}

static void drop(cudaStream_t origin) {
  for (int i = 0; i < capture_count;)
    if (captures[i].origin == origin) free(captures[i].last), captures[i] = captures[--capture_count];
    else i++;
  for (struct marked **m = &marks; *m;) {
    struct marked *gone = *m;
    if (gone->origin != origin) m = &gone->next;
    else *m = gone->next, free(gone->last), free(gone);
  }
}

cudaError_t enqueue(cudaStream_t stream, const struct work *w) {
  HOLD;
  struct capture *c = capture_count ? capture_of(stream) : NULL;
  cudaGraphNode_t n;
  if (!c) return perform(w, stream);
  cudaError_t code = add(&n, c->graph, c->last, c->count, w);
  return code ? code : now_last(c, &n, 1);
}

/* An event in a capture stands for what its stream has done so far; a stream that waits for it takes part in the capture. */
int captured_event(cudaEvent_t event, cudaStream_t stream) {
  HOLD;
  struct capture *c = capture_count ? capture_of(stream) : NULL;
  if (!c) return 0;
  struct marked *m = marks;
  while (m && m->event != event) m = m->next;
  if (!m && !(m = calloc(1, sizeof *m))) return 1;
  if (!m->event) m->next = marks, marks = m;
  m->event = event, m->origin = c->origin, m->graph = c->graph, m->count = c->count;
  m->last = realloc(m->last, (c->count + 1) * sizeof *m->last);
  if (c->count && m->last) memcpy(m->last, c->last, c->count * sizeof *m->last);
  return 1;
}
int captured_wait(cudaStream_t stream, cudaEvent_t event) {
  HOLD;
  struct marked *m = marks;
  while (m && m->event != event) m = m->next;
  if (!m) return 0;
  struct capture *c = capture_of(stream);
  if (!c && !(c = begin(stream, m->origin, m->graph))) return 0;
  cudaGraphNode_t *all = malloc((c->count + m->count + 1) * sizeof *all);
  size_t n = 0;
  for (size_t i = 0; all && i < c->count; i++) all[n++] = c->last[i];
  for (size_t i = 0; all && i < m->count; i++) {
    size_t j = 0;
    while (j < n && all[j] != m->last[i]) j++;
    if (j == n) all[n++] = m->last[i];
  }
  if (all) now_last(c, all, n);
  free(all);
  return 1;
}

API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t g, const cudaGraphNode_t *from, const void *edges, size_t count, int mode) {
  HOLD;
  (void)edges;
  if (mode < 0 || mode > 2 || !g) return done(cudaErrorInvalidValue);
  if (!stream || capture_of(stream)) return done(stream ? cudaErrorInvalidValue : 900 /* cudaErrorStreamCaptureUnsupported: the default stream */);
  struct capture *c = begin(stream, stream, g);
  if (c) c->given = 1;
  return c ? now_last(c, from, count) : done(cudaErrorMemoryAllocation);
}
API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  HOLD;
  cudaGraph_t g = made();
  cudaError_t code = g ? cudaStreamBeginCaptureToGraph(stream, g, NULL, NULL, 0, mode) : done(cudaErrorMemoryAllocation);
  if (code) free(g);
  else capture_of(stream)->given = 0;
  return code;
}
API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *into) {
  HOLD;
  struct capture *c = capture_of(stream);
  if (!into || !c || c->origin != stream) return done(into && c ? 905 /* cudaErrorStreamCaptureUnmatched... of a stream that joined */ : cudaErrorInvalidValue);
  *into = c->graph;
  drop(stream);
  return cudaSuccess;
}
API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status) {
  HOLD;
  if (!status) return done(cudaErrorInvalidValue);
  *status = capture_of(stream) ? 1 : 0;
  return cudaSuccess;
}
static cudaError_t info(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **last, const void **edges, size_t *count) {
  HOLD;
  struct capture *c = capture_of(stream);
  if (!status) return done(cudaErrorInvalidValue);
  *status = c ? 1 : 0;
  if (c && id) *id = (unsigned long long)(uintptr_t)c->graph;
  if (c && g) *g = c->graph;
  if (c && last) *last = c->last;
  if (edges) *edges = NULL;
  if (c && count) *count = c->count;
  return cudaSuccess;
}
static cudaError_t depend(cudaStream_t stream, cudaGraphNode_t *list, size_t count, unsigned flags) {
  HOLD;
  struct capture *c = capture_of(stream);
  if (!c || flags > 1 || (count && !list)) return done(cudaErrorInvalidValue);
  if (flags == 1) return now_last(c, list, count); /* instead of those that are there; else beside them */
  cudaGraphNode_t *all = malloc((c->count + count + 1) * sizeof *all);
  if (!all) return done(cudaErrorMemoryAllocation);
  memcpy(all, c->last, c->count * sizeof *all), memcpy(all + c->count, list, count * sizeof *all);
  cudaError_t code = now_last(c, all, c->count + count);
  free(all);
  return code;
}

/* ---- graphs by hand ---- */

API cudaError_t cudaGraphCreate(cudaGraph_t *g, unsigned flags) { return done(!g || flags ? cudaErrorInvalidValue : (*g = made()) ? cudaSuccess : cudaErrorMemoryAllocation); }
API cudaError_t cudaGraphDestroy(cudaGraph_t g) { HOLD; destroy(g); return done(g ? cudaSuccess : cudaErrorInvalidValue); }
API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) { return cudaGraphDestroy(g); }
API cudaError_t cudaGraphClone(cudaGraph_t *into, cudaGraph_t g) { HOLD; return done(!into || !g ? cudaErrorInvalidValue : (*into = copy_of(g)) ? cudaSuccess : cudaErrorMemoryAllocation); }
API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *into, cudaGraph_t g, unsigned long long flags) { (void)flags; return cudaGraphClone(into, g); }
API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *into, cudaGraph_t g, unsigned long long flags) { return cudaGraphInstantiate(into, g, flags); }
API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *into, cudaGraph_t g, void *params) { (void)params; return cudaGraphInstantiate(into, g, 0); }
API cudaError_t cudaGraphUpload(cudaGraphExec_t g, cudaStream_t stream) { (void)stream; return done(g ? cudaSuccess : cudaErrorInvalidValue); }
API cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t stream) {
  HOLD;
  cudaError_t code = ready();
  if (code || !g) return code ? code : done(cudaErrorInvalidValue);
  if (!capture_of(stream)) return run(g, stream);
  struct work w = {.type = NODE_GRAPH, .child = copy_of(g)};
  return enqueue(stream, &w);
}
API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *into, cudaGraphNode_t n, cudaGraph_t clone) { HOLD; return done(!into || !n || !clone ? cudaErrorInvalidValue : (*into = twin_of(clone, n)) ? cudaSuccess : cudaErrorInvalidValue); }

#define NODE(name, type_, parameters, ...) \
  API cudaError_t name parameters { \
    struct work w = {.type = type_}; \
    __VA_ARGS__; \
    return add(n, g, from, count, &w); \
  }
#define PLACE cudaGraphNode_t *n, cudaGraph_t g, const cudaGraphNode_t *from, size_t count
NODE(cudaGraphAddEmptyNode, NODE_EMPTY, (PLACE), (void)0)
NODE(cudaGraphAddHostNode, NODE_HOST, (PLACE, const struct cudaHostNodeParams *p), if (!p) return done(cudaErrorInvalidValue); w.host = *p)
NODE(cudaGraphAddKernelNode, NODE_KERNEL, (PLACE, const struct cudaKernelNodeParams *p), if (!p) return done(cudaErrorInvalidValue); w.kernel = *p)
NODE(cudaGraphAddMemcpyNode, NODE_COPY, (PLACE, const struct cudaMemcpy3DParms *p), if (!p) return done(cudaErrorInvalidValue); w.copy = *p)
NODE(cudaGraphAddMemcpyNode1D, NODE_COPY, (PLACE, void *to, const void *p, size_t bytes, int kind), w.copy = row_of(to, p, bytes, kind))
NODE(cudaGraphAddMemsetNode, NODE_FILL, (PLACE, const struct cudaMemsetParams *p), if (!p) return done(cudaErrorInvalidValue); w.fill = *p)
NODE(cudaGraphAddEventRecordNode, NODE_RECORD, (PLACE, cudaEvent_t event), w.event = event)
NODE(cudaGraphAddEventWaitNode, NODE_WAIT, (PLACE, cudaEvent_t event), w.event = event)
NODE(cudaGraphAddChildGraphNode, NODE_GRAPH, (PLACE, cudaGraph_t child), if (!child || !(w.child = copy_of(child))) return done(cudaErrorInvalidValue))
NODE(cudaGraphAddMemcpyNodeToSymbol, NODE_COPY, (PLACE, const void *symbol, const void *p, size_t bytes, size_t offset, int kind),
     char *at; cudaError_t code = symbol_at(&at, symbol, bytes, offset); if (code) return code; w.copy = row_of(at, p, bytes, kind))
NODE(cudaGraphAddMemcpyNodeFromSymbol, NODE_COPY, (PLACE, void *to, const void *symbol, size_t bytes, size_t offset, int kind),
     char *at; cudaError_t code = symbol_at(&at, symbol, bytes, offset); if (code) return code; w.copy = row_of(to, at, bytes, kind))

/* Memory of graphs has its address when its node is added, and lasts as long as the process. */
static struct { char *at; size_t bytes; } *lasting;
static size_t lasting_count;
int of_graph(const void *p) {
  for (size_t i = 0; i < lasting_count; i++)
    if ((const char *)p >= lasting[i].at && (const char *)p < lasting[i].at + lasting[i].bytes) return 1;
  return 0;
}
static cudaError_t last_for_ever(void **into, size_t bytes) {
  CUdeviceptr at = 0;
  cudaError_t code = cuMemAlloc_v2(&at, bytes);
  void *more = code ? NULL : realloc(lasting, (lasting_count + 1) * sizeof *lasting);
  if (!more) return done(code ? code : cudaErrorMemoryAllocation);
  prlx_cuda_keep(at);
  lasting = more, lasting[lasting_count].at = (char *)(uintptr_t)at, lasting[lasting_count++].bytes = bytes;
  *into = (void *)(uintptr_t)at;
  return cudaSuccess;
}
API cudaError_t cudaGraphAddMemAllocNode(PLACE, struct cudaMemAllocNodeParams *p) {
  HOLD;
  struct work w = {.type = NODE_ALLOCATION};
  cudaError_t code = p ? last_for_ever(&p->dptr, p->bytesize) : done(cudaErrorInvalidValue);
  if (!code) w.memory = p->dptr, w.bytes = p->bytesize;
  return code ? code : add(n, g, from, count, &w);
}
API cudaError_t cudaGraphAddMemFreeNode(PLACE, void *p) {
  struct work w = {.type = NODE_FREE, .memory = p};
  return of_graph(p) ? add(n, g, from, count, &w) : done(cudaErrorInvalidValue);
}
/* Memory of cudaMallocAsync in a capture is the graph's. */
int captured_allocation(void **into, size_t bytes, cudaStream_t stream, cudaError_t *code) {
  HOLD;
  if (!capture_count || !capture_of(stream)) return 0;
  struct work w = {.type = NODE_ALLOCATION};
  *code = last_for_ever(into, bytes);
  if (!*code) w.memory = *into, w.bytes = bytes, *code = enqueue(stream, &w);
  return 1;
}

struct general { int type, reserved0[3]; union { long long room[29]; struct cudaKernelNodeParams kernel; struct { int flags, reserved[3]; struct cudaMemcpy3DParms copy; } copy; struct cudaMemsetParams fill; struct cudaHostNodeParams host; cudaGraph_t child; cudaEvent_t event; struct cudaMemAllocNodeParams memory; void *freed; } of; };
static cudaError_t add_general(PLACE, struct general *p) {
  switch (p ? p->type : -1) {
  case NODE_KERNEL: return cudaGraphAddKernelNode(n, g, from, count, &p->of.kernel);
  case NODE_COPY: return cudaGraphAddMemcpyNode(n, g, from, count, &p->of.copy.copy);
  case NODE_FILL: return cudaGraphAddMemsetNode(n, g, from, count, &p->of.fill);
  case NODE_HOST: return cudaGraphAddHostNode(n, g, from, count, &p->of.host);
  case NODE_GRAPH: return cudaGraphAddChildGraphNode(n, g, from, count, p->of.child);
  case NODE_EMPTY: return cudaGraphAddEmptyNode(n, g, from, count);
  case NODE_WAIT: return cudaGraphAddEventWaitNode(n, g, from, count, p->of.event);
  case NODE_RECORD: return cudaGraphAddEventRecordNode(n, g, from, count, p->of.event);
  case NODE_ALLOCATION: return cudaGraphAddMemAllocNode(n, g, from, count, &p->of.memory);
  case NODE_FREE: return cudaGraphAddMemFreeNode(n, g, from, count, p->of.freed);
  }
  tell("cudaGraphAddNode: conditional nodes and semaphores", cudaErrorNotSupported);
  return done(p ? cudaErrorNotSupported : cudaErrorInvalidValue);
}

/* ---- what a graph is asked, and changes of it ---- */

static cudaError_t listed(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *count, int roots) {
  HOLD;
  size_t n = 0, room = nodes && count ? *count : 0;
  if (!g || !count) return done(cudaErrorInvalidValue);
  for (struct node *one = g->first; one; one = one->next)
    if (!roots || one->count == 0) {
      if (n < room) nodes[n] = one;
      n++;
    }
  for (size_t i = n; i < room; i++) nodes[i] = NULL;
  *count = nodes && n > room ? room : n;
  return cudaSuccess;
}
API cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *count) { return listed(g, nodes, count, 0); }
API cudaError_t cudaGraphGetRootNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *count) { return listed(g, nodes, count, 1); }
API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t n, int *type) { return n && type ? (*type = n->work.type, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t n, struct cudaKernelNodeParams *p) { return n && p ? (*p = n->work.kernel, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t n, struct cudaMemcpy3DParms *p) { return n && p ? (*p = n->work.copy, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t n, struct cudaMemsetParams *p) { return n && p ? (*p = n->work.fill, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t n, struct cudaHostNodeParams *p) { return n && p ? (*p = n->work.host, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t n, cudaGraph_t *g) { return n && g ? (*g = n->work.child, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t n, int id, const void *value) {
  if (!n || !value || n->work.attribute_count == 4) return done(cudaErrorInvalidValue);
  cudaLaunchAttribute *a = &n->work.attributes[n->work.attribute_count++];
  a->id = id, memcpy(&a->value, value, sizeof a->value);
  return cudaSuccess;
}

static cudaError_t change(cudaGraphNode_t n, int type) { return done(n && n->work.type == type ? cudaSuccess : cudaErrorInvalidValue); }
static cudaError_t changed_kernel(cudaGraphNode_t n, const struct cudaKernelNodeParams *p) {
  HOLD;
  cudaError_t code = p ? change(n, NODE_KERNEL) : done(cudaErrorInvalidValue);
  if (code) return code;
  n->work.kernel = *p;
  return own_values(n);
}
API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t n, const struct cudaKernelNodeParams *p) { return changed_kernel(n, p); }
API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t n, const struct cudaMemcpy3DParms *p) { cudaError_t code = p ? change(n, NODE_COPY) : done(cudaErrorInvalidValue); if (!code) n->work.copy = *p; return code; }
API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t n, void *to, const void *from, size_t bytes, int kind) { cudaError_t code = change(n, NODE_COPY); if (!code) n->work.copy = row_of(to, from, bytes, kind); return code; }
API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t n, const struct cudaMemsetParams *p) { cudaError_t code = p ? change(n, NODE_FILL) : done(cudaErrorInvalidValue); if (!code) n->work.fill = *p; return code; }
API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t n, const struct cudaHostNodeParams *p) { cudaError_t code = p ? change(n, NODE_HOST) : done(cudaErrorInvalidValue); if (!code) n->work.host = *p; return code; }
static cudaGraphNode_t in(cudaGraphExec_t g, cudaGraphNode_t n) { HOLD; return g && n ? twin_of(g, n) : NULL; }
API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t g, cudaGraphNode_t n, const struct cudaKernelNodeParams *p) { return changed_kernel(in(g, n), p); }
API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t g, cudaGraphNode_t n, const struct cudaMemcpy3DParms *p) { return cudaGraphMemcpyNodeSetParams(in(g, n), p); }
API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t g, cudaGraphNode_t n, void *to, const void *from, size_t bytes, int kind) { return cudaGraphMemcpyNodeSetParams1D(in(g, n), to, from, bytes, kind); }
API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t g, cudaGraphNode_t n, const struct cudaMemsetParams *p) { return cudaGraphMemsetNodeSetParams(in(g, n), p); }
API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t g, cudaGraphNode_t n, const struct cudaHostNodeParams *p) { return cudaGraphHostNodeSetParams(in(g, n), p); }
API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t g, cudaGraphNode_t n, unsigned enabled) { n = in(g, n); return n ? (n->disabled = !enabled, cudaSuccess) : done(cudaErrorInvalidValue); }
API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t g, cudaGraphNode_t n, unsigned *enabled) { n = in(g, n); return n && enabled ? (*enabled = !n->disabled, cudaSuccess) : done(cudaErrorInvalidValue); }

/* An executable graph takes the parameters of another one with the same nodes. */
struct result { int result; cudaGraphNode_t node, from; };
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t g, cudaGraph_t by, struct result *r) {
  HOLD;
  if (!g || !by || !r) return done(cudaErrorInvalidValue);
  *r = (struct result){0, NULL, NULL};
  struct node *to = g->first, *from = by->first;
  for (; to && from; to = to->next, from = from->next) {
    if (to->work.type != from->work.type) r->result = 3, r->node = from;
    else if (to->count != from->count) r->result = 2, r->node = from;
    if (r->result) return done(910 /* cudaErrorGraphExecUpdateFailure */);
  }
  if (to || from) return r->result = 2, done(910);
  for (to = g->first, from = by->first; to; to = to->next, from = from->next) {
    struct graph *child = to->work.child;
    to->work = from->work, to->origin = from;
    if (to->work.type == NODE_GRAPH) destroy(child), to->work.child = copy_of(from->work.child);
    if (to->work.type == NODE_KERNEL && own_values(to)) return done(910);
  }
  return cudaSuccess;
}

static cudaError_t connect(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) {
  HOLD;
  if (!g || (count && (!from || !to))) return done(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; i++) {
    struct node **more = realloc(to[i]->from, (to[i]->count + 1) * sizeof *more);
    if (!more) return done(cudaErrorMemoryAllocation);
    to[i]->from = more, more[to[i]->count++] = from[i];
  }
  return cudaSuccess;
}
static cudaError_t edges_of(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
  HOLD;
  size_t n = 0, room = from && to && count ? *count : 0;
  if (!g || !count) return done(cudaErrorInvalidValue);
  for (struct node *one = g->first; one; one = one->next)
    for (size_t i = 0; i < one->count; i++, n++)
      if (n < room) from[n] = one->from[i], to[n] = one;
  *count = room && n > room ? room : n;
  return cudaSuccess;
}
static cudaError_t dependencies_of(cudaGraphNode_t n, cudaGraphNode_t *list, size_t *count) {
  if (!n || !count) return done(cudaErrorInvalidValue);
  for (size_t i = 0; list && i < *count; i++) list[i] = i < n->count ? n->from[i] : NULL;
  *count = list && n->count > *count ? *count : n->count;
  return cudaSuccess;
}
API cudaError_t cudaDeviceGraphMemTrim(int device) { return done(device ? cudaErrorInvalidDevice : cudaSuccess); }
API cudaError_t cudaDeviceSetGraphMemAttribute(int device, int which, void *value) { (void)which, (void)value; return cudaDeviceGraphMemTrim(device); }
API cudaError_t cudaDeviceGetGraphMemAttribute(int device, int which, void *value) {
  uint64_t bytes = 0;
  if (device || !value || which < 0 || which > 3) return done(cudaErrorInvalidValue);
  for (size_t i = 0; i < lasting_count; i++) bytes += lasting[i].bytes;
  memcpy(value, &bytes, sizeof bytes);
  return cudaSuccess;
}

/* From 13 on functions that speak of edges take what edges are; before they have a second name for that. */
#if CUDART_MAJOR < 13
#define WITH_EDGES(name) name##_v2
API cudaError_t cudaGraphAddNode(PLACE, struct general *p) { return add_general(n, g, from, count, p); }
API cudaError_t cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) { return connect(g, from, to, count); }
API cudaError_t cudaGraphGetEdges(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) { return edges_of(g, from, to, count); }
API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t n, cudaGraphNode_t *list, size_t *count) { return dependencies_of(n, list, count); }
API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *list, size_t count, unsigned flags) { return depend(stream, list, count, flags); }
API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **last, size_t *count) { return info(stream, status, id, g, last, NULL, count); }
API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **last, const void **edges, size_t *count) { return info(stream, status, id, g, last, edges, count); }
#else
#define WITH_EDGES(name) name
API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *g, const cudaGraphNode_t **last, const void **edges, size_t *count) { return info(stream, status, id, g, last, edges, count); }
#endif
API cudaError_t WITH_EDGES(cudaGraphAddNode)(cudaGraphNode_t *n, cudaGraph_t g, const cudaGraphNode_t *from, const void *edges, size_t count, struct general *p) { (void)edges; return add_general(n, g, from, count, p); }
API cudaError_t WITH_EDGES(cudaGraphAddDependencies)(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const void *edges, size_t count) { (void)edges; return connect(g, from, to, count); }
API cudaError_t WITH_EDGES(cudaGraphGetEdges)(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, void *edges, size_t *count) { (void)edges; return edges_of(g, from, to, count); }
API cudaError_t WITH_EDGES(cudaGraphNodeGetDependencies)(cudaGraphNode_t n, cudaGraphNode_t *list, void *edges, size_t *count) { (void)edges; return dependencies_of(n, list, count); }
API cudaError_t WITH_EDGES(cudaStreamUpdateCaptureDependencies)(cudaStream_t stream, cudaGraphNode_t *list, const void *edges, size_t count, unsigned flags) { (void)edges; return depend(stream, list, count, flags); }

PER_THREAD(cudaGraphLaunch, _ptsz);
PER_THREAD(cudaStreamBeginCapture, _ptsz);
PER_THREAD(cudaStreamEndCapture, _ptsz);
PER_THREAD(cudaStreamIsCapturing, _ptsz);
