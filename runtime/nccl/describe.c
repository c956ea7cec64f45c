/* What is known of the process at its first init, for whoever joins the files of many: which process it is, which library called us and
 * which release that is, and the GPUs of the machine. Nothing of CUDA is called. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc.h"
#include "recorder.h"

AS_IN_OLD_GLIBC(dlopen);
AS_IN_OLD_GLIBC(dlsym);
AS_IN_OLD_GLIBC(dlclose);

/* The beginning of a file of the kernel. */
static void read_text(const char *path, char *out, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, room - 1);
  if (fd >= 0) close(fd);
  out[n > 0 ? n : 0] = 0;
}

/* When the process began, in ticks of the kernel: field 22, counted behind the name, which may hold anything. */
static uint64_t process_start(void) {
  char line[1024];
  read_text("/proc/self/stat", line, sizeof line);
  char *p = strrchr(line, ')');
  for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
  return p ? number_in(p + 1, NULL) : 0;
}

static uint64_t pid_namespace(void) { /* "pid:[4026531836]" */
  char link[64];
  ssize_t n = readlink("/proc/self/ns/pid", link, sizeof link - 1);
  link[n > 0 ? n : 0] = 0;
  char *p = strchr(link, '[');
  return p ? number_in(p + 1, NULL) : 0;
}

/* Libraries. */

struct wanted { uintptr_t address; int is_found; char path[4096]; };

static int holds(struct dl_phdr_info *info, size_t bytes, void *arg) {
  struct wanted *w = arg;
  (void)bytes;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || w->address - (info->dlpi_addr + p->p_vaddr) >= p->p_memsz) continue;
    snprintf(w->path, sizeof w->path, "%s", info->dlpi_name ? info->dlpi_name : "");
    return w->is_found = 1;
  }
  return 0;
}

static int library_of(const void *address, struct wanted *w) {
  w->address = (uintptr_t)address;
  w->is_found = 0;
  dl_iterate_phdr(holds, w);
  return w->is_found;
}

/* The library that called us is NCCL, under whatever name, or holds it. */
static void ask_version(struct file_header *h, const void *caller) {
  struct wanted w;
  if (!library_of(caller, &w)) return;
  char program[sizeof h->library] = "";
  if (!*w.path && readlink("/proc/self/exe", program, sizeof program - 1) < 0) program[0] = 0;
  const char *path = *w.path ? w.path : program;
  size_t n = strlen(path), kept = n < sizeof h->library ? n : sizeof h->library - 1;
  memcpy(h->library, path + n - kept, kept); /* the end of a long one says more */
  if (!dlopen || !dlsym || !dlclose) return;
  void *library = dlopen(*w.path ? w.path : NULL, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return;
  int (*get_version)(int *) = (int (*)(int *))dlsym(library, "ncclGetVersion"), version = 0;
  if (get_version && get_version(&version) == 0 && version > 0) h->nccl_version = (uint32_t)version;
  dlclose(library);
}

static void ask_own_name(struct file_header *h) {
  static const char here;
  struct wanted w;
  if (!library_of(&here, &w)) return;
  const char *base = strrchr(w.path, '/');
  if (strncmp(base ? base + 1 : w.path, "librccl", 7) == 0) atomic_fetch_or(&h->flags, file_rccl);
}

/* GPUs, as NVIDIA's kernel module describes them. */

/* What follows "NAME:" and spaces, to the end of the line. */
static void field(const char *text, const char *name, char *out, size_t room) {
  const char *p = strstr(text, name);
  out[0] = 0;
  if (p == NULL || (p = strchr(p, ':')) == NULL) return;
  p += 1 + strspn(p + 1, " \t");
  size_t n = strcspn(p, "\n");
  if (n >= room) n = room - 1;
  memcpy(out, p, n);
  out[n] = 0;
}

static void list_gpus(struct file_header *h, struct gpu_entry *gpus) {
  DIR *all = opendir("/proc/driver/nvidia/gpus");
  if (all == NULL) return;
  uint32_t n = 0;
  for (struct dirent *d; n < gpu_entries && (d = readdir(all)) != NULL;) {
    char path[400], text[2048], minor[16];
    if (d->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", d->d_name);
    read_text(path, text, sizeof text);
    struct gpu_entry *g = &gpus[n];
    field(text, "GPU UUID", g->uuid, sizeof g->uuid);
    field(text, "Device Minor", minor, sizeof minor);
    g->minor = *minor ? (int32_t)number_in(minor, NULL) : -1;
    snprintf(g->bus, sizeof g->bus, "%.39s", d->d_name);
    n++;
  }
  closedir(all);
  h->gpus_used = n;
}

static void mark_open(struct file_header *h, struct gpu_entry *gpus) {
  DIR *all = h->gpus_used ? opendir("/proc/self/fd") : NULL;
  if (all == NULL) return;
  for (struct dirent *d; (d = readdir(all)) != NULL;) {
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%.20s", d->d_name);
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    if (strncmp(target, "/dev/nvidia", 11) != 0 || target[11] < '0' || target[11] > '9') continue;
    for (uint32_t k = 0; k < h->gpus_used; k++) gpus[k].is_open |= gpus[k].minor == (int32_t)number_in(target + 11, NULL);
  }
  closedir(all);
}

void describe_process(struct file_header *h, const struct settings *s, const void *caller, struct gpu_entry *gpus) {
  read_text("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof h->boot_id);
  h->boot_id[strcspn(h->boot_id, "\n")] = 0;
  h->pid = (uint32_t)getpid();
  h->pid_start = process_start();
  h->pid_namespace = pid_namespace();
  h->level = s->level;
  ask_own_name(h);
  ask_version(h, caller);
  list_gpus(h, gpus);
  mark_open(h, gpus);
}
