#define _GNU_SOURCE
#include "phc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Of <linux/ptp_clock.h>, which older systems lack in part. */
typedef struct {
  int64_t sec;
  uint32_t nsec, reserved;
} ptp_time;

enum { most_samples = 25 };

typedef struct {
  uint32_t samples, reserved[3];
  ptp_time at[most_samples][3]; /* the system clock, the device's, the system clock */
} ptp_offset_extended;

#define ASK_OFFSET_EXTENDED _IOWR('=', 9, ptp_offset_extended)

/* Of <linux/ethtool.h>. */
typedef struct {
  uint32_t command, so_timestamping;
  int32_t phc_index;
  uint32_t tx_types, tx_reserved[3], rx_filters, rx_reserved[3];
} ethtool_ts_info;

enum { ethtool_get_ts_info = 0x41, siocethtool = 0x8946, most_devices = 16 };

/* An instant in ns; false where it is none: a driver's numbers are not believed blindly. */
static int instant(const ptp_time *t, int64_t *ns) {
  if (t->nsec >= 1000000000 || t->sec < 0 || t->sec > INT64_MAX / 1000000000 - 1) return 0;
  *ns = t->sec * 1000000000 + t->nsec;
  return 1;
}

int prlx_phc_pair(int fd, int tries, prlx_snapshot_pair *best) {
  ptp_offset_extended o;
  memset(&o, 0, sizeof o);
  o.samples = (uint32_t)(tries < 1 ? 1 : tries > most_samples ? most_samples : tries);
  uint32_t asked = o.samples;
  if (ioctl(fd, ASK_OFFSET_EXTENDED, &o) != 0) return -1;
  best->bracket_ns = INT64_MAX;
  for (uint32_t i = 0; i < asked; i++) {
    int64_t before, at, after;
    if (!instant(&o.at[i][0], &before) || !instant(&o.at[i][1], &at) || !instant(&o.at[i][2], &after)) continue;
    int64_t width = after - before;
    if (width >= 0 && width < best->bracket_ns) *best = (prlx_snapshot_pair){before + width / 2, at, width};
  }
  return best->bracket_ns == INT64_MAX ? -1 : 0;
}

int prlx_phc_of_interface(const char *name) {
  struct ifreq r;
  ethtool_ts_info info = {.command = ethtool_get_ts_info, .phc_index = -1};
  memset(&r, 0, sizeof r);
  if (strlen(name) >= sizeof r.ifr_name) return -1;
  strcpy(r.ifr_name, name);
  r.ifr_data = (void *)&info;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int failed = ioctl(fd, siocethtool, &r);
  close(fd);
  if (failed || info.phc_index < 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/dev/ptp%d", info.phc_index);
  return open(path, O_RDONLY | O_CLOEXEC);
}

int prlx_phc_of_hypervisor(void) {
  static const char kvm[] = "KVM virtual PTP";
  for (int i = 0; i < most_devices; i++) {
    char path[64], name[sizeof kvm] = {0};
    snprintf(path, sizeof path, "/sys/class/ptp/ptp%d/clock_name", i);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    if (n != sizeof name - 1 || strcmp(name, kvm) != 0) continue;
    snprintf(path, sizeof path, "/dev/ptp%d", i);
    return open(path, O_RDONLY | O_CLOEXEC);
  }
  return -1;
}
#else
int prlx_phc_pair(int fd, int tries, prlx_snapshot_pair *best) {
  (void)fd, (void)tries, (void)best;
  return -1;
}
int prlx_phc_of_interface(const char *name) {
  (void)name;
  return -1;
}
int prlx_phc_of_hypervisor(void) { return -1; }
#endif
