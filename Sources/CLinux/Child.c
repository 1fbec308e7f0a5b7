#define _GNU_SOURCE 1

#include "Child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Code that runs in a new process. Until `execve` the child of vfork uses the memory of this process, so a
// sanitizer must not note what happens there, and all calls are system calls: a sanitizer replaces functions of
// the C library, and would take a signal handler that the child removes for one of this process.
#define IN_CHILD __attribute__((no_sanitize("thread", "address")))
// The sanitizer for threads replaces `vfork` with `fork`; by this name it does not.
extern pid_t __vfork(void) __attribute__((returns_twice));

// The signals of the C library of the kernel: one bit for each.
typedef uint64_t kernel_signals;

enum { last_signal = 31, most_descriptors = 1 << 16 };

// What this process was started with, before any of its code changed it.
static struct {
  kernel_signals mask;
  kernel_signals ignored;
  struct rlimit descriptors;
} at_start;

__attribute__((constructor)) static void note_start(void) {
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &at_start.mask, sizeof at_start.mask);
  for (int number = 1; number <= last_signal; number++) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
      at_start.ignored |= (kernel_signals)1 << (number - 1);
  }
  getrlimit(RLIMIT_NOFILE, &at_start.descriptors);
}

// Closes all descriptors from this one on.
IN_CHILD static void close_from(unsigned first) {
  if (first > INT32_MAX || syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  for (unsigned fd = first; fd < most_descriptors; fd++) syscall(SYS_close, fd);
}

// The kernel's form of `struct sigaction`: the handler, then flags and masks, whose order differs.
struct kernel_action {
  uintptr_t handler;
  uint64_t rest[7];
};

IN_CHILD static void reset_signals(void) {
  for (int number = 1; number <= last_signal; number++) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    int is_ignored = (at_start.ignored >> (number - 1)) & 1;
    struct kernel_action action;
    action.handler = (uintptr_t)(is_ignored ? SIG_IGN : SIG_DFL);
    for (int word = 0; word < 7; word++) action.rest[word] = 0;
    syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(kernel_signals));
  }
}

IN_CHILD static void reset_limit(void) {
  struct rlimit now;
  if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now) != 0) return;
  struct rlimit before = at_start.descriptors;
  if (now.rlim_cur == before.rlim_cur) return;
  now.rlim_cur = before.rlim_cur < now.rlim_max ? before.rlim_cur : now.rlim_max;
  syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &now, NULL);
}

// Makes a descriptor one of the three standard streams. All sources are above these.
IN_CHILD static int make_stream(int source, int stream) {
  return syscall(SYS_dup3, source, stream, 0) < 0 ? errno : 0;
}

IN_CHILD static int above_streams(int fd) {
  return fd > 2 ? fd : (int)syscall(SYS_fcntl, fd, F_DUPFD, 3);
}

// The child of vfork, until it executes the program.
// `words` are the words of the command line, behind a free place for the name of a shell.
IN_CHILD static int become(
    const struct clinux_child *child, const char **words, char **environment, pid_t parent) {
  syscall(SYS_setpgid, 0, 0);
  pid_t own = (pid_t)syscall(SYS_getpid);
  if (child->groups) {
    _Atomic int *groups = child->groups;
    atomic_store_explicit(&groups[child->place], own, memory_order_relaxed);
  }
  syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have died before the signal was chosen.
  if (syscall(SYS_getppid) != parent) syscall(SYS_exit_group, 127);
  int input = above_streams(child->input);
  int output = above_streams(child->output);
  int errors = above_streams(child->errors);
  int failed = make_stream(input, 0);
  if (!failed) failed = make_stream(output, 1);
  if (!failed) failed = make_stream(errors, 2);
  if (failed) return failed;
  close_from(3);
  reset_signals();
  reset_limit();
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &at_start.mask, NULL, sizeof at_start.mask);
  syscall(SYS_execve, child->program, words + 1, environment);
  if (errno != ENOEXEC) return errno;
  // A script without a line that names its interpreter, which execvp(3) gives to a shell.
  words[0] = "/bin/sh";
  words[1] = child->program;
  syscall(SYS_execve, words[0], words, environment);
  return errno;
}

// Whether a variable in the block has the same name as an entry of the environment.
static int is_replaced(const char *entry, const char *variables) {
  size_t length = strcspn(entry, "=");
  for (const char *other = variables; *other; other += strlen(other) + 1) {
    if (strncmp(other, entry, length) == 0 && other[length] == '=') return 1;
  }
  return 0;
}

// The environment of a child; NULL without memory.
static char **make_environment(const char *variables) {
  size_t count = 0, added = 0, kept = 0;
  for (char **entry = environ; entry && *entry; entry++) count++;
  for (const char *entry = variables; *entry; entry += strlen(entry) + 1) added++;
  char **all = calloc(count + added + 1, sizeof *all);
  if (!all) return NULL;
  for (const char *entry = variables; *entry; entry += strlen(entry) + 1) all[kept++] = (char *)entry;
  for (char **entry = environ; entry && *entry && kept < count + added; entry++) {
    if (!is_replaced(*entry, variables)) all[kept++] = *entry;
  }
  return all;
}

