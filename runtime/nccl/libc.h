/* What keeps the library loadable where glibc is 2.28, whatever it was built on: functions that newer releases have moved or given a new
 * version are asked for under their first one. In glibc before 2.34 they stand in libpthread and libdl, which a process with NCCL has; they
 * are weak all the same, and where one is missing the recorder does without. tests/nccl checks every symbol that the library needs. */
#ifndef PRLX_NCCL_LIBC_H
#define PRLX_NCCL_LIBC_H

#include <features.h>

#if defined(__x86_64__)
#define FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_GLIBC "GLIBC_2.17"
#endif

/* Sanitizers put their own functions in the place of these; with PLAIN_SYMBOLS the linker picks versions, for the glibc it is told. */
#if defined(__GLIBC__) && defined(FIRST_GLIBC) && !defined(PLAIN_SYMBOLS) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define AS_IN_OLD_GLIBC(name)                                 \
  __asm__(".symver " #name "," #name "@" FIRST_GLIBC);        \
  extern __typeof__(name) name __attribute__((weak))
#else
#define AS_IN_OLD_GLIBC(name) extern __typeof__(name) name __attribute__((weak))
#endif

#endif
