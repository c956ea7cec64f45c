/* Clocks of the kernel, of the processor, of devices, and of libraries that a program may have loaded. Nothing is linked: the libraries of
 * GPUs are looked for when a clock of theirs is asked for. */
#define _GNU_SOURCE
#include "clocks.h"
#include "phc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/timex.h>
#endif

#ifndef CLOCK_TAI
#define CLOCK_TAI 11
#endif
#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME 7
#endif

static const int64_t second = 1000000000;

int64_t prlx_kernel_ns(int64_t id) {
  struct timespec t;
  if (clock_gettime((clockid_t)id, &t) != 0) return -1;
  return (int64_t)t.tv_sec * second + t.tv_nsec;
}

int64_t prlx_scaled(uint64_t v, int64_t ticks_per_second) {
  return (int64_t)((unsigned __int128)v * (uint64_t)second / (uint64_t)ticks_per_second);
}

static int read_kernel(void *user, int64_t *ns) {
  *ns = prlx_kernel_ns(((prlx_clock *)user)->id);
  return *ns < 0;
}

/* The counter of the processor. */

#if defined(__x86_64__)
static uint64_t counter(void) {
  uint32_t low, high;
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  return (uint64_t)high << 32 | low;
}
static int64_t counter_rate(void) { return 0; }
#define COUNTER 1
#elif defined(__aarch64__)
static uint64_t counter(void) {
  uint64_t v;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
  return v;
}
static int64_t counter_rate(void) {
  uint64_t v;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
  return (int64_t)v;
}
#define COUNTER 1
#else
static uint64_t counter(void) { return 0; }
static int64_t counter_rate(void) { return 0; }
#define COUNTER 0
#endif

static int read_counter(void *user, int64_t *ns) {
  *ns = prlx_scaled(counter(), ((prlx_clock *)user)->ticks_per_second);
  return 0;
}

/* The rate only has to be near: pairs tell it exactly. */
static int open_counter(prlx_clock *c) {
  if (!COUNTER) return -1;
  c->read = read_counter;
  if ((c->ticks_per_second = counter_rate()) > 0) return 0;
  int64_t from = prlx_kernel_ns(CLOCK_MONOTONIC);
  uint64_t ticks = counter();
  struct timespec wait = {0, 20000000};
  nanosleep(&wait, NULL);
  int64_t took = prlx_kernel_ns(CLOCK_MONOTONIC) - from;
  ticks = counter() - ticks;
  if (took <= 0 || ticks < 1000) return -1;
  c->ticks_per_second = (int64_t)((unsigned __int128)ticks * (uint64_t)second / (uint64_t)took);
  return c->ticks_per_second < 1000000 ? -1 : 0;
}

/* Clocks of libraries. */

static int (*cupti_timestamp)(uint64_t *);
static int (*rocprofiler_timestamp)(uint64_t *);
static int (*hsa_info)(int, void *);

enum { hsa_timestamp = 2, hsa_timestamp_frequency = 3 }; /* of hsa_system_info_t */

static int read_cupti(void *user, int64_t *ns) {
  (void)user;
  uint64_t v = 0;
  int failed = cupti_timestamp(&v);
  *ns = (int64_t)v;
  return failed || v > INT64_MAX;
}

static int read_rocprofiler(void *user, int64_t *ns) {
  (void)user;
  uint64_t v = 0;
  int failed = rocprofiler_timestamp(&v);
  *ns = (int64_t)v;
  return failed || v == 0 || v > INT64_MAX;
}

static int read_hsa(void *user, int64_t *ns) {
  uint64_t v = 0;
  int failed = hsa_info(hsa_timestamp, &v);
  *ns = prlx_scaled(v, ((prlx_clock *)user)->ticks_per_second);
  return failed || v == 0;
}

/* A function of a library: of one that the program has loaded, else of the first of the files that there is, or that is loaded already. */
static void *function(const char *name, const char *const *files, int loaded, char *error, size_t room) {
  void *found = dlsym(RTLD_DEFAULT, name);
  for (; !found && *files; files++) {
    void *library = **files ? dlopen(*files, RTLD_NOW | RTLD_LOCAL | (loaded ? RTLD_NOLOAD : 0)) : NULL;
    if (library) found = dlsym(library, name);
  }
  if (!found) snprintf(error, room, "no library that is loaded or can be found has %s", name);
  return found;
}

static const char *of_environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static int open_cupti(prlx_clock *c, char *error, size_t room) {
  const char *files[] = {of_environment("PRLX_CUPTI_LIBRARY"), "libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", NULL};
  *(void **)&cupti_timestamp = function("cuptiGetTimestamp", files, 0, error, room);
  c->read = read_cupti;
  snprintf(c->name, sizeof c->name, "CUPTI");
  return cupti_timestamp ? 0 : -1;
}

static int open_rocprofiler(prlx_clock *c, int loaded, char *error, size_t room) {
  const char *files[] = {of_environment("PRLX_ROCPROFILER_LIBRARY"), "librocprofiler-sdk.so", "librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0", NULL};
  *(void **)&rocprofiler_timestamp = function("rocprofiler_get_timestamp", files, loaded, error, room);
  c->read = read_rocprofiler;
  snprintf(c->name, sizeof c->name, "ROCm");
  return rocprofiler_timestamp ? 0 : -1;
}