IN_CHILD static int start(
    const struct clinux_child *child, const char **words, char **environment, int *pid) {
  // Both are read after the child has changed them.
  volatile int failed = 0;
  kernel_signals all = ~(kernel_signals)0, before;
  pid_t parent = getpid();
  // A signal must not run a handler of this process in the child.
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  pid_t made = __vfork();
  if (made == 0) {
    failed = become(child, words, environment, parent);
    syscall(SYS_exit_group, 127);
  }
  if (made < 0) failed = errno;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
  *pid = made < 0 ? 0 : made;
  return failed;
}

int clinux_start_child(const struct clinux_child *child, int *pid) {
  *pid = 0;
  const char **words = calloc(child->argument_count + 2, sizeof *words);
  char **environment = make_environment(child->variables);
  int failed = ENOMEM;
  if (words && environment) {
    const char *argument = child->arguments;
    for (size_t number = 1; number <= child->argument_count; number++) {
      words[number] = argument;
      argument += strlen(argument) + 1;
    }
    failed = start(child, words, environment, pid);
  }
  free(words);
  free(environment);
  if (failed && *pid) {
    if (child->groups) clinux_forget_group(child->groups, child->place);
    while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  return failed;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

int clinux_reap_child(int pid, struct clinux_child_ending *ending) {
  int status = 0;
  struct rusage usage, own;
  memset(&usage, 0, sizeof usage);
  while (wait4(pid, &status, 0, &usage) < 0) {
    if (errno != EINTR) return errno;
  }
  ending->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ending->user_seconds = seconds(usage.ru_utime);
  ending->system_seconds = seconds(usage.ru_stime);
  int is_known = getrusage(RUSAGE_SELF, &own) == 0 && usage.ru_maxrss > own.ru_maxrss;
  ending->peak_memory = is_known ? (int64_t)usage.ru_maxrss * 1024 : 0;
  return 0;
}

int clinux_await_child(int pid) {
  siginfo_t information;
  while (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

void clinux_keep_child_status(void) {
  struct sigaction action;
  if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN) signal(SIGCHLD, SIG_DFL);
}

// The guardian: a copy of this process, which must not touch anything that another thread may have been using.
IN_CHILD static void guard(size_t count, _Atomic int *groups, int line) {
  kernel_signals all = ~(kernel_signals)0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
  syscall(SYS_setsid);
  syscall(SYS_prctl, PR_SET_NAME, "batchproc-guard", 0, 0, 0);
  syscall(SYS_chdir, "/");
  // The other end of the line is open here too: it must be closed. Then the only descriptor is number 0.
  if (line != 0) syscall(SYS_dup3, line, 0, 0);
  close_from(1);
  char none;
  while (syscall(SYS_read, 0, &none, 1) < 0 && errno == EINTR) {
  }
  // The other process has died.
  for (size_t place = 0; place < count; place++) {
    int group = atomic_load_explicit(&groups[place], memory_order_relaxed);
    if (group > 1) syscall(SYS_kill, -group, SIGKILL);
  }
  syscall(SYS_exit_group, 0);
}

int clinux_start_guardian(size_t count, void **groups, int *pid, int *line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  void *table =
      mmap(NULL, count * sizeof(_Atomic int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int failed = table == MAP_FAILED ? errno : 0;
  if (!failed) {
    kernel_signals all = ~(kernel_signals)0, before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    // fork(2) without the handlers of libraries, and without a signal for the end of the process: a program that
    // waits for any of its children does not notice this one.
    long made = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (made == 0) guard(count, table, ends[0]);
    failed = made < 0 ? errno : 0;
    *pid = (int)made;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    if (failed) munmap(table, count * sizeof(_Atomic int));
  }
  close(ends[0]);
  if (failed) {
    close(ends[1]);
    return failed;
  }
  *groups = table;
  *line = ends[1];
  return 0;
}

void clinux_end_guardian(size_t count, void *groups, int pid, int line) {
  // Before the line is closed, at whose end it would kill.
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) {
  }
  close(line);
  munmap(groups, count * sizeof(_Atomic int));
}

void clinux_forget_group(void *groups, int place) {
  atomic_store_explicit((_Atomic int *)groups + place, 0, memory_order_relaxed);
}

int clinux_epoll_create(void) {
  int made = epoll_create1(EPOLL_CLOEXEC);
  return made < 0 ? -errno : made;
}

int clinux_epoll_add(int epoll, int fd, uint64_t key) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = key};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int clinux_epoll_remove(int epoll, int fd) {
  struct epoll_event event = {0};
  return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) == 0 ? 0 : -errno;
}

int clinux_epoll_wait(int epoll, uint64_t *keys, int most, int milliseconds) {
  enum { room = 256 };
  struct epoll_event events[room];
  int count = epoll_wait(epoll, events, most < room ? most : room, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int index = 0; index < count; index++) keys[index] = events[index].data.u64;
  return count;
}

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_output_pipe(int *reading, int *writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  // The two ends have separate modes.
  if (fcntl(ends[0], F_SETFL, O_RDONLY | O_NONBLOCK) != 0) {
    int failed = errno;
    close(ends[0]);
    close(ends[1]);
    return failed;
  }
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}
