#ifndef BATCHPROC_CLINUX_H
#define BATCHPROC_CLINUX_H

// Linux calls and constants that Swift cannot import: variadic functions, function-like macros, and
// declarations that glibc makes only with _GNU_SOURCE. All types are plain, so that the header is compatible
// with Swift's module of glibc, which is built without _GNU_SOURCE.

#include <stddef.h>
#include <stdint.h>

#include "Child.h"

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
/// The id of a file's file system by fstatfs(2); 0 when it is unknown.
uint64_t clinux_file_system_id_of(int fd);
unsigned clinux_major(uint64_t device);
unsigned clinux_minor(uint64_t device);
/// Whether the beginning of a file is in the page cache: 1 or 0; -1 when that cannot be determined.
int clinux_is_cached(int fd);
/// Makes a file share the blocks of another one (FICLONE); 0, or -1 with errno.
int clinux_clone(int target, int source);
/// Makes a part of a file share the blocks of the same part of another file if they are equal
/// (FIDEDUPERANGE).
/// \return the number of bytes, 0 if they differ; -1 with errno.
long clinux_share_range(int source, int target, uint64_t offset, uint64_t length);
/// The magic number of a file's file system (fstatfs(2)); -1 when it is unknown.
long clinux_file_system_type(int fd);
/// Writes a part of a file at the position of another one, within the kernel (copy_file_range(2)).
/// \return the number of bytes, or -1 with errno.
long clinux_copy_range(int source, uint64_t offset, int target, uint64_t length);
/// As clinux_copy_range, but to an offset of the target; its file position is neither used nor moved.
long clinux_copy_range_to(int source, uint64_t offset, int target, uint64_t place, uint64_t length);
/// Begins to write bytes of a file to the disk, and does not wait.
void clinux_begin_sync(int fd, uint64_t start, uint64_t length);
/// Drops the clean pages of a file from the page cache, as far as the kernel follows the advice.
void clinux_drop_cache(int fd);
/// The number of bytes that an ordinary user may still write to a file's file system; -1 when it is unknown.
int64_t clinux_free_bytes(int fd);
extern const long clinux_overlay_file_system;
/// Whether the kernel generates the content of a file system's files when they are read, as in /proc and
/// /sys. Sizes and times of such files do not describe their content.
int clinux_is_made_on_reading(long file_system_type);

/// Opens a path below the directory without following links (openat2(2)); -1 with ENOSYS if the kernel lacks
/// the call.
int clinux_open_beneath(int directory, const char *path, int flags);
extern const int clinux_o_tmpfile;
/// Gives an open file a name, or a further one.
int clinux_link_descriptor(int fd, int directory, const char *name);
/// Sets mode, owner or modification time of a file that was opened with O_PATH, which may be a symbolic link.
int clinux_chmod_path_descriptor(int fd, unsigned mode);
int clinux_removexattr_path_descriptor(int fd, const char *name);
int clinux_setxattr_path_descriptor(int fd, const char *name, const void *value, size_t size);
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

/// Sets the nice value of the calling thread by the system call, since the program replaces setpriority(3).
int clinux_set_nice(int value);

/// ioprio_set(2) for the calling process: class 1 real-time, 2 best effort, 3 idle; level 0 to 7.
int clinux_set_process_io_priority(int io_class, int level);

/// The width of a terminal in columns; 0 when the descriptor is not a terminal.
int clinux_terminal_columns(int fd);

/// Restores the default action of a signal, unblocks it and sends it to this thread.
void clinux_reraise(int number);
void clinux_ignore_signal(int number);

/// The number of processors on which this process may run; 0 when it is unknown.
int clinux_affinity_count(void);

/// Marks the calling thread as being in a call on a file, until it leaves the call.
void clinux_enter_call(void);
void clinux_leave_call(void);
/// Sets whether calls of this thread are marked from now on; they are by default.
void clinux_note_calls(int is_noted);
/// Writes the numbers of threads in marked calls, as in `/proc/self/task`: at most `most` of them, spread
/// over all.
/// \return the number of all threads in marked calls.
int clinux_threads_in_calls(int *threads, int most);

/// Whether this process ignores the signal. At its start this means that it was inherited (nohup, cron).
int clinux_is_ignored(int number);

/// Locks a byte of a file for its open file description (F_OFD_SETLK), without waiting; 0 or the error
/// number.
int clinux_lock_byte(int fd, int64_t byte, int exclusive);
int clinux_unlock_byte(int fd, int64_t byte);
/// Takes a read lease on a file that is open for reading (F_SETLEASE), and releases it; 0 or the error
/// number. If another program opens the file meanwhile, the kernel sends SIGURG, which is ignored by default.
int clinux_try_read_lease(int fd);
/// Writes the id of a file system (statfs(2)); 0 or the error number.
int clinux_file_system_id(const char *path, uint64_t *id);
/// Writes the 16 bytes of the UUID of a file's file system: of XFS, and of Btrfs regardless of the subvolume.
/// \return 1, or 0 for other file systems.
int clinux_file_system_uuid(int fd, unsigned char *uuid);

/// Starts `/bin/sh -c command` in a separate process group, with no signal blocked or ignored. Only the three
/// standard streams are open, and standard output goes to standard error.
/// \param variables `NAME=value` entries, each ended by NUL, and a final NUL; they replace variables of this
///   process with the same name.
/// \return 0 or the error number.
int clinux_spawn_shell(const char *command, const void *variables, int input, int *pid);
/// Starts a program in a separate process group, with an archive as standard input, a socket as standard
/// output and /dev/null as standard error, no other open file, an empty environment, and no signal blocked or
/// ignored; 0 or the error number.
int clinux_spawn_reader(
    const char *program, const char *command, const char *settings, const char *archive, int input, int socket,
    int *pid);
/// Starts a thread that ends this process when the other end of a socket is closed; 0 or the error number.
/// The signal for the death of the parent (prctl(2)) would come too early: when the thread ends that started
/// this process.
int clinux_end_with_peer(int socket);
/// Takes from this process, for ever, all system calls but those that read open files, answer on a socket and
/// manage its memory (seccomp(2)): it opens no file, starts no program, makes no connection and maps no memory as
/// code. Other calls fail with EPERM. 0 or the error number; 0 also on a kernel without such filters.
int clinux_confine(void);
/// An argument of this process, with the name of the program as number 0; NULL after the last one. Swift
/// reads the arguments from /proc, which may not be mounted.
const char *clinux_argument(int number);
/// Keeps the memory of the process out of core files, and out of reach of ptrace by other processes of the
/// user.
void clinux_forbid_dumps(void);

/// pidfd_open(2); -1 if the kernel lacks the call.
int clinux_pidfd_open(int pid);
/// The number of the system call that sleep(3) makes.
int clinux_sleep_call(void);
/// Sends a message to the service manager at a Unix socket, abstract when it begins with `@`; 0 or the error
/// number.
int clinux_notify(const char *address, const char *message);

/// Sets the number of glibc's heaps to one; see mallopt(3). Has no effect with other C libraries.
void clinux_share_heap(void);
/// Returns freed memory to the kernel; see malloc_trim(3). Has no effect with other C libraries.
void clinux_trim_heap(void);

#endif
