/* Two ways to the simulator: what a library of this process exports, once it says so (prlx_cuda_attach), or a process of its own, which
 * PRLX_CUDA_DEVICE names: a program and its first words, a line each; the four numbers of docs/formats/device-pipe.md follow. */
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SHRINK 2
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

typedef int64_t (*call_fn)(const char *op, const void *request, int64_t n, void *out, int64_t room);
typedef int64_t (*fetch_fn)(int64_t number, void *out, int64_t n);
static call_fn call;
static fetch_fn fetch;
static int pipe_fd = -1, memory_fd = -1, mapped;
static pid_t owner;

static int map(int fd) {
  void *want = (void *)(uintptr_t)region_base;
  int flags = MAP_NORESERVE | MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  mapped = mmap(want, region_bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == want;
  return mapped;
}

/* The extension of prlx in this process says by which functions operations are asked for; 0: it may be used. */
API int prlx_cuda_attach(call_fn c, fetch_fn f) {
  HOLD;
  if (call) return c == call ? 0 : 1;
  if (pipe_fd >= 0 || (!mapped && !map(-1))) return 1;
  call = c, fetch = f, owner = getpid();
  return 0;
}

enum { often = 100 }; /* looks for a reply before the process sleeps */

static int all(int out, void *at, size_t n) {
  int looks = out ? 0 : often; /* a processor that idles takes tens of microseconds to wake, longer than most requests take */
  for (char *p = at; n > 0;) {
    ssize_t done = out ? send(pipe_fd, p, n, MSG_NOSIGNAL) : recv(pipe_fd, p, n, looks > 0 ? MSG_DONTWAIT : 0);
    if (done < 0 && errno == EAGAIN && looks-- > 0) {
      sched_yield();
      continue;
    }
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return 0;
    p += done, n -= (size_t)done;
  }
  return 1;
}

/* Starts the process that PRLX_CUDA_DEVICE names. */
static int begin(void) {
  const char *command = getenv("PRLX_CUDA_DEVICE");
  char words[4096], numbers[4][32], *argv[32];
  int n = 0, ends[2], memory = (int)syscall(SYS_memfd_create, "prlx device memory", 2 /* MFD_ALLOW_SEALING */); /* older C libraries have no name for it */
  if (!command || strlen(command) >= sizeof words || memory < 0) return 0;
  if (ftruncate(memory, (off_t)region_bytes) || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) || !map(memory)) return 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return 0;
  strcpy(words, command);
  for (char *rest, *word = strtok_r(words, "\n", &rest); word && n < 27; word = strtok_r(NULL, "\n", &rest)) argv[n++] = word;
  int child = dup(ends[1]); /* without the flag that closes it */
  snprintf(numbers[0], 32, "%d", child), snprintf(numbers[1], 32, "%d", memory);
  snprintf(numbers[2], 32, "%#llx", (unsigned long long)region_base), snprintf(numbers[3], 32, "%zu", region_bytes);
  for (int i = 0; i < 4; i++) argv[n++] = numbers[i];
  argv[n] = NULL;
  fcntl(memory, F_SETFD, 0);
  pid_t pid = fork();
  if (pid == 0) {
    unsetenv("LD_PRELOAD"); /* the device itself runs on no driver */
    setpgid(0, 0);          /* Ctrl-C is for the program: the device ends with its pipe */
    execvp(argv[0], argv);
    _exit(127);
  }
  close(child), close(ends[1]);
  fcntl(memory, F_SETFD, FD_CLOEXEC);
  pipe_fd = ends[0], memory_fd = memory, owner = getpid();
  return pid > 0;
}

int shown_at(void *at, size_t bytes, uint64_t device) {
  if (device) return memory_fd >= 0 && mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_fd, (off_t)(device - region_base)) == at;
  return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

int watched(void) {
  const char *command = getenv("PRLX_CUDA_DEVICE");
  return pipe_fd >= 0 && command && strstr(command, "\n--run\n");
}

int connected(void) {
  if (call || pipe_fd >= 0) return getpid() == owner; /* a forked child has no device: its memory and its pipe are the parent's */
  return begin();
}

static char *by_pipe(const char *op, const char *request, size_t n) {
  uint32_t head[3] = {0x31565250, (uint32_t)strlen(op), (uint32_t)n}, length;
  char *reply;
  if (!all(1, head, sizeof head) || !all(1, (void *)(uintptr_t)op, head[1]) || !all(1, (void *)(uintptr_t)request, n) || !all(0, &length, 4)) return NULL;
  if (!(reply = malloc((size_t)length + 1)) || !all(0, reply, length)) return NULL;
  reply[length] = 0;
  return reply;
}

static char *by_call(const char *op, const char *request, size_t n) {
  enum { usual = 1 << 16 };
  char *reply = malloc(usual + 1);
  int64_t length = call(op, request, (int64_t)n, reply, usual);
  if (length < 0) {
    uint64_t whole;
    memcpy(&whole, reply, 8);
    free(reply);
    reply = malloc(whole + 1);
    length = reply ? fetch(-length, reply, (int64_t)whole) : 0;
  }
  if (length <= 0) {
    free(reply);
    return NULL;
  }
  reply[length] = 0;
  return reply;
}

char *ask_text(const char *op, const char *request, size_t n) {
  if (!connected()) return NULL;
  return call ? by_call(op, request, n) : by_pipe(op, request, n);
}

char *ask(const char *op, const char *format, ...) {
  char request[512];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(request, sizeof request, format, list);
  va_end(list);
  return n < 0 || (size_t)n >= sizeof request ? NULL : ask_text(op, request, (size_t)n);
}
