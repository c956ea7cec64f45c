#define _GNU_SOURCE
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct handle group(struct seat *s, uint64_t context) {
  struct event e = {.type = Group, .context = context};
  return call_start(s, s->plugin->newest, &e);
}

static uint64_t begin(struct seat *s, struct plugin *p, const char *truth) {
  seat_open(s, p, truth, 0, 1);
  return call_init(s, p->newest, 1, &nccl_mask, "faults", 1, 2, 0);
}

static void some(struct seat *s, uint64_t context, int n) {
  for (int k = 0; k < n; k++) call_stop(s, s->plugin->newest, group(s, context));
}

static void print_calls(struct seat *s, uint64_t beside) { printf("%" PRIu64 "\n", s->calls + beside); fflush(stdout); }

/* ends HOW TRUTH: exit, _exit, abort, segv or return, without finalize. */
int mode_ends(struct plugin *p, char **args) {
  struct seat s;
  uint64_t c = begin(&s, p, args[1]);
  some(&s, c, 20000);
  group(&s, c); /* is open when the process ends */
  seat_close(&s);
  signal(SIGSEGV, SIG_DFL); /* sanitizers have handlers */
  signal(SIGABRT, SIG_DFL);
  if (strcmp(args[0], "exit") == 0) exit(0);
  if (strcmp(args[0], "_exit") == 0) _exit(0);
  if (strcmp(args[0], "abort") == 0) abort();
  if (strcmp(args[0], "segv") == 0) raise(SIGSEGV);
  return 0;
}

/* texts N: as many texts, none of which was there before. */
int mode_texts(struct plugin *p, char **args) {
  struct seat s;
  uint64_t c = begin(&s, p, NULL);
  char name[16];
  for (int k = 0; k < atoi(args[0]); k++) {
    snprintf(name, sizeof name, "%x", k);
    struct event e = {.type = CollApi, .context = c, .func = name, .datatype = "ncclFloat32"};
    call_stop(&s, p->newest, call_start(&s, p->newest, &e));
  }
  print_calls(&s, 0);
  return 0;
}

/* reload TRUTH: NCCL closes the library after the last communicator and opens it again for the next. */
int mode_reload(struct plugin *p, char **args) {
  struct seat s;
  Dl_info where;
  seat_open(&s, p, args[0], 0, 1);
  if (!dladdr(p->tables[p->newest], &where)) return 1;
  char *path = strdup(where.dli_fname);
  struct handle before = {0, 0};
  for (int round = 0; round < 20; round++) {
    if (round && plugin_open(p, path, 231) != 0) return 1;
    uint64_t c = call_init(&s, p->newest, (uint64_t)round, &nccl_mask, "again", 1, 2, 0);
    if (before.id) call_stop(&s, p->newest, before);
    some(&s, c, 1000);
    before = group(&s, c);
    call_finalize(&s, p->newest, c);
    dlclose(p->library);
    usleep(1000); /* the keeper goes on meanwhile */
  }
  seat_close(&s);
  free(path);
  return 0;
}

/* daemon WHEN TRUTH: becomes a daemon before or after the first communicator. */
int mode_daemon(struct plugin *p, char **args) {
  struct seat s;
  int late = strcmp(args[0], "after") == 0;
  uint64_t c = 0;
  if (late) {
    c = begin(&s, p, args[1]);
    some(&s, c, 100);
    fflush(s.truth);
  }
  for (int k = 0; k < 2; k++) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0 && !late) _exit(0);
    if (child > 0) exit(0); /* with all that programs do then */
    setsid();
  }
  if (late) s.truth = NULL; /* what the daemon does is not recorded */
  else c = begin(&s, p, args[1]);
  some(&s, c, 5000);
  seat_close(&s);
  return 0;
}

