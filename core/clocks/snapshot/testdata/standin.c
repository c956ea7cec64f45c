/* Stands in for the libraries of GPUs, on CLOCK_MONOTONIC, and for PTP hardware clocks: the functions that the sampler looks for. */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

static uint64_t ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#ifdef CUPTI
int cuptiGetTimestamp(uint64_t *t) {
  *t = ns();
  return 0;
}
#endif
#ifdef ROCPROFILER
int rocprofiler_get_timestamp(uint64_t *t) {
  *t = ns();
  return 0;
}
#endif
#ifdef BROKEN
int rocprofiler_get_timestamp(uint64_t *t) {
  *t = 0;
  return 1;
}
#endif
#ifdef HSA
static int ready;
int hsa_init(void) {
  ready = 1;
  return 0;
}
int hsa_system_get_info(int what, void *value) {
  if (!ready) return 4107;
  *(uint64_t *)value = what == 3 ? 100000000 : ns() / 10; /* a clock of 100 MHz */
  return 0;
}
#endif
#ifdef PHC
/* To be preloaded: the PTP hardware clock of interface eth7, /dev/ptp7, 37 s and 1,500 ns ahead of the system clock, and a hypervisor's,
 * /dev/ptp0, 2,500 ns behind it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int card = -1, hypervisor = -1;

int open(const char *path, int flags, ...) {
  static int (*real)(const char *, int, ...);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "open");
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  if (!strcmp(path, "/sys/class/ptp/ptp0/clock_name")) {
    int fd = memfd_create("name", 0);
    const char *name = getenv("STANDIN_HYPERVISOR") ? "KVM virtual PTP\n" : "some card\n";
    if (write(fd, name, strlen(name)) < 0) return -1;
    lseek(fd, 0, SEEK_SET);
    return fd;
  }
  if (!strcmp(path, "/dev/ptp7")) return card = real("/dev/null", flags);
  if (!strcmp(path, "/dev/ptp0")) return hypervisor = real("/dev/null", flags);
  return real(path, flags, mode);
}

struct stamp {
  int64_t sec;
  uint32_t nsec, rest;
};
struct extended {
  uint32_t samples, rest[3];
  struct stamp at[25][3];
};

static struct stamp at(int64_t ns) { return (struct stamp){ns / 1000000000, (uint32_t)(ns % 1000000000), 0}; }

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *arg = va_arg(rest, void *);
  va_end(rest);
  if (request == 0x8946) { /* SIOCETHTOOL */
    struct ifreq *r = arg;
    if (strcmp(r->ifr_name, "eth7")) return errno = ENODEV, -1;
    ((int32_t *)(void *)r->ifr_data)[2] = 7;
    return 0;
  }
  if (request == _IOWR('=', 9, struct extended) && (fd == card || fd == hypervisor) && !getenv("STANDIN_OLD_DRIVER")) {
    struct extended *e = arg;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, ahead = fd == card ? INT64_C(37000001500) : -2500;
    if (e->samples > 25) return errno = EINVAL, -1;
    for (uint32_t i = 0; i < e->samples; i++) { /* one sample is no time, the others take 1,000 ns and less */
      int64_t width = 1000 - 100 * (int64_t)i;
      e->at[i][0] = at(now);
      e->at[i][1] = at(now + width / 2 + ahead);
      e->at[i][2] = at(now + width);
      if (i == 7) e->at[i][2].nsec = 4000000000u;
    }
    return 0;
  }
  return errno = ENOTTY, -1;
}
#endif
