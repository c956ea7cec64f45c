/* Asking daemons of this host: limits of time, numbers of the wire. */
#ifndef PRLX_ASK_H
#define PRLX_ASK_H

#include <sys/types.h>

#include "discipline.h"

enum { prlx_not_there = -1, prlx_silent = -2 };

/* The instant of the monotonic clock, ns, up to which an answer is waited for. */
int64_t prlx_ask_until(int ms);

/* Reads the next datagram before that instant. Its length, -1 where the socket fails, -2 where nothing came. */
ssize_t prlx_ask_next(int fd, unsigned char *b, size_t room, int64_t until);

static inline uint16_t prlx_u16(const unsigned char *b) { return (uint16_t)(b[0] << 8 | b[1]); }
static inline uint32_t prlx_u32(const unsigned char *b) { return (uint32_t)prlx_u16(b) << 16 | prlx_u16(b + 2); }
static inline int64_t prlx_i64(const unsigned char *b) { return (int64_t)((uint64_t)prlx_u32(b) << 32 | prlx_u32(b + 4)); }

/* What chronyd says: 0, prlx_not_there or prlx_silent. sys_ns is not set. */
int prlx_chrony_read(prlx_discipline *d);

/* What ptp4l says, with the distance between the system clock and the hardware clock that it keeps: as above. */
int prlx_ptp4l_read(prlx_discipline *d);

/* The distance from the clock that a hypervisor passes on (PTP-KVM): 0 or prlx_not_there. */
int prlx_hypervisor_read(prlx_discipline *d);

#endif
