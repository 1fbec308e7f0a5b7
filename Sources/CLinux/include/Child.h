#ifndef BATCHPROC_CLINUX_CHILD_H
#define BATCHPROC_CLINUX_CHILD_H

// Starting and watching the child processes of a run.

#include <stddef.h>
#include <stdint.h>

/// A program to start as a child of the calling thread.
struct clinux_child {
  /// The file to execute.
  const char *program;
  /// The arguments, each ended by NUL; the first one is the name of the program.
  const void *arguments;
  size_t argument_count;
  /// `NAME=value` entries, each ended by NUL, and a final NUL; they replace variables of this process with the
  /// same name.
  const void *variables;
  /// The standard streams of the child.
  int input;
  int output;
  int errors;
  /// The table of the guardian, and the place in it where the child writes the number of its process group.
  void *groups;
  int place;
};

/// Starts a program in its own process group, with only the three standard streams open, and with the signal
/// mask, the ignored signals and the limit of descriptors that this process was started with. It is killed when
/// the calling thread ends.
/// \param pid 0 if no process could be made; otherwise its number, also when it could not execute the program.
/// \return 0 or the error number; then no process is left.
int clinux_start_child(const struct clinux_child *child, int *pid);

/// How a child process has ended, and what it used.
struct clinux_child_ending {
  /// The exit status; -1 if a signal ended the process.
  int status;
  int signal;
  double user_seconds;
  double system_seconds;
  /// The largest resident set, in bytes; 0 if it was not larger than that of this process. A child begins as a
  /// copy of this process, and the kernel counts that too.
  int64_t peak_memory;
};

/// Waits for the end of a child process, and frees its number; 0 or the error number.
int clinux_reap_child(int pid, struct clinux_child_ending *ending);
/// Waits for the end of a child process, whose number stays valid; 0 or the error number.
int clinux_await_child(int pid);
/// Restores the default action of SIGCHLD if it is ignored. Otherwise the kernel would drop the status of each
/// child.
void clinux_keep_child_status(void);

/// Starts a process that kills all process groups in a table with SIGKILL when this process has died.
/// \param count the number of places in the table.
/// \param groups the table, in memory that both processes share.
/// \param line the end of a pipe, which must stay open for as long as this process lives.
/// \return 0 or the error number.
int clinux_start_guardian(size_t count, void **groups, int *pid, int *line);
/// Ends the guardian without killing anything, and frees its table.
void clinux_end_guardian(size_t count, void *groups, int pid, int line);
/// Removes a process group from the table: called before the number of the group may be reused.
void clinux_forget_group(void *groups, int place);

/// epoll(7), for reading and for the end of the other side. Each call returns 0 or more, or the negative error
/// number. `clinux_epoll_wait` writes the keys of the descriptors that are ready.
int clinux_epoll_create(void);
int clinux_epoll_add(int epoll, int fd, uint64_t key);
int clinux_epoll_remove(int epoll, int fd);
int clinux_epoll_wait(int epoll, uint64_t *keys, int most, int milliseconds);
/// eventfd(2), without blocking; -1 with errno.
int clinux_eventfd(void);
/// A pipe whose ends are closed on exec. Only reading does not block. 0 or the error number.
int clinux_output_pipe(int *reading, int *writing);

#endif
