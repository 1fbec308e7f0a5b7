#define _GNU_SOURCE 1

#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

const int clinux_o_path = O_PATH;
const int clinux_o_tmpfile = O_TMPFILE;
const int clinux_rename_noreplace = RENAME_NOREPLACE;

_Static_assert(offsetof(struct clinux_dirent64, d_name) == clinux_dirent64_name_offset, "the kernel's layout");

long clinux_getdents64(int fd, void *buffer, size_t count) {
  return syscall(SYS_getdents64, fd, buffer, count);
}

int clinux_openat(int directory, const char *path, int flags, unsigned mode) {
  return openat(directory, path, flags, (mode_t)mode);
}

uint64_t clinux_file_system_id_of(int fd) {
  struct statfs facts;
  uint64_t id = 0;
  _Static_assert(sizeof facts.f_fsid == sizeof id, "the kernel's layout");
  if (fstatfs(fd, &facts) == 0) memcpy(&id, &facts.f_fsid, sizeof id);
  return id;
}

unsigned clinux_major(uint64_t device) { return major((dev_t)device); }

unsigned clinux_minor(uint64_t device) { return minor((dev_t)device); }

int clinux_is_cached(int fd) {
  char byte;
  struct iovec part = {&byte, 1};
  ssize_t count = preadv2(fd, &part, 1, 0, RWF_NOWAIT);
  if (count > 0) return 1;
  return count < 0 && errno == EAGAIN ? 0 : -1;
}

int clinux_clone(int target, int source) { return ioctl(target, FICLONE, source); }

long clinux_share_range(int source, int target, uint64_t offset, uint64_t length) {
  union {
    struct file_dedupe_range range;
    char room[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
  } request;
  memset(&request, 0, sizeof request);
  request.range.src_offset = offset;
  request.range.src_length = length;
  request.range.dest_count = 1;
  request.range.info[0].dest_fd = target;
  request.range.info[0].dest_offset = offset;
  if (ioctl(source, FIDEDUPERANGE, &request) < 0) return -1;
  if (request.range.info[0].status == FILE_DEDUPE_RANGE_DIFFERS) return 0;
  if (request.range.info[0].status < 0) {
    errno = -request.range.info[0].status;
    return -1;
  }
  return (long)request.range.info[0].bytes_deduped;
}

int clinux_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
  return renameat2(from_dir, from, to_dir, to, flags);
}

long clinux_llistxattr(const char *path, void *list, size_t size) { return llistxattr(path, list, size); }

long clinux_lgetxattr(const char *path, const char *name, void *value, size_t size) {
  return lgetxattr(path, name, value, size);
}

long clinux_flistxattr(int file, void *list, size_t size) { return flistxattr(file, list, size); }

long clinux_fgetxattr(int file, const char *name, void *value, size_t size) {
  return fgetxattr(file, name, value, size);
}

long clinux_listxattr(const char *path, void *list, size_t size) { return listxattr(path, list, size); }

long clinux_getxattr(const char *path, const char *name, void *value, size_t size) {
  return getxattr(path, name, value, size);
}

int clinux_fsetxattr(int fd, const char *name, const void *value, size_t size) {
  return fsetxattr(fd, name, value, size, 0);
}

int clinux_fremovexattr(int fd, const char *name) { return fremovexattr(fd, name); }

const long clinux_overlay_file_system = OVERLAYFS_SUPER_MAGIC;

int clinux_is_made_on_reading(long file_system_type) {
  switch (file_system_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
      return 1;
    default:
      return 0;
  }
}

long clinux_file_system_type(int fd) {
  struct statfs about;
  return fstatfs(fd, &about) == 0 ? (long)about.f_type : -1;
}

long clinux_copy_range(int source, uint64_t offset, int target, uint64_t length) {
  off64_t place = (off64_t)offset;
  return copy_file_range(source, &place, target, NULL, length < 1 << 30 ? length : 1 << 30, 0);
}

