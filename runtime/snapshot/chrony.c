/* Asks chronyd how well it keeps the system clock: the request "tracking" of its monitoring protocol (version 6, candm.h of chrony), over
 * UDP on this host or its socket, as `chronyc tracking` does. Its manual states the bound: |system time offset| + root dispersion + root delay / 2,
 * if the servers at the root are right. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"

enum {
  default_port = 323,
  answer_ms = 40,
  protocol = 6,
  is_request = 1,
  is_reply = 2,
  asks_tracking = 33,
  tells_tracking = 5,
  length = 104, /* of the reply; a shorter request is not answered */
  not_synchronized = 3,
  max_clock_error_ppb = 1000, /* chronyd's own allowance, "maxclockerror" */
};
static const uint32_t local_reference = 0x7f7f0101; /* 127.127.1.1: chronyd pretends to be synchronized */
static const double most_seconds = 1e6;

/* A number of chrony's protocol: 7 bits of exponent, 25 bits of coefficient, both signed. */
static double number(const unsigned char *b) {
  uint32_t v = prlx_u32(b);
  int exponent = (int)(v >> 25), coefficient = (int)(v & 0x1ffffff);
  if (exponent >= 64) exponent -= 128;
  if (coefficient >= 1 << 24) coefficient -= 1 << 25;
  double x = coefficient;
  for (exponent -= 25; exponent > 0; exponent--) x *= 2;
  for (; exponent < 0; exponent++) x /= 2;
  return x;
}

static double size(double x) { return x < 0 ? -x : x; }

static int understand(const unsigned char *b, prlx_discipline *d) {
  double off = number(b + 68), rms = number(b + 76), drift = number(b + 80), residual = number(b + 84), skew = number(b + 88);
  double delay = number(b + 92), dispersion = number(b + 96);
  double error = size(off) + dispersion + delay / 2;
  if (delay < 0 || dispersion < 0 || !(error < most_seconds) || !(size(rms) < most_seconds) || !(size(drift) < 1e6) || !(size(residual) + size(skew) < 1e6)) return -1;
  d->synchronized = prlx_u16(b + 54) != not_synchronized && prlx_u32(b + 28) != local_reference && prlx_u32(b + 28) != 0;
  d->max_error_ns = (int64_t)(error * 1e9) + 1;
  d->estimated_error_ns = (int64_t)(size(rms) * 1e9);
  d->drift_ppb = (int64_t)(-drift * 1e3);
  d->growth_ppb = (int64_t)((size(residual) + size(skew)) * 1e3) + max_clock_error_ppb;
  return 0;
}

/* Asks over a socket that leads to chronyd. */
static int tracking(int fd, prlx_discipline *d) {
  unsigned char ask[length] = {protocol, is_request, 0, 0, 0, asks_tracking}, b[512];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint32_t ticket = htonl((uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 8);
  memcpy(ask + 8, &ticket, sizeof ticket);
  if (send(fd, ask, sizeof ask, 0) != (ssize_t)sizeof ask) return prlx_not_there;
  int64_t until = prlx_ask_until(answer_ms);
  for (;;) {
    ssize_t n = prlx_ask_next(fd, b, sizeof b, until);
    if (n < 0) return n == -2 ? prlx_silent : prlx_not_there;
    if (n < length || b[0] != protocol || b[1] != is_reply || prlx_u16(b + 4) != asks_tracking || memcmp(b + 16, &ticket, sizeof ticket) != 0) continue;
    return prlx_u16(b + 6) == tells_tracking && prlx_u16(b + 8) == 0 && understand(b, d) == 0 ? 0 : prlx_not_there;
  }
}

static int over_udp(prlx_discipline *d) {
  const char *text = getenv("PRLX_CHRONY_PORT");
  long port = text && *text ? strtol(text, NULL, 10) : default_port;
  if (port < 1 || port > 65535) return prlx_not_there;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return prlx_not_there;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int result = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? tracking(fd, d) : prlx_not_there;
  close(fd);
  return result;
}

/* With "cmdport 0" chronyd answers on a socket in a directory of its own only, to sockets in that directory: who may not write there is not answered. */
static int over_unix(prlx_discipline *d) {
  const char *path = getenv("PRLX_CHRONY_SOCKET");
  if (!path || !*path) path = "/run/chrony/chronyd.sock";
  struct sockaddr_un to = {.sun_family = AF_UNIX}, own = {.sun_family = AF_UNIX};
  const char *name = strrchr(path, '/');
  if (!name || strlen(path) >= sizeof to.sun_path || access(path, F_OK) != 0) return prlx_not_there;
  strcpy(to.sun_path, path);
  int n = snprintf(own.sun_path, sizeof own.sun_path, "%.*s/prlx.%ld.%lx.sock", (int)(name - path), path, (long)getpid(), (unsigned long)(uintptr_t)d);
  if (n < 0 || (size_t)n >= sizeof own.sun_path) return prlx_not_there;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return prlx_not_there;
  int result = prlx_not_there;
  unlink(own.sun_path); /* of a process that had this number and was killed */
  if (bind(fd, (struct sockaddr *)&own, sizeof own) == 0) {
    /* chronyd has given up root's rights and answers all the same */
    if (chmod(own.sun_path, 0666) == 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) result = tracking(fd, d);
    unlink(own.sun_path);
  }
  close(fd);
  return result;
}

int prlx_chrony_read(prlx_discipline *d) {
  int result = over_udp(d);
  if (result != 0) {
    int other = over_unix(d);
    if (other != prlx_not_there) result = other;
  }
  d->source = "chrony";
  strcpy(d->reference, "UTC");
  return result;
}
