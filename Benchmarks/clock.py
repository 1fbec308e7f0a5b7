"""A library that makes a program see another time, so that backups of many days take minutes."""

import os
import subprocess

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (id == CLOCK_REALTIME && getenv("SHIFT")) t->tv_sec += atol(getenv("SHIFT"));
  return result;
}
"""


def make_library(path: str | os.PathLike[str]) -> None:
    """Compiles the library: with it in LD_PRELOAD, the clock is SHIFT seconds ahead."""
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", path, "-ldl"], input=SOURCE.encode(), check=True)
