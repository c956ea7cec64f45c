/* The clock of records: the processor's counter where it runs at one rate, else CLOCK_MONOTONIC. Anchors relate it to the system's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "recorder.h"

static int64_t system_ns(clockid_t id) {
  struct timespec t = {0, 0};
  clock_gettime(id, &t);
  return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

uint64_t clock_monotonic_ns(void) { return (uint64_t)system_ns(CLOCK_MONOTONIC); }

#if defined(__x86_64__)
/* Whether the counter runs at one rate, and the kernel has not found that processors disagree on it. */
static int counter_is_steady(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d >> 8 & 1)) return 0;
  char sources[256] = "tsc"; /* where the system does not say it, the processor is believed */
  int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 1;
  ssize_t n = read(fd, sources, sizeof sources - 1);
  close(fd);
  if (n >= 0) sources[n] = 0;
  return strstr(sources, "tsc") != NULL;
}
#endif

uint32_t clock_choose(uint64_t *ticks_per_second) {
  *ticks_per_second = 0; /* anchors tell it */
#if defined(__x86_64__)
  if (counter_is_steady()) return clock_tsc;
#elif defined(__aarch64__)
  uint64_t rate;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
  *ticks_per_second = rate;
  return clock_cntvct;
#endif
  *ticks_per_second = 1000000000;
  return clock_monotonic;
}

/* One reading of all clocks. The counter is read before and after; the middle is what counts, and the distance bounds the error. It is
 * tried again where the thread may have lost its processor in between, `tries` times at most; the narrowest counts. */
struct anchor clock_anchor(int tries) {
  uint64_t rate = recorder.header->ticks_per_second, usual_bracket = rate ? rate / 1000000 : 1000; /* a microsecond, or less */
  struct anchor best = {.bracket_ticks = UINT64_MAX};
  for (int i = 0; i < tries && best.bracket_ticks > usual_bracket; i++) {
    struct anchor a;
    uint64_t from = ticks_now();
    a.monotonic_ns = system_ns(CLOCK_MONOTONIC);
    a.realtime_ns = system_ns(CLOCK_REALTIME);
    a.boottime_ns = system_ns(CLOCK_BOOTTIME);
    a.bracket_ticks = ticks_now() - from;
    a.ticks = from + a.bracket_ticks / 2;
    if (a.bracket_ticks < best.bracket_ticks) best = a;
  }
  return best;
}
