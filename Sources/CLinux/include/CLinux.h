#ifndef BATCHPROC_CLINUX_H
#define BATCHPROC_CLINUX_H

// Linux calls and constants that Swift cannot import: variadic functions, function-like macros, and
// what glibc shows only under _GNU_SOURCE. Plain types only, so that the module of glibc that Swift
// built without _GNU_SOURCE stays compatible.

#include <stddef.h>
#include <stdint.h>

/// The kernel's record of one directory entry (getdents64(2)).
struct clinux_dirent64 {
  uint64_t d_ino;
  int64_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[1];
};

enum { clinux_dirent64_name_offset = 19 };

extern const int clinux_o_path;
extern const int clinux_rename_noreplace;

long clinux_getdents64(int fd, void *buffer, size_t count);
int clinux_openat(int directory, const char *path, int flags, unsigned mode);
int clinux_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int clinux_syncfs(int fd);
/// The id of the file system of a file as fstatfs(2) tells it, 0 when it does not.
uint64_t clinux_file_system_id_of(int fd);
unsigned clinux_major(uint64_t device);
unsigned clinux_minor(uint64_t device);
/// Whether the beginning of a file is in the page cache: 1 or 0; -1 when that cannot be asked.
int clinux_is_cached(int fd);
/// Lets a file share the blocks of another one (FICLONE); 0 or -1.
int clinux_clone(int target, int source);
/// Lets a part of a file share the blocks of the same part of another one, where they are equal (FIDEDUPERANGE): the number of
/// bytes, 0 where they differ; -1 with errno.
long clinux_share_range(int source, int target, uint64_t offset, uint64_t length);
/// The magic number of the file system of a file (fstatfs(2)), -1 when it is not known.
long clinux_file_system_type(int fd);
/// Appends a part of a file to another one inside the kernel (copy_file_range(2)); how many bytes, or -1 with errno.
long clinux_copy_range(int source, uint64_t offset, int target, uint64_t length);
/// Bytes that this user may still write to the file system of a file, -1 when that is not known.
int64_t clinux_free_bytes(int fd);
extern const long clinux_overlay_file_system;
/// Whether the content of the files of a file system is made by the kernel as it is read, as in /proc and /sys. Their
/// sizes and times say nothing of it.
int clinux_is_made_on_reading(long file_system_type);

/// Opens a path that leads nowhere but below the directory and through no link (openat2(2)); -1 with ENOSYS
/// where the kernel has no such call.
int clinux_open_beneath(int directory, const char *path, int flags);
extern const int clinux_o_tmpfile;
/// Gives a file without a name, or with others, a name.
int clinux_link_descriptor(int fd, int directory, const char *name);
/// fchmod(2), fchown(2) and the time of modification for a descriptor that was opened with O_PATH, also of a symbolic
/// link.
int clinux_chmod_path_descriptor(int fd, unsigned mode);
int clinux_chown_path_descriptor(int fd, unsigned user, unsigned group);
int clinux_set_time_of_path_descriptor(int fd, int64_t seconds, int nanoseconds);
int clinux_mknodat(int directory, const char *name, unsigned mode, unsigned major_number, unsigned minor_number);

/// listxattr(2), getxattr(2), llistxattr(2), lgetxattr(2), flistxattr(2), fgetxattr(2), fsetxattr(2),
/// fremovexattr(2).
long clinux_listxattr(const char *path, void *list, size_t size);
long clinux_getxattr(const char *path, const char *name, void *value, size_t size);
long clinux_llistxattr(const char *path, void *list, size_t size);
long clinux_lgetxattr(const char *path, const char *name, void *value, size_t size);
long clinux_flistxattr(int file, void *list, size_t size);
long clinux_fgetxattr(int file, const char *name, void *value, size_t size);
int clinux_fsetxattr(int fd, const char *name, const void *value, size_t size);
int clinux_fremovexattr(int fd, const char *name);

// Sets the nice value of the calling thread by the system call itself: the program has a setpriority(3) of its own.
int clinux_set_nice(int value);

/// ioprio_set(2) for the calling process: class 1 real-time, 2 best effort, 3 idle; level 0 to 7.
int clinux_set_process_io_priority(int io_class, int level);

/// Terminal width in columns, or 0 when the descriptor is no terminal.
int clinux_terminal_columns(int fd);

/// Puts back the default action of a signal, unblocks it and sends it to this process.
void clinux_reraise(int number);
void clinux_ignore_signal(int number);

/// The number of processors this process may run on, 0 when the kernel does not say.
int clinux_affinity_count(void);

/// Notes that the calling thread is within a call on a file, until it leaves the call.
void clinux_enter_call(void);
void clinux_leave_call(void);
/// Whether calls of this thread are noted from now on.
void clinux_note_calls(int is_noted);
/// The numbers of threads, below `/proc/self/task`, that are within such calls; of many only so many, spread over all.
/// \return how many there are of them.
int clinux_threads_in_calls(int *threads, int most);

/// Whether this process ignored the signal when it was started (nohup, cron).
int clinux_is_ignored(int number);

/// Locks a byte of a file for its open file description (F_OFD_SETLK), without waiting; 0 or the error number.
int clinux_lock_byte(int fd, int64_t byte, int exclusive);
int clinux_unlock_byte(int fd, int64_t byte);
/// Takes a read lease on a file that is open for reading (F_SETLEASE), and gives it back; 0 or the error number. The signal
/// of a program that opens the file meanwhile is SIGURG, which is ignored by default.
int clinux_try_read_lease(int fd);
/// The identity that a file system gives itself (statfs(2)); 0 or the error number.
int clinux_file_system_id(const char *path, uint64_t *id);

/// Starts `/bin/sh -c command` in a process group of its own, with no signal blocked or ignored, nothing open but the three
/// streams, and standard output where standard error is; 0 or the error number.
/// \param variables `NAME=value`, each ended by NUL, and one more NUL; they replace those of the same name of this process.
int clinux_spawn_shell(const char *command, const void *variables, int input, int *pid);
/// Starts a program with an archive as standard input and a socket as standard output, in a process group of its own, with
/// no signal blocked or ignored, standard error to /dev/null and nothing else open; 0 or the error number.
int clinux_spawn_reader(
    const char *program, const char *command, const char *settings, const char *archive, int input, int socket,
    int *pid);
/// Ends this process, from a thread of its own, when the other end of a socket is closed; 0 or the error number. A signal
/// at the death of the parent (prctl(2)) comes when the thread that started the process ends, which is too early.
int clinux_end_with_peer(int socket);
/// An argument of this process, the name of the program as number 0; NULL behind the last one. Swift reads them from /proc,
/// which need not be mounted.
const char *clinux_argument(int number);
/// pidfd_open(2); -1 where the kernel has no such call.
// Keeps the memory of the process out of core files, and from ptrace of other processes of the user.
void clinux_forbid_dumps(void);

int clinux_pidfd_open(int pid);
/// The number of the call that sleep(3) makes.
int clinux_sleep_call(void);
/// Sends a message to the service manager at a Unix socket, abstract when it begins with `@`; 0 or the error number.
int clinux_notify(const char *address, const char *message);

/// Sets the number of heaps of glibc to one; see mallopt(3). Does nothing elsewhere.
void clinux_share_heap(void);

#endif
