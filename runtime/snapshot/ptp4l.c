/* Asks ptp4l how well it keeps its clock: management messages of IEEE 1588 over its socket on this host, as `pmc` does.
 *
 * What it calls the offset from the master is its last measurement, and wrong by at most the mean path delay if both are measured end to
 * end and the grandmaster is the next clock: then the delay of one way is between nothing and twice the mean. Clocks between them, and delays
 * that are measured peer to peer, have errors that nobody states: then no maximum is stated either. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask.h"
#include "phc.h"

enum {
  answer_ms = 40,
  most_messages = 64,
  most_ports = 16,
  head = 54, /* of a management message, up to its data */
  management = 0x0d,
  response = 2,
  management_tlv = 1,
  current_data_set = 0x2001,
  parent_data_set = 0x2002,
  time_properties = 0x2003,
  port_data_set = 0x2004,
  port_properties = 0xc004, /* of linuxptp */
  master = 6,
  slave = 9,
  end_to_end = 1,
  ptp_timescale = 0x08,
  in_software = 0,
  growth_ppb = 1000, /* a clock that is steered a few times a second: what its rate may wander by between two statements */
  brackets = 8,
};

typedef struct {
  int number, state, mechanism, known, stamping;
  char interface[16];
} port;

typedef struct {
  int have; /* bits of the answers that have come */
  int steps, utc_offset, timescale, ports;
  int64_t offset_ns, delay_ns;
  unsigned char grandmaster[8], own[8];
  port port[most_ports];
} answers;

enum { has_current = 1, has_parent = 2, has_time = 4, has_port = 8 };

static port *port_of(answers *a, int number) {
  for (int i = 0; i < a->ports; i++)
    if (a->port[i].number == number) return &a->port[i];
  if (a->ports == most_ports) return NULL;
  port *p = &a->port[a->ports++];
  memset(p, 0, sizeof *p);
  p->number = number;
  return p;
}

/* A time interval: 2^-16 ns. */
static int64_t interval(const unsigned char *b) { return prlx_i64(b) / 65536; }

static void take(answers *a, int id, const unsigned char *b, size_t n) {
  port *p;
  switch (id) {
    case current_data_set:
      if (n < 18) return;
      a->steps = prlx_u16(b);
      a->offset_ns = interval(b + 2);
      a->delay_ns = interval(b + 10);
      a->have |= has_current;
      return;
    case parent_data_set:
      if (n < 32) return;
      memcpy(a->grandmaster, b + 24, sizeof a->grandmaster);
      a->have |= has_parent;
      return;
    case time_properties:
      if (n < 4) return;
      a->utc_offset = (int16_t)prlx_u16(b);
      a->timescale = b[2] & ptp_timescale;
      a->have |= has_time;
      return;
    case port_data_set:
      if (n < 26 || !(p = port_of(a, prlx_u16(b + 8)))) return;
      memcpy(a->own, b, sizeof a->own);
      p->state = b[10];
      p->mechanism = b[23];
      a->have |= has_port;
      return;
    case port_properties:
      if (n < 13 || !(p = port_of(a, prlx_u16(b + 8)))) return;
      p->stamping = b[11];
      size_t length = b[12];
      if (length >= sizeof p->interface || 13 + length > n) return;
      memcpy(p->interface, b + 13, length);
      p->interface[length] = 0;
      p->known = 1;
      return;
  }
}

static int send_question(int fd, int domain, int id) {
  unsigned char m[head] = {management, 2, 0, head, (unsigned char)domain};
  m[29] = 1; /* our port */
  m[30] = (unsigned char)(id >> 8), m[31] = (unsigned char)id;
  m[32] = 4;
  m[33] = 0x7f;
  memset(m + 34, 0xff, 10); /* of all ports */
  m[49] = management_tlv;
  m[51] = 2; /* length of the identifier and of no data */
  m[52] = (unsigned char)(id >> 8), m[53] = (unsigned char)id;
  return send(fd, m, sizeof m, MSG_DONTWAIT) == (ssize_t)sizeof m ? 0 : -1;
}

