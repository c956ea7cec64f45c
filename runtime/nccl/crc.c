/* CRC-32C (Castagnoli) of what the file holds. The processor has an instruction for it on nearly every machine; the table is for the rest. */
#include "recorder.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t n) {
  static _Atomic int is_made;
  static uint32_t table[8][256];
  if (!atomic_load(&is_made)) { /* the first to be here is who opens the recorder, before others record */
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
      table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
      for (int k = 1; k < 8; k++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    atomic_store(&is_made, 1);
  }
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    v ^= crc;
    crc = 0;
    for (int k = 0; k < 8; k++) crc ^= table[7 - k][v >> 8 * k & 255];
  }
  for (; n > 0; n--) crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
  return crc;
}

#if defined(__x86_64__)
/* In assembly: gcc and clang call what the builtins need by different names. */
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t n) {
  uint64_t c = crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    __asm__("crc32q %1, %0" : "+r"(c) : "rm"(v));
  }
  for (; n > 0; n--) __asm__("crc32b %1, %k0" : "+r"(c) : "qm"(*p++));
  return (uint32_t)c;
}

static int has_instruction(void) {
  uint32_t a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c >> 20 & 1);
}
#elif defined(__aarch64__)
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t v;
    memcpy(&v, p, 8);
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(v));
  }
  for (; n > 0; n--) __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*p++));
  return crc;
}

static int has_instruction(void) { return getauxval(AT_HWCAP) >> 7 & 1; }
#else
static uint32_t by_instruction(uint32_t crc, const unsigned char *p, size_t n) { return by_table(crc, p, n); }
static int has_instruction(void) { return 0; }
#endif

uint32_t crc32c(uint32_t before, const void *bytes, size_t n) {
  static int has = -1;
  if (has < 0) has = has_instruction();
  return ~(has ? by_instruction : by_table)(~before, bytes, n);
}

static uint32_t of_part(uint32_t crc, const void *base, size_t from, size_t to) { return crc32c(crc, (const char *)base + from, to - from); }

/* What of a segment's head never changes while it is open: all but the count of slots, the state and what follows the anchor. */
uint32_t crc32c_of_head(const struct segment *s) {
  uint32_t crc = of_part(0, s, 0, offsetof(struct segment, committed));
  crc = of_part(crc, s, offsetof(struct segment, thread), offsetof(struct segment, state));
  return of_part(crc, s, offsetof(struct segment, order), offsetof(struct segment, sealed_ticks));
}

/* What of a file never changes. */
uint32_t crc32c_of_facts(const struct file_header *h, const struct gpu_entry *gpus) {
  uint32_t crc = of_part(0, h, 0, offsetof(struct file_header, segments));
  crc = of_part(crc, h, offsetof(struct file_header, threads), offsetof(struct file_header, heartbeat_ticks));
  crc = of_part(crc, h, offsetof(struct file_header, nccl_version), offsetof(struct file_header, chain));
  crc = of_part(crc, h, offsetof(struct file_header, gpus), offsetof(struct file_header, zero_used));
  crc = of_part(crc, h, offsetof(struct file_header, host), offsetof(struct file_header, overwritten));
  crc = crc32c(crc, recorder.environment, relaxed32(&h->environment_used));
  return crc32c(crc, gpus, h->gpus_used * sizeof *gpus);
}

/* Again until it is that of what is there: several threads may learn something of a communicator at once. */
void crc32c_of_comm(struct comm_entry *c) {
  uint32_t crc;
  do {
    crc = crc32c(0, c, offsetof(struct comm_entry, crc));
    atomic_store(&c->crc, crc);
    atomic_store(&c->crc_made, 1);
  } while (crc != crc32c(0, c, offsetof(struct comm_entry, crc)));
}
