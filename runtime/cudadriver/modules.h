#ifndef PRLX_CUDA_MODULES_H
#define PRLX_CUDA_MODULES_H

#include "driver.h"

struct shape { unsigned grid[3], block[3], cluster[3], shared; };

enum { MOST_PARAMETERS = 256 };
struct parameter { char name[64]; size_t bytes, align; };
struct function {
  struct module *module;
  struct function *next;
  char name[1024], called[256]; /* called: what people call it; empty until somebody asks */
  int threads, registers, dynamic_shared, shared, local, constant, n;
  struct parameter parameters[MOST_PARAMETERS];
};
struct module { long long id; struct function *functions; struct variable *variables; };

/* A variable of a module whose address was asked for. It lives in the simulator: at that address is memory of the device that stands for it, which
 * is copied into it before each launch of the module and out of it afterwards. */
struct variable { struct variable *next; char name[1024]; uint64_t at; size_t bytes; };
CUresult variables_moved(struct module *m, int into_simulator);

/* What people call a function: of one in C++ the name without its parameters. */
const char *called_of(struct function *f);

/* ---- launch.c ---- */

CUresult launch(struct function *f, const struct shape *s, CUstream stream, void **values, void **extra);

/* ---- graphs.c ---- */

/* Whether a launch goes to a graph, and is not made now; the values of its parameters are copied. */
int captured(CUstream stream, struct function *f, const struct shape *s, void **values, CUresult *code);

CUresult module_load(struct module **into, const void *image);

#endif
