/* prlx_snapshot.h: reads the system clock and a tracer's clock together, again and again, on a thread of its own.
 *
 * For programs that are not Python: link with -lprlx_snapshot (in the Python package beside this file), or compile the sources of
 * runtime/snapshot into the program; they need POSIX threads and nothing else. What is written is described in
 * docs/formats/snapshot-pairs.md and read by `prlx combine` and `prlx inspect`.
 *
 *   prlx_snapshot_options o = PRLX_SNAPSHOT_OPTIONS;
 *   o.path = "node7.pairs.jsonl";
 *   char error[256];
 *   prlx_snapshot *s = prlx_snapshot_start(&o, error, sizeof error);
 *   ... the program ...
 *   prlx_snapshot_stop(s);
 *   prlx_snapshot_free(s);
 */
#ifndef PRLX_SNAPSHOT_H
#define PRLX_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PRLX_SNAPSHOT_EXPORT __attribute__((visibility("default")))

/* One reading of both clocks, ns. sys_ns is the middle of two readings of the system clock, bracket_ns their distance. */
typedef struct {
  int64_t sys_ns, tracer_ns, bracket_ns;
} prlx_snapshot_pair;

/* The telemetry of a sampler. */
typedef struct {
  int64_t taken;    /* pairs that were read */
  int64_t missed;   /* instants of the cadence at which no pair was read: the thread came too late */
  int64_t dropped;  /* pairs that have no room in memory any more; the file has them */
  int64_t wide;     /* pairs that were kept although the system clock's readings lie more than 5 us apart */
  int64_t failed;   /* readings that gave no pair */
  int64_t unstored; /* pairs that the file did not take */
} prlx_snapshot_counters;

/* Reads a clock in ns. Returns 0, or another value where the clock could not be read. */
typedef int (*prlx_snapshot_clock)(void *user, int64_t *ns);

typedef struct {
  size_t size; /* sizeof(prlx_snapshot_options): PRLX_SNAPSHOT_OPTIONS sets it */

  /* The tracer's clock: "monotonic", "monotonic_raw", "boottime", "tai", "tsc", "cupti", "rocprofiler", "hsa", "ptp:/dev/ptp0"; NULL is
   * "auto": rocprofiler's where the program has loaded it, else monotonic_raw. With tracer_clock it is the name of that clock. Only readings named "cupti", "rocprofiler", "hsa" and "tracer" are those
   * of device lines. */
  const char *tracer;
  prlx_snapshot_clock tracer_clock; /* a clock of the caller's, NULL none; it is called on the sampler's thread */
  void *tracer_user;

  int64_t period_ns;         /* the cadence, 10 ms to 1 h; 0: see prlx_snapshot_period */
  const char *period_option; /* snapshot_pair_period_ms of a profiler's advanced_configuration, NULL none */
  int64_t duration_ns;       /* how long the recording will take, for the room in memory; 0 is unknown */
  int tries;                 /* brackets of which the narrowest counts; 0 is 8 */

  const char *path; /* a new file of JSON lines, NULL none; it is readable at any time and after a crash */
  const char *host; /* for the file, NULL not known */
  int rank;         /* for the file, -1 not known */

  /* Other clocks and another timer than the machine's, for tests; NULL is the machine's. wait returns 0 at the instant, another value when
   * the recording is to end. */
  prlx_snapshot_clock system_clock, timer_clock;
  int (*wait)(void *user, int64_t until_ns);
  void *machine_user;
} prlx_snapshot_options;

#define PRLX_SNAPSHOT_OPTIONS {sizeof(prlx_snapshot_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0}

typedef struct prlx_snapshot prlx_snapshot;

/* Starts a sampler. NULL, and a sentence in error, where a clock is not there or the file cannot be made. */
PRLX_SNAPSHOT_EXPORT prlx_snapshot *prlx_snapshot_start(const prlx_snapshot_options *options, char *error, size_t room);

/* Reads a last pair, writes the counters and ends the thread. A second call, and one in a forked child, does nothing. 0, or another value
 * where the file has not taken everything. */
PRLX_SNAPSHOT_EXPORT int prlx_snapshot_stop(prlx_snapshot *s);

/* Stops where that has not been done, and gives the memory back. */
PRLX_SNAPSHOT_EXPORT void prlx_snapshot_free(prlx_snapshot *s);

/* The pairs in memory, the oldest first: at most room of them are copied. Returns how many there are. At any time. */
PRLX_SNAPSHOT_EXPORT size_t prlx_snapshot_pairs(prlx_snapshot *s, prlx_snapshot_pair *out, size_t room);

PRLX_SNAPSHOT_EXPORT void prlx_snapshot_count(prlx_snapshot *s, prlx_snapshot_counters *out);

/* The name of the tracer's clock as the file has it, and the cadence. */
PRLX_SNAPSHOT_EXPORT const char *prlx_snapshot_clock_name(const prlx_snapshot *s);
PRLX_SNAPSHOT_EXPORT int64_t prlx_snapshot_period_of(const prlx_snapshot *s);

/* Reads one pair now, besides those of the cadence; it is kept like them. 0, or another value where it gave none. */
PRLX_SNAPSHOT_EXPORT int prlx_snapshot_now(prlx_snapshot *s);

/* Decides the cadence: argument_ns where it is not 0, else the option in ms, else PRLX_SNAPSHOT_PERIOD_MS, else
 * XLA_ROCM_SNAPSHOT_PERIOD_MS, else 4 s. 0, and a sentence in error, where what counts is no cadence. */
PRLX_SNAPSHOT_EXPORT int64_t prlx_snapshot_period(int64_t argument_ns, const char *option, char *error, size_t room);

/* The PJRT_Api of a profiler that adds the plane /host:snapshots to what XLA's profiler collects: for JAX's register_plugin_profiler. */
PRLX_SNAPSHOT_EXPORT const void *prlx_snapshot_pjrt_api(void);

/* What that profiler reads from its next session on: a clock as above, a cadence (0 as above). 0, or a sentence in error. */
PRLX_SNAPSHOT_EXPORT int prlx_snapshot_pjrt_configure(const char *tracer, int64_t period_ns, char *error, size_t room);

#ifdef __cplusplus
}
#endif
#endif
