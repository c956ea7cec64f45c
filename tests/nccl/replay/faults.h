/* Modes that do to the recorder what programs and machines do: endings, forks, limits, signals. Each returns the exit code. */
#ifndef PRLX_FAULTS_H
#define PRLX_FAULTS_H

#include "harness.h"

int mode_ends(struct plugin *p, char **args);
int mode_reload(struct plugin *p, char **args);
int mode_daemon(struct plugin *p, char **args);
int mode_exec(struct plugin *p, char **args);
int mode_limits(struct plugin *p, char **args);
int mode_signals(struct plugin *p, char **args);
int mode_user(struct plugin *p, char **args);
int mode_memory(struct plugin *p, char **args);
int mode_held(struct plugin *p, char **args);
int mode_texts(struct plugin *p, char **args);
int mode_pair(struct plugin *p, char **args);

/* Calls of a proxy step, as fast as they go; how many there were. */
uint64_t climb_steps(struct plugin *p, uint64_t context, uint64_t events);

#endif
