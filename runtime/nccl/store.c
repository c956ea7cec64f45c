/* The file: a header, tables, and segments that are allocated, mapped and touched before anybody writes into them, so that a full disk is
 * an error of fallocate and never a signal in a thread of NCCL. When the file may not grow, the oldest full segment is taken again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "recorder.h"

struct recorder recorder;

static uint32_t *full;                             /* ring of segments that are sealed and unmapped, the oldest first; under prepare_lock */
static uint64_t full_first, full_next;
static const uint64_t spared_bytes = 64 << 20;     /* of the file system, for whoever else writes there */
enum { most_ready = 192, first_ready = 24, most_segments = 1 << 17 };

/* Allocates bytes of the file. The caller has made sure that no limit on file sizes is crossed: crossing one raises a signal. */
static int allocate(uint64_t offset, uint64_t bytes) {
  int failed;
  do failed = fallocate(recorder.fd, 0, (off_t)offset, (off_t)bytes) != 0 ? errno : 0;
  while (failed == EINTR);
  if (failed != EOPNOTSUPP && failed != ENOSYS) return failed;
  static char zeros[65536];
  for (uint64_t done = 0; done < bytes;) { /* file systems without fallocate: what is written is there */
    size_t n = bytes - done < sizeof zeros ? (size_t)(bytes - done) : sizeof zeros;
    ssize_t wrote = pwrite(recorder.fd, zeros, n, (off_t)(offset + done));
    if (wrote < 0 && errno != EINTR) return errno;
    if (wrote > 0) done += (uint64_t)wrote;
  }
  return 0;
}

static int may_grow(uint64_t to) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && to > limit.rlim_cur) return EFBIG;
  struct statvfs v;
  if (fstatvfs(recorder.fd, &v) != 0) return 0;
  uint64_t whole = (uint64_t)v.f_blocks * v.f_frsize, spare = whole / 16 < spared_bytes ? whole / 16 : spared_bytes;
  return (uint64_t)v.f_bavail * v.f_frsize < spare + segment_bytes ? ENOSPC : 0;
}

/* Maps bytes of the file and writes to each page, so that later writes fault no more. The bytes are ours alone: nobody reads them yet. */
static void *map(uint64_t offset, uint64_t bytes) {
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.fd, (off_t)offset);
  if (p == MAP_FAILED) return NULL;
  for (uint64_t at = 0; at < bytes; at += 4096) {
    volatile char *touched = p + at;
    *touched = *touched;
  }
  return p;
}

static uint64_t offset_of(uint32_t index) { return recorder.header->segments_offset + (uint64_t)index * segment_bytes; }

/* The stack of segments that are ready. */

