/* The file: where it is made, its header and its tables. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "recorder.h"

static struct gate shut; /* until the recorder is open */
struct gate *recorder_gate = &shut;
struct recorder recorder;

static const uint64_t spared_bytes = 64 << 20, least_mapped = 4 << 20; /* spared: of the file system, for whoever else writes there */
enum { most_segments = 1 << 17 };
static int is_in_memory; /* the file system has no disk */

/* File systems that write elsewhere what was written before need room for it, and a full one would end the process by a signal. Of Btrfs a file
 * can ask to stay where it is, as long as it is empty; where that is not to be had, 0. */
static int stays_in_place(void) {
  struct statfs f;
  int flags = 0, asked = ioctl(recorder.fd, FS_IOC_GETFLAGS, &flags) == 0;
  flags |= FS_NOCOW_FL;
  asked = asked && ioctl(recorder.fd, FS_IOC_SETFLAGS, &flags) == 0;
  if (asked || fstatfs(recorder.fd, &f) != 0) return 1;
  return (uint32_t)f.f_type != 0x9123683e /* Btrfs */ && (uint32_t)f.f_type != 0x2fc12fc1 /* ZFS */ && (uint32_t)f.f_type != 0xca451a4e /* bcachefs */;
}

static int write_zeros(uint64_t offset, uint64_t bytes) {
  static char zeros[segment_bytes]; /* takes no place in the library */
  for (uint64_t done = 0; done < bytes;) {
    size_t n = bytes - done < sizeof zeros ? (size_t)(bytes - done) : sizeof zeros;
    ssize_t wrote = pwrite(recorder.fd, zeros, n, (off_t)(offset + done));
    if (wrote < 0 && errno != EINTR) return errno;
    if (wrote == 0) return ENOSPC;
    if (wrote > 0) done += (uint64_t)wrote;
  }
  return 0;
}

/* Allocates bytes of the file. The caller has made sure that no limit on file sizes is crossed: crossing one raises a signal. Zeros are
 * written where the system does not allocate, and on disks: what is written comes into memory many pages at a time, and what is touched
 * one page after the other, which takes four times as long. */
int file_allocate(uint64_t offset, uint64_t bytes) {
  int failed;
  do failed = fallocate(recorder.fd, 0, (off_t)offset, (off_t)bytes) != 0 ? errno : 0;
  while (failed == EINTR);
  if (failed != 0 && failed != EOPNOTSUPP && failed != ENOSYS) return failed;
  return failed == 0 && is_in_memory ? 0 : write_zeros(offset, bytes);
}

int file_may_grow(uint64_t to) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && to > limit.rlim_cur) return EFBIG;
  struct statvfs v;
  if (fstatvfs(recorder.fd, &v) != 0) return 0;
  uint64_t whole = (uint64_t)v.f_blocks * v.f_frsize, spare = whole / 16 < spared_bytes ? whole / 16 : spared_bytes;
  return (uint64_t)v.f_bavail * v.f_frsize < spare + segment_bytes ? ENOSPC : 0;
}

/* Makes pages of the file writable without a fault. Linux since 5.14 says by an error that a page cannot be had; before, each is touched. */
int file_touch(char *at, uint64_t bytes) {
  enum { populate_write = 23 };
  int failed;
  do failed = madvise(at, bytes, populate_write) != 0 ? errno : 0;
  while (failed == EINTR || failed == EAGAIN);
  if (failed != EINVAL) return failed;
  for (uint64_t k = 0; k < bytes; k += 4096) {
    volatile char *touched = at + k;
    *touched = *touched;
  }
  return 0;
}

static int is_remote(const struct statfs *f) {
  static const uint32_t remote[] = {
      0x6969 /* NFS */, 0x517b /* SMB */, 0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */, 0x65735546 /* FUSE */, 0x00c36400 /* Ceph */, 0x0bd00bd0 /* Lustre */,
      0x47504653 /* GPFS */, 0x5346414f /* AFS */, 0x01021997 /* 9p */, 0x19830326 /* BeeGFS */, 0xaad7aaea /* PanFS */, 0x7461636f /* OCFS2 */, 0x20030528 /* OrangeFS */,
  };
  for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
    if ((uint32_t)f->f_type == remote[i]) return 1;
  return 0;
}

/* stat and lstat by the kernel's own call: libc's have a new version since glibc 2.33. */
static int look_at(const char *path, struct stat *st, int flags) {
#if defined(SYS_newfstatat)
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, flags);
#else
  return fstatat(AT_FDCWD, path, st, flags);
#endif
}