static int ask_all(int fd, answers *a) {
  static const int ids[] = {port_data_set, port_properties, current_data_set, parent_data_set, time_properties}; /* answered in order */
  const char *text = getenv("PRLX_PTP_DOMAIN");
  long domain = text && *text ? strtol(text, NULL, 10) : 0;
  if (domain < 0 || domain > 255) return prlx_not_there;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (send_question(fd, (int)domain, ids[i]) != 0) return prlx_not_there;
  int64_t until = prlx_ask_until(answer_ms);
  unsigned char b[1500];
  for (int k = 0; k < most_messages && !(a->have & has_time); k++) {
    ssize_t n = prlx_ask_next(fd, b, sizeof b, until);
    if (n < 0) return a->have ? 0 : n == -2 ? prlx_silent : prlx_not_there;
    if (n < head || (b[0] & 15) != management || (b[46] & 15) != response || prlx_u16(b + 48) != management_tlv) continue;
    int length = prlx_u16(b + 50);
    if (length < 2 || 52 + length > n) continue;
    take(a, prlx_u16(b + 52), b + head, (size_t)(length - 2));
  }
  return 0;
}

static int64_t size(int64_t v) { return v < 0 ? -v : v; }

/* What the answers mean for the system clock. */
static int understand(answers *a, prlx_discipline *d) {
  const int needed = has_current | has_parent | has_time | has_port;
  const int64_t most = INT64_C(1000000000) * 1000000;
  if ((a->have & needed) != needed || size(a->offset_ns) > most || a->delay_ns < 0 || a->delay_ns > most) return prlx_not_there;
  int alone = memcmp(a->own, a->grandmaster, sizeof a->own) == 0; /* it is the grandmaster */
  port *p = NULL;
  for (int i = 0; i < a->ports && !p; i++)
    if (a->port[i].state == (alone ? master : slave)) p = &a->port[i];
  const unsigned char *g = a->grandmaster;
  snprintf(d->reference, sizeof d->reference, "PTP %02x%02x%02x.%02x%02x.%02x%02x%02x", g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]);
  d->synchronized = p != NULL;
  d->growth_ppb = growth_ppb;
  if (!p || !p->known) return 0;
  int64_t apart = 0, width = 0; /* of the system clock from the clock that ptp4l keeps */
  if (p->stamping != in_software) {
    prlx_snapshot_pair pair;
    int fd = prlx_phc_of_interface(p->interface);
    int failed = fd < 0 || prlx_phc_pair(fd, brackets, &pair) != 0;
    if (fd >= 0) close(fd);
    if (failed) return 0;
    apart = pair.sys_ns - pair.tracer_ns + (a->timescale ? a->utc_offset * INT64_C(1000000000) : 0);
    width = pair.bracket_ns / 2 + 1;
    if (size(apart) > most) return 0;
  }
  if (alone) a->offset_ns = a->delay_ns = 0;
  d->estimated_error_ns = size(a->offset_ns + apart);
  if (alone || (a->steps == 1 && p->mechanism == end_to_end)) d->max_error_ns = size(a->offset_ns) + size(apart) + width + a->delay_ns + 1;
  return 0;
}

/* The read-only socket of newer ptp4l is everybody's, the other one its owner's. */
static int reach(int fd) {
  const char *own = getenv("PRLX_PTP4L_SOCKET");
  const char *paths[] = {own && *own ? own : "/var/run/ptp4lro", own && *own ? own : "/var/run/ptp4l"};
  struct sockaddr_un me = {.sun_family = AF_UNIX}, to = {.sun_family = AF_UNIX};
  if (bind(fd, (struct sockaddr *)&me, sizeof me.sun_family) != 0) return -1; /* a name that the kernel picks: where answers go */
  for (int i = 0; i < 2; i++) {
    if (strlen(paths[i]) >= sizeof to.sun_path) return -1;
    strcpy(to.sun_path, paths[i]);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return 0;
  }
  return -1;
}

int prlx_ptp4l_read(prlx_discipline *d) {
  answers a;
  memset(&a, 0, sizeof a);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return prlx_not_there;
  int result = reach(fd) == 0 ? ask_all(fd, &a) : prlx_not_there;
  close(fd);
  d->source = "ptp4l";
  return result == 0 ? understand(&a, d) : result;
}

int prlx_hypervisor_read(prlx_discipline *d) {
  prlx_snapshot_pair pair;
  int fd = prlx_phc_of_hypervisor();
  int failed = fd < 0 || prlx_phc_pair(fd, brackets, &pair) != 0;
  if (fd >= 0) close(fd);
  if (failed) return prlx_not_there;
  d->source = "PTP-KVM";
  strcpy(d->reference, "hypervisor");
  d->synchronized = 1;
  d->growth_ppb = growth_ppb;
  d->estimated_error_ns = size(pair.sys_ns - pair.tracer_ns);
  d->max_error_ns = d->estimated_error_ns + pair.bracket_ns / 2 + 1;
  return 0;
}