static void push_ready(uint32_t index) {
  uint64_t head = atomic_load(&recorder.ready), next;
  do {
    atomic_store_explicit(&recorder.rooms[index].next, (uint32_t)head, memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!atomic_compare_exchange_weak(&recorder.ready, &head, next));
  atomic_fetch_add(&recorder.ready_count, 1);
}

static uint32_t pop_ready(void) {
  uint64_t head = atomic_load_explicit(&recorder.ready, memory_order_acquire), next;
  do {
    uint32_t index = (uint32_t)head;
    if (index == 0) return 0;
    next = ((head >> 32) + 1) << 32 | atomic_load_explicit(&recorder.rooms[index - 1].next, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak(&recorder.ready, &head, next));
  atomic_fetch_sub(&recorder.ready_count, 1);
  return (uint32_t)head;
}

static void unmap_sealed_locked(void);
static int prepare_locked(void);

/* Prepares a segment unless another thread is at it. */
static void prepare_here(void) {
  if (pthread_mutex_trylock(&recorder.prepare_lock) != 0) {
    sched_yield();
    return;
  }
  unmap_sealed_locked();
  prepare_locked();
  pthread_mutex_unlock(&recorder.prepare_lock);
}

enum { tries = 50 };

/* Many threads may begin at once, more than there is room ready for: the first segment of a thread is prepared by itself, as all are where
 * there is no keeper. It is tried so many times and then given up: nobody waits for a disk. */
struct segment *store_take(uint32_t *index, int is_first) {
  uint32_t found = pop_ready();
  int keeping = atomic_load_explicit(&recorder.keeping, memory_order_relaxed) != 0;
  for (int i = 0; found == 0 && i < (is_first ? tries : !keeping); i++) {
    prepare_here();
    found = pop_ready();
  }
  if (keeping) {
    uint32_t left = atomic_load_explicit(&recorder.ready_count, memory_order_relaxed), target = atomic_load_explicit(&recorder.ready_target, memory_order_relaxed);
    if (left < target / 2) atomic_store_explicit(&recorder.ready_target, target * 2 < recorder.most_ready ? target * 2 : recorder.most_ready, memory_order_relaxed);
    if (left < target / 4) keeper_wake(); /* else it looks by itself: a wake is a system call in a callback */
  }
  if (found == 0) return NULL;
  *index = found - 1;
  return recorder.rooms[found - 1].map;
}

void store_seal(struct segment *s, uint32_t index) {
  s->sealed_ticks = ticks_now();
  atomic_store_explicit(&s->state, segment_sealed, memory_order_release);
  uint32_t head = atomic_load(&recorder.sealed);
  do atomic_store_explicit(&recorder.rooms[index].next, head, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&recorder.sealed, &head, index + 1));
}

/* Unmaps what writers have sealed, and remembers it from the oldest to the newest. */
static void unmap_sealed_locked(void) {
  uint32_t index = atomic_exchange(&recorder.sealed, 0), reversed = 0;
  if (index == 0) return;
  while (index != 0) { /* the newest came first */
    uint32_t next = atomic_load(&recorder.rooms[index - 1].next);
    atomic_store(&recorder.rooms[index - 1].next, reversed);
    reversed = index;
    index = next;
  }
  while (reversed != 0) {
    uint32_t k = reversed - 1;
    reversed = atomic_load(&recorder.rooms[k].next);
    munmap(recorder.rooms[k].map, segment_bytes);
    recorder.rooms[k].map = NULL;
    full[full_next++ % recorder.limit] = k;
  }
}

void store_unmap_sealed(void) {
  pthread_mutex_lock(&recorder.prepare_lock);
  unmap_sealed_locked();
  pthread_mutex_unlock(&recorder.prepare_lock);
}

/* Counts what a segment holds that makes room for something newer. */
static void count_overwritten(const struct segment *s) {
  const struct record *r = (const struct record *)((const char *)s + sizeof *s);
  uint64_t n = atomic_load(&s->committed), by_code[codes] = {0}, all = 0;
  for (uint64_t i = 0; i < n && i < segment_slots && r[i].slots != 0; i += r[i].slots) {
    if (r[i].kind == kind_loss || r[i].kind == kind_thread) continue;
    by_code[r[i].kind == kind_start && r[i].code < codes ? r[i].code : is_own(r[i].id) ? code_of(r[i].id) % codes : code_foreign]++;
    all++;
  }
  for (int code = 0; code < codes; code++) set64(&recorder.header->overwritten[code], relaxed64(&recorder.header->overwritten[code]) + by_code[code]);
  set64(&recorder.header->overwritten_records, relaxed64(&recorder.header->overwritten_records) + all);
  set64(&recorder.header->overwritten_segments, relaxed64(&recorder.header->overwritten_segments) + 1);
}

/* A new segment at the end of the file; its index + 1, or 0 where the file may not grow. */
static uint32_t grow(void) {
  uint32_t k = relaxed32(&recorder.header->segments);
  if (k >= recorder.limit) return 0;
  int failed = may_grow(offset_of(k + 1));
  if (failed == 0) failed = allocate(offset_of(k), segment_bytes);
  set32(&recorder.header->storage_errno, (uint32_t)failed);
  if (failed != 0) atomic_fetch_or(&recorder.header->flags, file_storage_short);
  return failed == 0 ? k + 1 : 0;
}

/* Makes one segment ready; 0 where there is none to make. */
static int prepare_locked(void) {
  uint32_t found = grow();
  int grown = found != 0;
  if (!grown && full_first == full_next) return 0;
  if (!grown) found = full[full_first % recorder.limit] + 1;
  struct segment *s = map(offset_of(found - 1), segment_bytes);
  if (s == NULL) return 0;
  uint64_t generation = grown ? 0 : atomic_load(&s->generation);
  if (!grown) {
    full_first++;
    count_overwritten(s);
  }
  /* Readers look at the generation before and after: what they have read in between of the former one does not count. */
  atomic_store(&s->generation, generation + 1);
  atomic_store(&s->committed, 0);
  atomic_store(&s->state, segment_ready);
  s->magic = segment_magic;
  s->index = found - 1;
  s->sealed_ticks = 0;
  recorder.rooms[found - 1].map = s;
  if (grown) atomic_store_explicit(&recorder.header->segments, found, memory_order_release);
  push_ready(found - 1);
  return 1;
}

int store_prepare(void) {
  pthread_mutex_lock(&recorder.prepare_lock);
  int made = prepare_locked();
  pthread_mutex_unlock(&recorder.prepare_lock);
  return made;
}

/* Opening. */

static int is_remote(const struct statfs *f) {
  static const uint32_t remote[] = {
      0x6969 /* NFS */, 0x517b /* SMB */, 0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */, 0x65735546 /* FUSE */, 0x00c36400 /* Ceph */, 0x0bd00bd0 /* Lustre */,
      0x47504653 /* GPFS */, 0x5346414f /* AFS */, 0x01021997 /* 9p */, 0x19830326 /* BeeGFS */, 0xaad7aaea /* PanFS */, 0x7461636f /* OCFS2 */, 0x20030528 /* OrangeFS */,
  };
  for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
    if ((uint32_t)f->f_type == remote[i]) return 1;
  return 0;
}

static int check_directory(const char *directory, char *error, size_t room) {
  struct stat st;
  struct statfs f;
  if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
    snprintf(error, room, "%.900s cannot be made: %s", directory, strerror(errno));
    return -1;
  }
  if (stat(directory, &st) != 0 || !S_ISDIR(st.st_mode) || statfs(directory, &f) != 0) {
    snprintf(error, room, "%.900s is not a directory", directory);
    return -1;
  }
  if (!secure_getenv("PRLX_NCCL_DIR") && (lstat(directory, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())) {
    snprintf(error, room, "%.900s belongs to another user: set PRLX_NCCL_DIR", directory);
    return -1;
  }
  if (!is_remote(&f)) return 0;
  snprintf(error, room, "%.900s is not on a local file system, whose stalls would be NCCL's: set PRLX_NCCL_DIR to one that is", directory);
  return -1;
}

static uint64_t random_cookie(void) {
  uint16_t v = 0;
  if (getrandom(&v, sizeof v, GRND_NONBLOCK) != sizeof v) v = (uint16_t)(ticks_now() * 2654435761u >> 8 ^ (uint64_t)getpid());
  return (uint64_t)(v ? v : 1) << 48;
}

/* The first line of a file of the kernel, without its end. */
static void first_line(const char *path, char *out, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, room - 1);
  if (fd >= 0) close(fd);
  out[n > 0 ? n : 0] = 0;
  out[strcspn(out, "\n")] = 0;
}