static int open_hsa(prlx_clock *c, char *error, size_t room) {
  const char *files[] = {of_environment("PRLX_HSA_LIBRARY"), "libhsa-runtime64.so.1", "libhsa-runtime64.so", NULL};
  int (*init)(void);
  *(void **)&hsa_info = function("hsa_system_get_info", files, 0, error, room);
  *(void **)&init = function("hsa_init", files, 0, error, room);
  if (!hsa_info || !init) return -1;
  uint64_t rate = 0;
  if (init() != 0 || hsa_info(hsa_timestamp_frequency, &rate) != 0 || rate == 0 || rate > INT64_MAX) {
    snprintf(error, room, "HSA cannot be initialized: is there a GPU?");
    return -1;
  }
  c->read = read_hsa;
  c->ticks_per_second = (int64_t)rate;
  snprintf(c->name, sizeof c->name, "HSA");
  return 0;
}

/* The clock of a network card: its file is a clock of the kernel, and where its driver allows it, the kernel reads the system clock just before
 * and after it. */
static int pair_ptp(void *user, int tries, prlx_snapshot_pair *best) { return prlx_phc_pair(((prlx_clock *)user)->fd, tries, best); }

static int open_ptp(prlx_clock *c, const char *device, char *error, size_t room) {
  if ((c->fd = open(device, O_RDONLY | O_CLOEXEC)) < 0) {
    snprintf(error, room, "%s: %s", device, strerror(errno));
    return -1;
  }
  c->id = (int64_t)(int)((~(unsigned)c->fd << 3) | 3); /* FD_TO_CLOCKID of <linux/posix-timers.h> */
  c->read = read_kernel;
  snprintf(c->name, sizeof c->name, "PTP %s", device);
  prlx_snapshot_pair first;
  if (prlx_phc_pair(c->fd, 1, &first) == 0) c->pair = pair_ptp;
  if (!c->pair && prlx_kernel_ns(c->id) < 0) {
    snprintf(error, room, "%s is no clock: %s", device, strerror(errno));
    return -1;
  }
  return 0;
}

/* Whether the kernel was told how far TAI is from UTC: else CLOCK_TAI is CLOCK_REALTIME. */
static int knows_tai(void) {
#ifdef __linux__
  struct timex t;
  memset(&t, 0, sizeof t);
  return adjtimex(&t) >= 0 && t.tai != 0;
#else
  return 0;
#endif
}

static const struct {
  const char *name;
  int64_t id;
} kernel_clocks[] = {
    {"CLOCK_MONOTONIC", CLOCK_MONOTONIC}, {"CLOCK_MONOTONIC_RAW", CLOCK_MONOTONIC_RAW}, {"CLOCK_BOOTTIME", CLOCK_BOOTTIME},
    {"CLOCK_TAI", CLOCK_TAI},             {"CLOCK_REALTIME", CLOCK_REALTIME},
};

static int open_named(prlx_clock *c, const char *name, char *error, size_t room);

/* The clock of the tracer that the program has loaded, if it is one that leaves its lines on its own clock; else one that nobody sets. */
static int open_auto(prlx_clock *c, char *error, size_t room) {
  if (open_rocprofiler(c, 1, error, room) == 0) return 0;
  return open_named(c, "monotonic_raw", error, room);
}

static int open_named(prlx_clock *c, const char *name, char *error, size_t room) {
  const char *plain = strncasecmp(name, "CLOCK_", 6) == 0 ? name + 6 : name;
  for (size_t i = 0; i < sizeof kernel_clocks / sizeof *kernel_clocks; i++) {
    if (strcasecmp(plain, kernel_clocks[i].name + 6) != 0) continue;
    if (kernel_clocks[i].id == CLOCK_TAI && !knows_tai()) {
      snprintf(error, room, "CLOCK_TAI is of no use here: nobody has told the kernel how far TAI is from UTC");
      return -1;
    }
    c->id = kernel_clocks[i].id;
    c->read = read_kernel;
    snprintf(c->name, sizeof c->name, "%s", kernel_clocks[i].name);
    return 0;
  }
  if (strcasecmp(plain, "tsc") == 0) {
    snprintf(c->name, sizeof c->name, "TSC");
    if (open_counter(c) == 0) return 0;
    snprintf(error, room, "this processor has no time stamp counter that prlx reads");
    return -1;
  }
  if (strcasecmp(name, "auto") == 0) return open_auto(c, error, room);
  if (strcasecmp(name, "cupti") == 0) return open_cupti(c, error, room);
  if (strcasecmp(name, "rocprofiler") == 0 || strcasecmp(name, "rocm") == 0) return open_rocprofiler(c, 0, error, room);
  if (strcasecmp(name, "hsa") == 0) return open_hsa(c, error, room);
  if (strncasecmp(name, "ptp:", 4) == 0) return open_ptp(c, name + 4, error, room);
  snprintf(error, room, "\"%.40s\" is not a clock: expected auto, monotonic, monotonic_raw, boottime, tai, tsc, cupti, rocprofiler, hsa or ptp:/dev/ptpN", name);
  return -1;
}

int prlx_clock_open(prlx_clock *c, const char *name, char *error, size_t room) {
  memset(c, 0, sizeof *c);
  c->fd = -1;
  c->user = c;
  int64_t now;
  if (open_named(c, name && *name ? name : "auto", error, room) != 0) {
    prlx_clock_close(c);
    return -1;
  }
  if (!c->pair && c->read(c->user, &now) != 0) {
    snprintf(error, room, "%s cannot be read", c->name);
    prlx_clock_close(c);
    return -1;
  }
  return 0;
}

void prlx_clock_close(prlx_clock *c) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1;
}
