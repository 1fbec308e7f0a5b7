#ifndef BATCHPROC_CLINUX_SHIM_H
#define BATCHPROC_CLINUX_SHIM_H

// Linux calls and constants that Swift cannot import: variadic functions,
// function-like macros, and calls that glibc hides behind feature macros.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

/// The kernel's record of one directory entry (getdents64(2)).
struct clinux_dirent64 {
  uint64_t d_ino;
  int64_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[];
};

enum { clinux_dirent64_name_offset = offsetof(struct clinux_dirent64, d_name) };

static inline long clinux_getdents64(int fd, void *buffer, size_t count) {
  return syscall(SYS_getdents64, fd, buffer, count);
}

static inline int clinux_openat(int directory, const char *path, int flags, mode_t mode) {
  return openat(directory, path, flags, mode);
}

static inline int clinux_syncfs(int fd) { return (int)syscall(SYS_syncfs, fd); }

static inline long clinux_gettid(void) { return syscall(SYS_gettid); }

/// ioprio_set(2) for the whole process.
static inline int clinux_set_process_io_priority(int io_class, int level) {
  return (int)syscall(SYS_ioprio_set, 1, 0, (io_class << 13) | level);
}

/// Terminal width in columns, or 0 when the descriptor is no terminal.
static inline int clinux_terminal_columns(int fd) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

/// Puts back the default action of a signal and sends it to this process.
static inline void clinux_reraise(int number) {
  struct sigaction action;
  sigset_t set;
  action.sa_handler = SIG_DFL;
  action.sa_flags = 0;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, 0);
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, 0);
  kill(getpid(), number);
  raise(number);
}

static inline void clinux_ignore_signal(int number) { signal(number, SIG_IGN); }

#endif