/* When the process began, in ticks of the kernel: field 22, counted behind the name, which may hold anything. */
static uint64_t process_start(void) {
  char line[1024];
  first_line("/proc/self/stat", line, sizeof line);
  char *p = strrchr(line, ')');
  for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
  return p ? strtoull(p, NULL, 10) : 0;
}

static void describe_process(struct file_header *h, const struct settings *s) {
  struct stat st;
  memcpy(h->host, recorder.host, sizeof h->host);
  first_line("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
  snprintf(h->writer, sizeof h->writer, "prlx");
  h->cookie = (uint32_t)(recorder.cookie >> 48);
  h->pid = (uint32_t)getpid();
  h->pid_start = process_start();
  if (stat("/proc/self/ns/pid", &st) == 0) h->pid_namespace = st.st_ino;
  h->level = s->level;
  Dl_info own;
  static const char here;
  if (dladdr(&here, &own) && own.dli_fname) {
    const char *base = strrchr(own.dli_fname, '/');
    if (strncmp(base ? base + 1 : own.dli_fname, "librccl", 7) == 0) atomic_fetch_or(&h->flags, file_rccl);
  }
}

static void lay_out(struct file_header *h, char *base) {
  uint64_t at = header_bytes;
  struct { struct section *section; uint32_t bytes, entries; void **mapped; } parts[] = {
      {&h->threads, sizeof(struct thread_entry), thread_entries, (void **)&recorder.threads},
      {&h->comms, sizeof(struct comm_entry), comm_entries, (void **)&recorder.comms},
      {&h->anchors, sizeof(struct anchor_entry), anchor_entries, (void **)&recorder.anchors},
      {&h->masks, sizeof(struct mask_entry), mask_entries, (void **)&recorder.masks},
      {&h->strings, 8, string_bytes / 8, (void **)&recorder.strings},
      {&h->environment, 1, environ_bytes, (void **)&recorder.environment},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    *parts[i].section = (struct section){at, parts[i].bytes, parts[i].entries};
    *parts[i].mapped = base + at;
    at += (uint64_t)parts[i].bytes * parts[i].entries;
  }
  h->segments_offset = (at + segment_bytes - 1) / segment_bytes * segment_bytes;
}

static uint64_t tables_bytes(void) {
  uint64_t n = header_bytes + thread_entries * sizeof(struct thread_entry) + comm_entries * sizeof(struct comm_entry) +
               anchor_entries * sizeof(struct anchor_entry) + mask_entries * sizeof(struct mask_entry) + string_bytes + environ_bytes;
  return (n + segment_bytes - 1) / segment_bytes * segment_bytes;
}

static int create_file(const struct settings *s, char *error, size_t room) {
  if (check_directory(s->directory, error, room) != 0) return -1;
  if (gethostname(recorder.host, sizeof recorder.host - 1) != 0) snprintf(recorder.host, sizeof recorder.host, "unknown");
  for (char *c = recorder.host; *c; c++)
    if (*c == '/') *c = '_';
  for (int i = 0; i < 16 && recorder.fd < 0; i++) {
    recorder.cookie = random_cookie();
    int n = snprintf(recorder.path, sizeof recorder.path, "%s/%s-%d-%04x.prlx-nccl", s->directory, recorder.host, (int)getpid(), (unsigned)(recorder.cookie >> 48));
    if (n < 0 || (size_t)n >= sizeof recorder.path) break;
    recorder.fd = open(recorder.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (recorder.fd < 0 && errno != EEXIST) break;
  }
  if (recorder.fd < 0) snprintf(error, room, "%.900s cannot be written: %s", s->directory, strerror(errno));
  return recorder.fd < 0 ? -1 : 0;
}

/* Memory that a forked child sees as zeros. */
static struct gate *make_gate(void) {
  void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  madvise(p, 4096, MADV_WIPEONFORK); /* before Linux 4.14 the handler of plugin.c does it alone */
  return p;
}

static int map_tables(const struct settings *s, char *error, size_t room) {
  uint64_t bytes = tables_bytes();
  int failed = may_grow(bytes + segment_bytes);
  if (failed == 0) failed = allocate(0, bytes);
  char *base = failed == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.fd, 0) : NULL;
  if (base == MAP_FAILED) failed = errno;
  if (failed != 0) {
    snprintf(error, room, "%.900s: %s", recorder.path, strerror(failed));
    return -1;
  }
  struct file_header *h = recorder.header = (struct file_header *)base;
  memcpy(h->magic, "PRLXNCCL", 8);
  h->version = file_version;
  h->header_bytes_ = header_bytes;
  h->segment_bytes_ = segment_bytes;
  h->record_bytes = sizeof(struct record);
  h->max_bytes = s->max_bytes;
  lay_out(h, base);
  uint64_t limit = (s->max_bytes - h->segments_offset) / segment_bytes;
  recorder.limit = limit < most_segments ? (uint32_t)limit : most_segments;
  recorder.most_ready = recorder.limit / 4 < most_ready ? recorder.limit / 4 : most_ready; /* the rest is what a file is for */
  return 0;
}

int store_open(const struct settings *s, char *error, size_t room) {
  recorder.fd = -1;
  pthread_mutex_init(&recorder.mask_lock, NULL);
  pthread_mutex_init(&recorder.prepare_lock, NULL);
  if (create_file(s, error, room) != 0) return -1;
  if (map_tables(s, error, room) != 0) {
    unlink(recorder.path);
    close(recorder.fd);
    return -1;
  }
  recorder.rooms = calloc(recorder.limit, sizeof *recorder.rooms);
  full = calloc(recorder.limit, sizeof *full);
  struct gate *gate = make_gate();
  if (!recorder.rooms || !full || !gate) {
    snprintf(error, room, "no memory");
    return -1;
  }
  struct file_header *h = recorder.header;
  h->clock = recorder.clock = clock_choose(&h->ticks_per_second);
  describe_process(h, s);
  set32(&h->strings_used, 1);
  set32(&h->environment_used, settings_environment(recorder.environment, environ_bytes));
  struct anchor now = clock_anchor();
  h->started_realtime_ns = now.realtime_ns;
  atomic_store(&recorder.ids, 1);
  atomic_store(&recorder.ready_target, first_ready < recorder.most_ready ? first_ready : recorder.most_ready);
  recorder.gate = gate;
  atomic_store_explicit(&gate->recorded, UINT64_MAX, memory_order_relaxed);
  atomic_store_explicit(&gate->cookie, recorder.cookie, memory_order_release);
  for (uint32_t i = 0; i < atomic_load(&recorder.ready_target); i++) store_prepare();
  atomic_store_explicit(&h->state, file_recording, memory_order_release);
  return 0;
}
