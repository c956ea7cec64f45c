/* Launches run when they are called, and are over when the call returns: an order that streams allow. */
#include "modules.h"

#include <stdlib.h>
#include <string.h>

/* The parameters of a launch, in JSON: which of them are pointers only their values tell. */
static void say_parameters(struct text *t, const struct function *f, void **values) {
  for (int i = 0; i < f->n; i++) {
    const struct parameter *p = &f->parameters[i];
    uint64_t bits = 0;
    say(t, "%s{\"name\": ", i ? ", " : "");
    say_quoted(t, p->name, strlen(p->name));
    if (p->bytes <= 8) {
      memcpy(&bits, values[i], p->bytes);
      say(t, ", \"bits\": %llu, \"allocation\": %d}", (unsigned long long)bits, p->bytes == 8 ? -2 : -1);
    } else {
      say(t, ", \"allocation\": -1, \"data\": ");
      say_base64(t, values[i], p->bytes);
      say(t, "}");
    }
  }
}

/* What a GPU makes of what a check found; success where it would go on. */
static CUresult code_of(const char *check) {
  static const struct { const char *check; CUresult code; } codes[] = {
      {"out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS}, {"use-after-free", CUDA_ERROR_ILLEGAL_ADDRESS}, {"null-pointer", CUDA_ERROR_ILLEGAL_ADDRESS},
      {"read-only-write", CUDA_ERROR_ILLEGAL_ADDRESS}, {"bad-texture", CUDA_ERROR_ILLEGAL_ADDRESS}, {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS}, {"assert", CUDA_ERROR_ASSERT},
      {"trap", CUDA_ERROR_LAUNCH_FAILED}, {"stack-overflow", CUDA_ERROR_LAUNCH_FAILED}, {"bad-call", CUDA_ERROR_LAUNCH_FAILED},
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (strcmp(codes[i].check, check) == 0) return codes[i].code;
  return CUDA_SUCCESS;
}

/* What the findings of a launch are to its caller: accesses that a GPU faults on and waiting without end are its error, anything else is told, unless somebody does that at
 * the end. */
static CUresult found(const char *document) {
  const char *list = value_of(document, "findings");
  char check[64] = "", message[900] = "";
  for (const char *f = list ? list + 1 : ""; *f == '{'; f = *after(f) == ',' ? after(f) + 1 : "") {
    char file[200] = "";
    string_of(value_of(f, "check"), check, sizeof check);
    string_of(value_of(f, "message"), message, sizeof message);
    string_of(value_of(f, "file"), file, sizeof file);
    long long line = number_of(f, "line", 0);
    CUresult code = code_of(check);
    if (strcmp(check, "deadlock") == 0 && strncmp(message, "the launch hangs", 16) == 0) code = CUDA_ERROR_LAUNCH_TIMEOUT;
    const char *name = strrchr(file, '/');
    if (code) return line > 0 ? failed(code, "%s %s:%lld: %s", check, name ? name + 1 : file, line, message) : failed(code, "%s: %s", check, message);
    if (!watched()) fprintf(stderr, "prlx: %s %s:%lld: %s\n", check, name ? name + 1 : file, line, message);
  }
  return CUDA_SUCCESS;
}

/* What the kernel printed goes where programs print. */
static void printed(const char *document) {
  const char *output = value_of(document, "output");
  size_t room = output ? (size_t)(after(output) - output) + 1 : 0;
  char *text = room > 3 ? malloc(room) : NULL;
  if (text && string_of(output, text, room)) {
    fputs(text, stdout);
    fflush(stdout);
  }
  free(text);
}

CUresult launch(struct function *f, const struct shape *s, CUstream stream, void **values, void **extra) {
  HOLD;
  long long table;
  if (!f) return failed(CUDA_ERROR_INVALID_HANDLE, "a launch of no function");
  void *packed[MOST_PARAMETERS];
  if (!values && extra) { /* all parameters in one buffer, each where its size aligns it */
    char *buffer = NULL;
    for (int i = 0; extra[i]; i += 2)
      if (extra[i] == (void *)1) buffer = extra[i + 1];
    size_t at = 0;
    for (int i = 0; buffer && i < f->n; i++) {
      size_t align = f->parameters[i].align;
      at = (at + align - 1) / align * align;
      packed[i] = buffer + at;
      at += f->parameters[i].bytes;
    }
    values = buffer ? packed : NULL;
  }
  if (!values && f->n > 0) return failed(CUDA_ERROR_INVALID_VALUE, "%s has %d parameters, and was launched without one", f->name, f->n);
  for (int i = 0; i < f->n; i++)
    if (!values[i]) return failed(CUDA_ERROR_INVALID_VALUE, "%s: nothing was passed for parameter %d", f->name, i);
  CUresult code = CUDA_SUCCESS;
  if (captured(stream, f, s, values, &code)) return code;
  code = arrays_told(&table);
  if (!code) code = variables_moved(f->module, 1);
  if (code) return code;
  struct text t = {0};
  say(&t, "{\"module\": %lld, \"table\": %lld, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"cluster\": [%u, %u, %u], \"shared_bytes\": %u, \"counts\": false, \"kernel\": ", f->module->id, table, s->grid[0],
      s->grid[1], s->grid[2], s->block[0], s->block[1], s->block[2], s->cluster[0], s->cluster[1], s->cluster[2], s->shared);
  say_quoted(&t, f->name, strlen(f->name));
  const char *called = called_of(f);
  say(&t, ", \"called\": ");
  say_quoted(&t, called, strlen(called));
  say(&t, ", \"params\": [");
  say_parameters(&t, f, values);
  say(&t, "]}");
  char *reply = t.at ? ask_text("simulate_launch", t.at, t.n) : NULL;
  free(t.at);
  if (!reply || *reply) {
    static const struct { const char *kind; CUresult code; } codes[] = {{"incompatible", CUDA_ERROR_NOT_SUPPORTED}, {"limit", CUDA_ERROR_LAUNCH_TIMEOUT}, {"usage", CUDA_ERROR_INVALID_VALUE}};
    code = CUDA_ERROR_LAUNCH_FAILED;
    for (size_t i = 0; reply && i < sizeof codes / sizeof *codes; i++)
      if (is(reply + 1, "kind", codes[i].kind)) code = codes[i].code;
    return refused(reply, code);
  }
  clock_ns += 200000000 + 1000 * (uint64_t)number_of(reply + 1, "instructions", 0); /* benchmarks repeat what is short */
  printed(reply + 1);
  code = found(reply + 1);
  free(reply);
  CUresult back = variables_moved(f->module, 0);
  return code ? code : back;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **values, void **extra) {
  struct shape s = {{gx, gy, gz}, {bx, by, bz}, {0, 0, 0}, shared};
  return launch(f, &s, stream, values, extra);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **values, void **extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  struct shape s = {{config->gridDimX, config->gridDimY, config->gridDimZ}, {config->blockDimX, config->blockDimY, config->blockDimZ}, {0, 0, 0}, config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == LAUNCH_CLUSTER_DIMENSION) s.cluster[0] = config->attrs[i].value.cluster.x, s.cluster[1] = config->attrs[i].value.cluster.y, s.cluster[2] = config->attrs[i].value.cluster.z;
  if (s.cluster[0] * s.cluster[1] * s.cluster[2] == 1) memset(s.cluster, 0, sizeof s.cluster);
  return launch(f, &s, config->hStream, values, extra);
}

API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **values) {
  return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, values, NULL);
}

API CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *config) {
  if (!n || !f || !config) return CUDA_ERROR_INVALID_VALUE;
  *n = 1;
  return CUDA_SUCCESS;
}
