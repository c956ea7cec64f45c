/* What the environment asks for. A value that means nothing is said and the default holds: a job must not lose its recorder, nor its
 * user the message, by a slip. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder.h"

extern char **environ;

static const uint64_t least_bytes = 4 << 20, default_bytes = 256 << 20;

/* The decimal number that a text begins with; `end` is what follows it, the text itself where there is none. libc's own function is another
 * one in glibc 2.38. */
uint64_t number_in(const char *text, const char **end) {
  uint64_t n = 0;
  const char *p = text;
  for (; *p >= '0' && *p <= '9'; p++) {
    uint64_t digit = (uint64_t)(*p - '0');
    n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
  }
  if (end) *end = p;
  return n;
}

/* Bytes with an optional K, M or G (powers of 1024), KiB, MB and so on; 0 where the text is no size. */
static uint64_t size_in(const char *text) {
  const char *end;
  uint64_t n = number_in(text, &end);
  int shift = 0;
  if (n == UINT64_MAX || end == text) return 0;
  if (*end == 'K' || *end == 'k') shift = 10;
  if (*end == 'M' || *end == 'm') shift = 20;
  if (*end == 'G' || *end == 'g') shift = 30;
  if (shift) end++;
  if (shift && *end == 'i') end++;
  if (*end == 'B' || *end == 'b') end++;
  return *end || n > UINT64_MAX >> shift ? 0 : n << shift;
}

static void note(char *error, size_t room, const char *name, const char *value, const char *expected) {
  if (!*error) snprintf(error, room, "%s=%.60s is not %s; the default holds", name, value, expected);
}

/* "2/60": two seconds of every sixty. */
static int read_duty(const char *text, int *on_ms, int *period_ms) {
  char *end;
  double on = strtod(text, &end);
  if (end == text || *end != '/') return -1;
  const char *rest = end + 1;
  double period = strtod(rest, &end);
  if (end == rest || *end || !(on >= 0.1) || !(period > on) || !(period <= 86400)) return -1;
  *on_ms = (int)(on * 1000);
  *period_ms = (int)(period * 1000);
  return 0;
}

static void read_directory(struct settings *s, char *error, size_t room) {
  const char *named = secure_getenv("PRLX_NCCL_DIR"), *base = secure_getenv("TMPDIR");
  if (named && *named && strlen(named) < sizeof s->directory) {
    snprintf(s->directory, sizeof s->directory, "%s", named);
    return;
  }
  if (named && *named) note(error, room, "PRLX_NCCL_DIR", named, "a path of less than 3800 bytes");
  if (!base || *base != '/' || strlen(base) > sizeof s->directory - 64) base = "/tmp";
  snprintf(s->directory, sizeof s->directory, "%s/prlx-nccl-%u", base, (unsigned)geteuid());
}

int settings_read(struct settings *s, char *error, size_t room) {
  memset(s, 0, sizeof *s);
  *error = 0;
  s->max_bytes = default_bytes;
  const char *level = secure_getenv("PRLX_NCCL_LEVEL"), *bytes = secure_getenv("PRLX_NCCL_MAX_BYTES"), *duty = secure_getenv("PRLX_NCCL_DUTY"), *chain = secure_getenv("PRLX_NCCL_CHAIN");
  if (level && *level) {
    const char *digit = *level == 'L' || *level == 'l' ? level + 1 : level;
    if (*digit >= '0' && *digit <= '3' && !digit[1]) s->level = (uint32_t)(*digit - '0');
    else note(error, room, "PRLX_NCCL_LEVEL", level, "0, 1, 2 or 3");
  }
  if (bytes && *bytes) {
    uint64_t n = size_in(bytes);
    if (n >= least_bytes) s->max_bytes = n;
    else note(error, room, "PRLX_NCCL_MAX_BYTES", bytes, "a size of at least 4M");
  }
  if (duty && *duty && read_duty(duty, &s->duty_on_ms, &s->duty_period_ms) != 0)
    note(error, room, "PRLX_NCCL_DUTY", duty, "SECONDS/PERIOD, such as 2/60");
  if (chain && strlen(chain) < sizeof s->chain) snprintf(s->chain, sizeof s->chain, "%s", chain);
  else if (chain) note(error, room, "PRLX_NCCL_CHAIN", chain, "a path of less than 4096 bytes");
  read_directory(s, error, room);
  return *error ? -1 : 0;
}

/* What NCCL is asked for at a level. It delivers parents by itself; versions up to 2.27 want Group asked for as well. */
int settings_mask(uint32_t level) {
  int mask = 1 << type_group | 1 << type_coll | 1 << type_p2p | 1 << type_group_api | 1 << type_coll_api | 1 << type_p2p_api |
             1 << type_kernel_launch | 1 << type_ce_coll | 1 << type_ce_sync | 1 << type_ce_batch;
  if (level >= 1) mask |= 1 << type_kernel_ch;
  if (level >= 2) mask |= 1 << type_proxy_op;
  if (level >= 3) mask |= 1 << type_proxy_step | 1 << type_proxy_ctrl | 1 << type_net_plugin | 1 << type_kernel_phase;
  return mask;
}

/* What tells settings and ranks apart: NCCL's own settings and ours, devices that are visible, and ranks as launchers number them. */
static int is_told(const char *variable) {
  static const char *const beginnings[] = {"NCCL_", "RCCL_", "PRLX_NCCL_", "OMPI_COMM_WORLD_", "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NODEID=", "SLURM_JOB_ID=", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "NVIDIA_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "GROUP_RANK="};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) return 1;
  return 0;
}

/* Each with a zero byte after it; what has no room is left out whole. */
uint32_t settings_environment(char *out, uint32_t room) {
  uint32_t used = 0;
  for (char **e = environ; e && *e; e++) {
    size_t n = strlen(*e) + 1;
    if (!is_told(*e) || n > room - used) continue;
    memcpy(out + used, *e, n);
    used += (uint32_t)n;
  }
  return used;
}
