/* Stands in for the libraries of GPUs: the functions that the sampler looks for, on CLOCK_MONOTONIC. */
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
