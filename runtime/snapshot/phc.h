/* PTP hardware clocks: /dev/ptpN. */
#ifndef PRLX_PHC_H
#define PRLX_PHC_H

#include "prlx_snapshot.h"

/* Reads the device's clock between two readings of CLOCK_REALTIME, all in the kernel (PTP_SYS_OFFSET_EXTENDED), and keeps the narrowest of
 * several. 0, or -1 where the device's driver cannot. */
int prlx_phc_pair(int fd, int tries, prlx_snapshot_pair *best);

/* The device of a network interface, opened; -1 where it has none. */
int prlx_phc_of_interface(const char *name);

/* The device that a hypervisor gives its machines, opened; -1 where there is none. */
int prlx_phc_of_hypervisor(void);

#endif