long clinux_copy_range_to(int source, uint64_t offset, int target, uint64_t place, uint64_t length) {
  off64_t from = (off64_t)offset;
  off64_t to = (off64_t)place;
  return copy_file_range(source, &from, target, &to, length < 1 << 30 ? length : 1 << 30, 0);
}

void clinux_begin_sync(int fd, uint64_t start, uint64_t length) {
  (void)sync_file_range(fd, (off64_t)start, (off64_t)length, SYNC_FILE_RANGE_WRITE);
}

void clinux_drop_cache(int fd) { posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); }

int64_t clinux_free_bytes(int fd) {
  struct statfs about;
  int64_t free;
  // A file system without a fixed size reports 0 blocks.
  if (fstatfs(fd, &about) != 0 || about.f_blocks == 0) return -1;
  long unit = about.f_frsize > 0 ? about.f_frsize : about.f_bsize;
  return __builtin_mul_overflow(about.f_bavail, unit, &free) ? INT64_MAX : free;
}

int clinux_syncfs(int fd) { return syncfs(fd); }

int clinux_open_beneath(int directory, const char *path, int flags) {
  struct open_how how = {
      .flags = (uint64_t)(flags | O_CLOEXEC),
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  static atomic_bool is_missing;
  if (atomic_load_explicit(&is_missing, memory_order_relaxed)) {
    errno = ENOSYS;
    return -1;
  }
  int result = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
  if (result < 0 && errno == ENOSYS) atomic_store_explicit(&is_missing, 1, memory_order_relaxed);
  return result;
}

static void descriptor_path(char *path, size_t size, int fd) { snprintf(path, size, "/proc/self/fd/%d", fd); }

int clinux_link_descriptor(int fd, int directory, const char *name) {
  // On older kernels only the superuser may link by descriptor. Linking through /proc takes twice as long.
  static atomic_bool needs_proc;
  if (!atomic_load_explicit(&needs_proc, memory_order_relaxed)) {
    if (linkat(fd, "", directory, name, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT && errno != EPERM) return -1;
  }
  char path[64];
  descriptor_path(path, sizeof path, fd);
  int result = linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW);
  if (result == 0) atomic_store_explicit(&needs_proc, 1, memory_order_relaxed);
  return result;
}

int clinux_chmod_path_descriptor(int fd, unsigned mode) {
  char path[64];
  descriptor_path(path, sizeof path, fd);
  return chmod(path, (mode_t)mode);
}

int clinux_removexattr_path_descriptor(int fd, const char *name) {
  char path[64];
  descriptor_path(path, sizeof path, fd);
  return removexattr(path, name);
}

int clinux_setxattr_path_descriptor(int fd, const char *name, const void *value, size_t size) {
  char path[64];
  descriptor_path(path, sizeof path, fd);
  return setxattr(path, name, value, size, 0);
}

int clinux_chown_path_descriptor(int fd, unsigned user, unsigned group) {
  return fchownat(fd, "", (uid_t)user, (gid_t)group, AT_EMPTY_PATH);
}

int clinux_set_time_of_path_descriptor(int fd, int64_t seconds, int nanoseconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
  if (utimensat(fd, "", times, AT_EMPTY_PATH) == 0) return 0;
  // Kernels before 5.8 do not accept a descriptor opened with O_PATH.
  if (errno != EINVAL && errno != EBADF) return -1;
  char path[64];
  descriptor_path(path, sizeof path, fd);
  return utimensat(AT_FDCWD, path, times, 0);
}

int clinux_mknodat(int directory, const char *name, unsigned mode, unsigned major_number, unsigned minor_number) {
  return mknodat(directory, name, (mode_t)mode, makedev(major_number, minor_number));
}

int clinux_set_process_io_priority(int io_class, int level) {
  return (int)syscall(SYS_ioprio_set, 1, 0, (io_class << 13) | level);
}

int clinux_terminal_columns(int fd) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

int clinux_set_nice(int value) { return (int)syscall(SYS_setpriority, PRIO_PROCESS, 0, value); }

void clinux_reraise(int number) {
  sigset_t set;
  signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  // Sends the signal to this thread. Another thread could take long to dump core, while this one went on.
  raise(number);
}

void clinux_ignore_signal(int number) { signal(number, SIG_IGN); }

// The number of a thread selects its slot, which has a separate cache line. Two threads rarely share a slot;
// then one of them is missed.
enum { call_slots = 512, slot_width = 16 };
static _Atomic int calls[call_slots * slot_width];
static __thread int own_number;
static __thread int is_silent;

static _Atomic int *own_slot(void) {
  if (own_number == 0) own_number = gettid();
  return &calls[own_number % call_slots * slot_width];
}

void clinux_enter_call(void) {
  if (!is_silent) atomic_store_explicit(own_slot(), own_number, memory_order_relaxed);
}

void clinux_leave_call(void) {
  if (!is_silent) atomic_store_explicit(own_slot(), 0, memory_order_relaxed);
}

void clinux_note_calls(int is_noted) { is_silent = !is_noted; }

int clinux_threads_in_calls(int *threads, int most) {
  int count = 0;
  int found[call_slots];
  for (int slot = 0; slot < call_slots; slot++) {
    int thread = atomic_load_explicit(&calls[slot * slot_width], memory_order_relaxed);
    if (thread != 0) found[count++] = thread;
  }
  for (int index = 0; index < count && index < most; index++)
    threads[index] = found[count > most ? (int)((long)index * count / most) : index];
  return count;
}

int clinux_affinity_count(void) {
  // Machines with more than 1,024 processors need a larger set than cpu_set_t.
  for (int processors = 1024; processors <= 1 << 18; processors *= 2) {
    cpu_set_t *set = CPU_ALLOC(processors);
    if (set == NULL) return 0;
    size_t size = CPU_ALLOC_SIZE(processors);
    int failed = sched_getaffinity(0, size, set);
    int count = failed ? 0 : CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (!failed) return count;
    if (errno != EINVAL) return 0;
  }
  return 0;
}

int clinux_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void clinux_share_heap(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}

void clinux_trim_heap(void) {
#ifdef M_ARENA_MAX
  malloc_trim(0);
#endif
}

static int record_lock(int fd, int64_t byte, short kind) {
  struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  while (fcntl(fd, F_OFD_SETLK, &range) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int clinux_lock_byte(int fd, int64_t byte, int exclusive) { return record_lock(fd, byte, exclusive ? F_WRLCK : F_RDLCK); }

int clinux_unlock_byte(int fd, int64_t byte) { return record_lock(fd, byte, F_UNLCK); }

int clinux_try_read_lease(int fd) {
  // The default signal is SIGIO, which ends the process.
  if (fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return errno;
  fcntl(fd, F_SETLEASE, F_UNLCK);
  return 0;
}

int clinux_file_system_id(const char *path, uint64_t *id) {
  struct statfs status;
  while (statfs(path, &status) != 0) {
    if (errno != EINTR) return errno;
  }
  memcpy(id, &status.f_fsid, sizeof *id);
  return 0;
}

// The geometry of XFS, of which only the UUID is needed here.
struct xfs_geometry {
  uint32_t sizes[8];
  uint64_t counts[4];
  unsigned char uuid[16];
  uint32_t others[8];
};

int clinux_file_system_uuid(int fd, unsigned char *uuid) {
  switch (clinux_file_system_type(fd)) {
  case 0x58465342: { // XFS
    struct xfs_geometry facts;
    _Static_assert(sizeof facts == 112, "the kernel's layout");
    if (ioctl(fd, _IOR('X', 124, struct xfs_geometry), &facts) != 0) return 0;
    memcpy(uuid, facts.uuid, sizeof facts.uuid);
    return 1;
  }
  case 0x9123683e: { // Btrfs
    struct btrfs_ioctl_fs_info_args facts;
    memset(&facts, 0, sizeof facts);
    if (ioctl(fd, BTRFS_IOC_FS_INFO, &facts) != 0) return 0;
    memcpy(uuid, facts.fsid, sizeof facts.fsid);
    return 1;
  }
  default: return 0;
  }
}

extern char **environ;

// Whether a variable in the block has the same name as an entry of the environment.
static int is_replaced(const char *entry, const char *variables) {
  size_t length = strcspn(entry, "=");
  for (const char *other = variables; *other; other += strlen(other) + 1) {
    if (strcspn(other, "=") == length && memcmp(entry, other, length) == 0) return 1;
  }
  return 0;
}

// Starts a program in a separate process group, with no signal blocked or ignored and only the three standard
// streams open.
static int spawn(
    const char *program, char *const *arguments, char *const *environment, int input, int output, const char *errors,
    int *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (errors) posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all_signals;
  sigemptyset(&none);
  sigfillset(&all_signals);
  posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all_signals);
  int failed = posix_spawn(pid, program, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

int clinux_spawn_shell(const char *command, const void *block, int input, int *pid) {
  const char *variables = block;
  size_t count = 0, added = 0, kept = 0;
  for (char **entry = environ; *entry; entry++) count++;
  for (const char *entry = variables; *entry; entry += strlen(entry) + 1) added++;
  const char **all = calloc(count + added + 1, sizeof *all);
  if (!all) return ENOMEM;
  for (const char *entry = variables; *entry; entry += strlen(entry) + 1) all[kept++] = entry;
  // If a variable occurs twice, a shell may use either value.
  for (char **entry = environ; *entry; entry++) {
    if (!is_replaced(*entry, variables)) all[kept++] = *entry;
  }
  char *arguments[] = {"sh", "-c", (char *)command, NULL};
  int failed = spawn("/bin/sh", arguments, (char **)all, input, 2, NULL, pid);
  free(all);
  return failed;
}

int clinux_spawn_reader(
    const char *program, const char *command, const char *settings, const char *archive, int input, int socket,
    int *pid) {
  char *arguments[] = {"batchproc", (char *)command, (char *)settings, (char *)archive, NULL};
  char *no_environment[] = {NULL};
  return spawn(program, arguments, no_environment, input, socket, "/dev/null", pid);
}

static void *await_peer(void *socket) {
  struct pollfd request = {.fd = (int)(intptr_t)socket, .events = POLLRDHUP};
  while (poll(&request, 1, -1) <= 0) {
  }
  _exit(0);
}

int clinux_end_with_peer(int socket) {
  pthread_t thread;
  int failed = pthread_create(&thread, NULL, await_peer, (void *)(intptr_t)socket);
  return failed ? failed : pthread_detach(thread);
}

static int argument_count;
static char **all_arguments;

// glibc calls constructors with the arguments of main.
__attribute__((constructor)) static void note_arguments(int count, char **arguments) {
  argument_count = count;
  all_arguments = arguments;
}

const char *clinux_argument(int number) {
  return number >= 0 && number < argument_count ? all_arguments[number] : NULL;
}

int clinux_sleep_call(void) { return SYS_clock_nanosleep; }

int clinux_pidfd_open(int pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_notify(const char *address, const char *message) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  size_t length = strlen(address);
  if (length == 0 || length >= sizeof name.sun_path) return EINVAL;
  memcpy(name.sun_path, address, length);
  if (address[0] == '@') name.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  ssize_t sent = sendto(
      fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&name,
      offsetof(struct sockaddr_un, sun_path) + (socklen_t)length);
  int failed = sent < 0 ? errno : 0;
  close(fd);
  return failed;
}

void clinux_forbid_dumps(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
