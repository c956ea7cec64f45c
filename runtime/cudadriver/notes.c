/* What the program itself does wrong with the runtime: noted in the run that it is a part of, else said at once. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* The library is loaded before a handler of signals or a destructor asks for its frames. */
__attribute__((constructor)) static void begin(void) {
  void *at[1];
  if (getenv("PRLX_CUDA_DEVICE")) backtrace(at, 1);
}

/* Where our own libraries lie: of every allocation is noted who asked for it, and to look up each address by name would take a millisecond beside
 * the symbols of a library such as torch's. */
static struct { uintptr_t from, to; } ours[8];
static int ours_count;
static unsigned long long seen_adds;

static int look(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  const char *name = strrchr(info->dlpi_name, '/');
  if (strncmp(name ? name + 1 : info->dlpi_name, "libcuda", 7) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum && ours_count < 8; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    ours[ours_count].from = info->dlpi_addr + p->p_vaddr;
    ours[ours_count].to = ours[ours_count].from + p->p_memsz;
    ours_count++;
  }
  return 0;
}

static int added(struct dl_phdr_info *info, size_t size, void *into) {
  (void)size;
  *(unsigned long long *)into = info->dlpi_adds;
  return 1;
}

static int is_ours(uintptr_t at) {
  for (int i = 0; i < ours_count; i++)
    if (at >= ours[i].from && at < ours[i].to) return 1;
  return 0;
}

struct place caller(void) {
  HOLD;
  struct place p = {{NULL}};
  void *at[32];
  unsigned long long adds = 0;
  dl_iterate_phdr(added, &adds);
  if (adds != seen_adds) { /* a library was loaded since */
    ours_count = 0;
    dl_iterate_phdr(look, NULL);
    seen_adds = adds;
  }
  int n = backtrace(at, 32), found = 0;
  for (int i = 1; i < n && found < 6; i++)
    if (!is_ours((uintptr_t)at[i])) p.at[found++] = (char *)at[i] - 1; /* within the call, not behind it */
  return p;
}

/* A finding of a check in a call of the program. */
API void prlx_cuda_note(const char *check, const char *call, const char *message, const struct place *where) {
  struct text t = {0};
  Dl_info info;
  struct place here = where ? *where : caller();
  if (!watched()) {
    fprintf(stderr, "prlx: %s: %s: %s\n", check, call, message);
    return;
  }
  say(&t, "{\"check\": ");
  say_quoted(&t, check, strlen(check));
  say(&t, ", \"call\": ");
  say_quoted(&t, call, strlen(call));
  say(&t, ", \"message\": ");
  say_quoted(&t, message, strlen(message));
  say(&t, ", \"places\": [");
  for (int i = 0; i < 6 && here.at[i] && dladdr(here.at[i], &info) && info.dli_fname; i++) {
    char *whole = realpath(info.dli_fname, NULL); /* a program's name may be relative to where it runs */
    const char *object = whole ? whole : info.dli_fname;
    say(&t, "%s{\"offset\": %llu, \"function\": ", i ? ", " : "", (unsigned long long)((char *)here.at[i] - (char *)info.dli_fbase));
    say_quoted(&t, info.dli_sname ? info.dli_sname : "", info.dli_sname ? strlen(info.dli_sname) : 0);
    say(&t, ", \"object\": ");
    say_quoted(&t, object, strlen(object));
    say(&t, "}");
    free(whole);
  }
  say(&t, "]");
  say(&t, "}");
  if (t.at) free(ask_text("run_note", t.at, t.n));
  free(t.at);
}
