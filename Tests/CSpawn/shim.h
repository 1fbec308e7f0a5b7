#ifndef BATCHPROC_CSPAWN_H
#define BATCHPROC_CSPAWN_H

// Functions of spawn.h that glibc declares only with _GNU_SOURCE.

#include <spawn.h>

extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