static int check_directory(const char *directory, char *error, size_t room) {
  struct stat st;
  struct statfs f;
  if (mkdir(directory, 0700) != 0 && errno != EEXIST) {
    snprintf(error, room, "%.900s cannot be made: %s", directory, strerror(errno));
    return -1;
  }
  if (look_at(directory, &st, 0) != 0 || !S_ISDIR(st.st_mode) || statfs(directory, &f) != 0) {
    snprintf(error, room, "%.900s is not a directory", directory);
    return -1;
  }
  if (!secure_getenv("PRLX_NCCL_DIR") && (look_at(directory, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())) {
    snprintf(error, room, "%.900s belongs to another user: set PRLX_NCCL_DIR", directory);
    return -1;
  }
  is_in_memory = (uint32_t)f.f_type == 0x01021994 /* tmpfs */ || (uint32_t)f.f_type == 0x858458f6 /* ramfs */;
  if (!is_remote(&f)) return 0;
  snprintf(error, room, "%.900s is not on a local file system, whose stalls would be NCCL's: set PRLX_NCCL_DIR to one that is", directory);
  return -1;
}

static uint64_t random_cookie(void) {
  uint16_t v = 0;
  if (syscall(SYS_getrandom, &v, sizeof v, 1 /* GRND_NONBLOCK */) != sizeof v) v = (uint16_t)(ticks_now() * 2654435761u >> 8 ^ (uint64_t)getpid());
  return (uint64_t)(v ? v : 1) << 48;
}

static int create_file(const struct settings *s, char *error, size_t room) {
  if (check_directory(s->directory, error, room) != 0) return -1;
  if (gethostname(recorder.host, sizeof recorder.host - 1) != 0) snprintf(recorder.host, sizeof recorder.host, "unknown");
  for (char *c = recorder.host; *c; c++)
    if (*c == '/') *c = '_';
  recorder.fd = -1;
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

/* Where the tables lie. With a header, writes it there too; returns where the segments begin. */
static uint64_t lay_out(struct file_header *h, char *base, struct gpu_entry **gpus) {
  uint64_t at = header_bytes;
  struct { struct section *section; uint32_t bytes, entries; void **mapped; } parts[] = {
      {&h->threads, sizeof(struct thread_entry), thread_entries, (void **)&recorder.threads},
      {&h->comms, sizeof(struct comm_entry), comm_entries, (void **)&recorder.comms},
      {&h->anchors, sizeof(struct anchor_entry), anchor_entries, (void **)&recorder.anchors},
      {&h->masks, sizeof(struct mask_entry), mask_entries, (void **)&recorder.masks},
      {&h->strings, 8, string_bytes / 8, (void **)&recorder.strings},
      {&h->environment, 1, environ_bytes, (void **)&recorder.environment},
      {&h->gpus, sizeof(struct gpu_entry), gpu_entries, (void **)gpus},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (base) {
      *parts[i].section = (struct section){at, parts[i].bytes, parts[i].entries};
      *parts[i].mapped = base + at;
    }
    at += (uint64_t)parts[i].bytes * parts[i].entries;
  }
  return (at + segment_bytes - 1) / segment_bytes * segment_bytes;
}

/* Maps all that the file may ever be. Where a limit on addresses forbids that, half of it, and so on; 0 where there is no room at all. */
static uint64_t map_file(uint64_t bytes) {
  for (; bytes >= least_mapped; bytes /= 2) {
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, recorder.fd, 0);
    if (p == MAP_FAILED) continue;
    madvise(p, bytes, MADV_DONTDUMP); /* a core dump need not hold what the file has */
    recorder.base = p;
    return bytes;
  }
  return 0;
}

static int make_tables(const struct settings *s, struct gpu_entry **gpus) {
  struct file_header none;
  uint64_t tables = lay_out(&none, NULL, gpus), most = tables + (uint64_t)most_segments * segment_bytes;
  int failed = file_may_grow(tables + segment_bytes);
  if (failed == 0) failed = file_allocate(0, tables);
  if (failed != 0) return failed;
  uint64_t mapped = map_file(s->max_bytes < most ? s->max_bytes : most);
  if (mapped == 0) return errno;
  failed = file_touch(recorder.base, tables);
  if (failed != 0) return failed;
  struct file_header *h = recorder.header = (struct file_header *)(void *)recorder.base;
  memcpy(h->magic, "PRLXNCCL", 8);
  h->version = file_version;
  h->header_bytes_ = header_bytes;
  h->segment_bytes_ = segment_bytes;
  h->record_bytes = sizeof(struct record);
  h->max_bytes = mapped;
  h->segments_offset = lay_out(h, recorder.base, gpus);
  recorder.limit = (uint32_t)((mapped - h->segments_offset) / segment_bytes);
  return 0;
}

/* Nothing of a file that could not be begun is left. */
static int give_up(void) {
  unlink(recorder.path);
  close(recorder.fd);
  recorder.header = NULL; /* the mapping stays: a thread may look at it */
  return -1;
}

int file_open(const struct settings *s, const void *caller, char *error, size_t room) {
  struct gpu_entry *gpus = NULL;
  if (create_file(s, error, room) != 0) return -1;
  if (!stays_in_place()) {
    snprintf(error, room, "%.900s is on a file system that cannot keep a file in place, where a full disk would end the process: set PRLX_NCCL_DIR", s->directory);
    return give_up();
  }
  int failed = make_tables(s, &gpus);
  if (failed != 0) {
    snprintf(error, room, "%.900s: %s", recorder.path, strerror(failed));
    return give_up();
  }
  if (store_open(error, room) != 0) return give_up();
  struct file_header *h = recorder.header;
  h->clock = recorder.clock = clock_choose(&h->ticks_per_second);
  memcpy(h->host, recorder.host, sizeof h->host);
  snprintf(h->writer, sizeof h->writer, "prlx");
  h->cookie = (uint32_t)(recorder.cookie >> 48);
  describe_process(h, s, caller, gpus);
  set32(&h->strings_used, 1);
  set32(&h->environment_used, settings_environment(recorder.environment, environ_bytes));
  h->started_realtime_ns = clock_anchor(3).realtime_ns;
  h->facts_crc = crc32c_of_facts(h, gpus);
  set32(&h->is_checked, 1);
  atomic_store_explicit(&recorder_gate->recorded, UINT64_MAX, memory_order_relaxed);
  atomic_store_explicit(&recorder_gate->cookie, recorder.cookie, memory_order_release);
  for (uint32_t i = 0; i < atomic_load(&recorder.ready_target); i++) store_prepare();
  atomic_store_explicit(&h->state, file_recording, memory_order_release);
  return 0;
}
