/* Asks chronyd how well it keeps the system clock: the request "tracking" of its monitoring protocol (version 6, candm.h of chrony), over
 * UDP on this host, as `chronyc tracking` does. Its manual states the bound: |system time offset| + root dispersion + root delay / 2,
 * if the servers at the root are right. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

int prlx_chrony_read(prlx_discipline *d) {
  const char *text = getenv("PRLX_CHRONY_PORT");
  long port = text && *text ? strtol(text, NULL, 10) : default_port;
  if (port < 1 || port > 65535) return prlx_not_there;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return prlx_not_there;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  unsigned char ask[length] = {protocol, is_request, 0, 0, 0, asks_tracking}, b[512];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint32_t ticket = htonl((uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 8);
  memcpy(ask + 8, &ticket, sizeof ticket);
  int result = prlx_not_there;
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && send(fd, ask, sizeof ask, 0) == (ssize_t)sizeof ask) {
    int64_t until = prlx_ask_until(answer_ms);
    for (;;) {
      ssize_t n = prlx_ask_next(fd, b, sizeof b, until);
      if (n < 0) {
        result = n == -2 ? prlx_silent : prlx_not_there;
        break;
      }
      if (n < length || b[0] != protocol || b[1] != is_reply || prlx_u16(b + 4) != asks_tracking || memcmp(b + 16, &ticket, sizeof ticket) != 0) continue;
      if (prlx_u16(b + 6) == tells_tracking && prlx_u16(b + 8) == 0 && understand(b, d) == 0) result = 0;
      break;
    }
  }
  close(fd);
  d->source = "chrony";
  strcpy(d->reference, "UTC");
  return result;
}