/* exec TRUTH: a child that becomes another program, which records for itself. */
int mode_exec(struct plugin *p, char **args) {
  struct seat s;
  Dl_info where;
  uint64_t c = begin(&s, p, args[0]);
  some(&s, c, 100);
  if (!dladdr(p->tables[p->newest], &where)) return 1;
  fflush(s.truth);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "replay", where.dli_fname, "comms", "3", (char *)NULL);
    _exit(9);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  some(&s, c, 100);
  seat_close(&s);
  return 0;
}

/* limits WHICH EVENTS: no more files before the first communicator, or after it; no more addresses. Prints how many calls there were. */
int mode_limits(struct plugin *p, char **args) {
  struct seat s;
  struct rlimit none = {3, 3}, few = {UINT64_C(1) << 28, UINT64_C(1) << 28};
  if (strcmp(args[0], "addresses") == 0 && setrlimit(RLIMIT_AS, &few) != 0) return 1;
  if (strcmp(args[0], "files") == 0 && setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
  uint64_t c = begin(&s, p, NULL);
  if (strcmp(args[0], "files-later") == 0 && setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
  print_calls(&s, climb_steps(p, c, strtoull(args[1], NULL, 10)));
  return 0;
}

/* signals KIND EVENTS: a handler that calls the plug-in from within its own calls (enters), or one that only interrupts (interrupts). */
static struct { struct plugin *p; uint64_t context; volatile sig_atomic_t enters; volatile uint64_t calls; } handler;

static void on_signal(int number) {
  (void)number;
  if (!handler.enters) return;
  struct seat s = {.plugin = handler.p};
  call_stop(&s, handler.p->newest, group(&s, handler.context));
  handler.calls += s.calls;
}

int mode_signals(struct plugin *p, char **args) {
  struct seat s;
  struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART */
  struct itimerval often = {{0, 150}, {0, 150}};
  handler.p = p;
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  uint64_t c = handler.context = begin(&s, p, NULL);
  handler.enters = strcmp(args[0], "enters") == 0;
  uint64_t calls = climb_steps(p, c, strtoull(args[1], NULL, 10));
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  print_calls(&s, calls + handler.calls);
  return 0;
}

/* user HOW EVENTS: another user after the first communicator (setuid), or an empty environment (scrub) or that of a set-user-id program as it
 * is (as-is) before it. Prints the file, then how many calls there were. */
int mode_user(struct plugin *p, char **args) {
  struct seat s;
  if (strcmp(args[0], "scrub") == 0) clearenv();
  uint64_t c = begin(&s, p, NULL);
  if (strcmp(args[0], "setuid") == 0 && setuid(65534) != 0) return 1;
  const char *(*path)(void) = (const char *(*)(void))dlsym(p->library, "prlx_nccl_path");
  printf("%s\n", path ? path() : "");
  print_calls(&s, climb_steps(p, c, strtoull(args[1], NULL, 10)));
  return 0;
}

/* memory WHEN EVENTS: a library that was loaded before has a switch for malloc and its kin: none before the first communicator, or after. */
int mode_memory(struct plugin *p, char **args) {
  struct seat s;
  void (*none)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "no_memory");
  int early = strcmp(args[0], "before") == 0;
  printf("memory\n"); /* stdio takes its own */
  seat_open(&s, p, NULL, 0, 1);
  if (!none) return 1;
  none(early);
  uint64_t c = call_init(&s, p->newest, 1, &nccl_mask, "poor", 1, 2, 0);
  none(1);
  uint64_t calls = climb_steps(p, c, strtoull(args[1], NULL, 10));
  none(0);
  print_calls(&s, calls);
  return 0;
}

/* held EVENTS: says "ready", waits for a line, then plays. */
int mode_held(struct plugin *p, char **args) {
  struct seat s;
  char line[16];
  uint64_t c = begin(&s, p, NULL);
  printf("ready\n");
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) return 1;
  print_calls(&s, climb_steps(p, c, strtoull(args[0], NULL, 10)));
  return fgets(line, sizeof line, stdin) ? 0 : 1;
}
