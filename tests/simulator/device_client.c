/* A program without Python that has a device: it starts one, loads PTX, maps arrays, launches a kernel, reads what it wrote, and what is wrong with
 * it. Usage: device_client PYTHON FILE.ptx; prints what it saw, a line each. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t base = 0x200000000000;
enum { bytes = 1 << 20 };
static int pipe_fd;

static void die(const char *what) { perror(what); exit(1); }

static void all(int write_it, void *at, size_t n) {
  for (char *p = at; n > 0;) {
    ssize_t done = write_it ? write(pipe_fd, p, n) : read(pipe_fd, p, n);
    if (done <= 0) die("the pipe");
    p += done, n -= (size_t)done;
  }
}

/* The reply to an operation: a status byte and JSON, to be freed. */
static char *ask(const char *op, const char *request) {
  uint32_t head[3] = {0x31565250, (uint32_t)strlen(op), (uint32_t)strlen(request)}, n;
  all(1, head, sizeof head);
  all(1, (void *)op, head[1]);
  all(1, (void *)request, head[2]);
  all(0, &n, sizeof n);
  char *reply = calloc(1, n + 1);
  all(0, reply, n);
  return reply;
}

static long number(const char *reply, const char *key) {
  char pattern[64];
  snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *at = strstr(reply + 1, pattern);
  return at ? strtol(at + strlen(pattern), NULL, 10) : -1;
}

static void start(const char *python) {
  int ends[2], memory = memfd_create("prlx", MFD_ALLOW_SEALING);
  if (memory < 0 || ftruncate(memory, bytes) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) die("memory and a pipe");
  if (mmap((void *)base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, memory, 0) != (void *)base) die("the address");
  if (fork() == 0) {
    char args[4][32];
    snprintf(args[0], 32, "%d", ends[1]), snprintf(args[1], 32, "%d", memory), snprintf(args[2], 32, "%#" PRIx64, base), snprintf(args[3], 32, "%d", bytes);
    close(ends[0]);
    execl(python, python, "-m", "prlx._device", args[0], args[1], args[2], args[3], (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  pipe_fd = ends[0];
}

static char *quoted(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 1 << 20), *out = text;
  if (!f) die(path);
  for (int c; (c = fgetc(f)) != EOF;) {
    if (c == '\n') *out++ = '\\', c = 'n';
    else if (c == '\t') *out++ = '\\', c = 't';
    else if (c == '"' || c == '\\') *out++ = '\\';
    *out++ = (char)c;
  }
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  static char request[2 << 20];
  start(argv[1]);
  snprintf(request, sizeof request, "{\"name\": \"increment.ptx\", \"ptx\": \"%s\"}", quoted(argv[2]));
  char *reply = ask("simulate_load", request);
  long module = number(reply, "module");
  printf("module %ld\n", module);
  uint64_t x = base + 512;
  uint32_t *at = (uint32_t *)(uintptr_t)x;
  snprintf(request, sizeof request, "{\"add\": [{\"name\": \"x\", \"address\": %" PRIu64 ", \"bytes\": 40}]}", x);
  reply = ask("simulate_arrays", request);
  long table = number(reply, "table");
  for (uint32_t i = 0; i < 10; i++) at[i] = 100 * i;
  for (int n = 10; n <= 11; n++) {
    snprintf(request, sizeof request,
             "{\"module\": %ld, \"kernel\": \"increment\", \"grid\": [1, 1, 1], \"block\": [64, 1, 1], \"table\": %ld, \"params\": "
             "[{\"name\": \"p\", \"bits\": %" PRIu64 ", \"allocation\": -2}, {\"name\": \"n\", \"bits\": %d, \"allocation\": -2}]}",
             module, table, x, n);
    reply = ask("simulate_launch", request);
    printf("%d elements: %s\n", n, reply[0] ? reply + 1 : strstr(reply + 1, "\"out-of-bounds\"") ? "out of bounds" : strstr(reply + 1, "\"clean\"") ? "clean" : "?");
  }
  printf("x is %" PRIu32 " to %" PRIu32 "\n", at[0], at[9]);
  reply = ask("simulate_launch", "{\"module\": 99}");
  printf("error %d: %s\n", reply[0], strstr(reply + 1, "there is no module 99") ? "there is no module 99" : reply + 1);
  close(pipe_fd);
  int status;
  wait(&status);
  printf("the device ended with %d\n", WEXITSTATUS(status));
  return 0;
}
