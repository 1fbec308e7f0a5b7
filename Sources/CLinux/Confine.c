#define _GNU_SOURCE 1

#include "CLinux.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_CALLS AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_CALLS AUDIT_ARCH_AARCH64
#else
// Without the number of the processor no system call is refused; the process only gets no new privileges.
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// A sanitizer needs calls of its own.
#undef NATIVE_CALLS
#endif
#endif

int clinux_confine(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
#ifdef NATIVE_CALLS
  // What reading, decoding, memory and answers need. An argument that has forbidden bits is refused.
  static const struct {
    unsigned number;
    unsigned argument;
    unsigned forbidden;
  } allowed[] = {
      {SYS_read, 0, 0},      {SYS_pread64, 0, 0},       {SYS_readv, 0, 0},          {SYS_preadv, 0, 0},
      {SYS_lseek, 0, 0},     {SYS_write, 0, 0},         {SYS_sendto, 0, 0},         {SYS_recvfrom, 0, 0},
      {SYS_close, 0, 0},     {SYS_fstat, 0, 0},         {SYS_newfstatat, 0, 0},     {SYS_fadvise64, 0, 0},
      {SYS_munmap, 0, 0},    {SYS_mremap, 0, 0},        {SYS_brk, 0, 0},            {SYS_madvise, 0, 0},
      {SYS_futex, 0, 0},     {SYS_rt_sigreturn, 0, 0},  {SYS_rt_sigprocmask, 0, 0}, {SYS_ppoll, 0, 0},
#ifdef SYS_poll
      {SYS_poll, 0, 0},
#endif
      {SYS_exit, 0, 0},      {SYS_exit_group, 0, 0},    {SYS_clock_gettime, 0, 0},  {SYS_getrandom, 0, 0},
      {SYS_getrusage, 0, 0}, {SYS_restart_syscall, 0, 0},
      // A lock has the number of its thread, and a thread that has just begun prepares itself.
      {SYS_gettid, 0, 0},    {SYS_getpid, 0, 0},        {SYS_sched_yield, 0, 0},    {SYS_set_robust_list, 0, 0},
      {SYS_rseq, 0, 0},      {SYS_sigaltstack, 0, 0},   {SYS_rt_sigaction, 0, 0},
      {SYS_prlimit64, 0, ~0u}, // only of this process
      {SYS_mmap, 2, PROT_EXEC}, {SYS_mprotect, 2, PROT_EXEC},
  };
  enum { rules = sizeof allowed / sizeof *allowed, steps = 4 };
  struct sock_filter filter[rules * steps + 5];
  unsigned short count = 0;
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_CALLS, 1, 0);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  for (unsigned rule = 0; rule < rules; rule++) {
    filter[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[rule].number, 0, 2);
    // The lower half of the argument; both processors store it first.
    filter[count++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * allowed[rule].argument);
    filter[count++] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JSET | BPF_K, allowed[rule].forbidden, 0, (rules - rule - 1) * steps + 1);
  }
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {.len = count, .filter = filter};
  long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  // A kernel without these filters.
  if (failed != 0 && errno != ENOSYS && errno != EINVAL) return errno;
#endif
  return 0;
}
