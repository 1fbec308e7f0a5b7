/* A slow device for tests and measurements: a preload library that gives each open and read below a folder a
 * latency and a service width, with real concurrency.
 *
 * cc -shared -fPIC -O2 slow-device.c -o slow-device.so -ldl -lpthread
 * SLOW_DEVICE_ROOT=/absolute/folder SLOW_DEVICE=MODEL[;SECONDS=MODEL...] LD_PRELOAD=./slow-device.so program
 *
 * A model is LATENCY:WIDTH:PENALTY: the microseconds of a request, how many requests are served at once, and the part of
 * the latency that each request in service adds to a new one. A disk that becomes slower with parallel requests has a
 * penalty above 1. A model after SECONDS= applies from that time on, counted from the first request.
 * At the end, SLOW_DEVICE_LOG=FILE gets the number of files that were read, the seconds from the first request to the
 * last, the seconds of the second half of the files, and the greatest number of concurrent requests. A file counts from its
 * first read on.
 * SLOW_DEVICE_TIMES=FILE gets the time of the first read of each file, by CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MODELS 16
#define DESCRIPTORS 65536
#define FILES (1 << 21)

struct model { double since, latency, penalty; int width; };

static struct model models[MODELS];
static int model_count, in_service, waiting, most, file_count;
static unsigned char is_slow[DESCRIPTORS];
static double first, last, finished[FILES];
static char root[4096];
static size_t root_length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;

static int (*next_openat)(int, const char *, int, ...);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_pread)(int, void *, size_t, off_t);
static long (*next_syscall)(long, ...);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* Functions that run before the constructor call this as well. */
static void resolve(void) {
  if (next_syscall) return;
  next_openat = dlsym(RTLD_NEXT, "openat");
  next_read = dlsym(RTLD_NEXT, "read");
  next_pread = dlsym(RTLD_NEXT, "pread");
  next_syscall = dlsym(RTLD_NEXT, "syscall");
}

__attribute__((constructor)) static void begin(void) {
  resolve();
  const char *folder = getenv("SLOW_DEVICE_ROOT"), *text = getenv("SLOW_DEVICE");
  if (!folder || !text) return;
  snprintf(root, sizeof root, "%s/", folder);
  root_length = strlen(root);
  char *copy = strdup(text), *rest = copy, *part;
  while ((part = strsep(&rest, ";")) && model_count < MODELS) {
    struct model m = {0, 0, 0, 1};
    char *equals = strchr(part, '=');
    if (equals) { m.since = atof(part); part = equals + 1; }
    if (sscanf(part, "%lf:%d:%lf", &m.latency, &m.width, &m.penalty) < 1) abort();
    models[model_count++] = m;
  }
  free(copy);
}

/* The model that applies at this time. */
static struct model current(double time) {
  struct model m = models[0];
  for (int i = 1; i < model_count; i++) if (time - first >= models[i].since) m = models[i];
  return m;
}

/* Waits until the device can serve the request, and then for its latency. */
static void serve(void) {
  pthread_mutex_lock(&lock);
  if (first == 0) first = now();
  waiting++;
  struct model m = current(now());
  while (in_service >= m.width) {
    pthread_cond_wait(&freed, &lock);
    m = current(now());
  }
  waiting--;
  double latency = m.latency * (1 + m.penalty * in_service);
  in_service++;
  if (in_service + waiting > most) most = in_service + waiting;
  /* The width may have grown since this request was woken. */
  if (waiting && in_service < m.width) pthread_cond_signal(&freed);
  pthread_mutex_unlock(&lock);
  struct timespec t = {(time_t)(latency / 1e6), (long)(latency * 1000) % 1000000000L};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR) {}
  pthread_mutex_lock(&lock);
  in_service--;
  last = now() - first;
  /* A request that is woken and must wait again would cost processor time, which it does not on a device. */
  pthread_cond_signal(&freed);
  pthread_mutex_unlock(&lock);
}

/* Records whether a new descriptor is a file or folder on the device, and delays the open. */
static void opened(int fd, int flags) {
  if (fd < 0 || fd >= DESCRIPTORS) return;
  is_slow[fd] = 0;
  if (!model_count || (flags & O_ACCMODE) != O_RDONLY) return;
  int saved = errno;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) {
    path[length] = 0;
    if (!strncmp(path, root, root_length)) {
      struct stat s;
      is_slow[fd] = !fstat(fd, &s) && S_ISREG(s.st_mode) ? 1 : 2;
      serve();
    }
  }
  errno = saved;
}

static void did_read(int fd, ssize_t count) {
  if (fd < 0 || fd >= DESCRIPTORS || !is_slow[fd] || count <= 0) return;
  int saved = errno;
  serve();
  if (is_slow[fd] == 1) {
    is_slow[fd] = 2;
    pthread_mutex_lock(&lock);
    if (file_count < FILES) finished[file_count++] = now() - first;
    pthread_mutex_unlock(&lock);
  }
  errno = saved;
}

int openat(int folder, const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  resolve();
  int fd = next_openat(folder, path, flags, mode);
  opened(fd, flags);
  return fd;
}

int openat64(int folder, const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  resolve();
  int fd = next_openat(folder, path, flags | O_LARGEFILE, mode);
  opened(fd, flags);
  return fd;
}

int open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  resolve();
  int fd = next_openat(AT_FDCWD, path, flags, mode);
  opened(fd, flags);
  return fd;
}

ssize_t read(int fd, void *buffer, size_t size) {
  resolve();
  ssize_t count = next_read(fd, buffer, size);
  did_read(fd, count);
  return count;
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  resolve();
  ssize_t count = next_pread(fd, buffer, size, offset);
  did_read(fd, count);
  return count;
}

ssize_t pread64(int fd, void *buffer, size_t size, off_t offset) { return pread(fd, buffer, size, offset); }

/* The C library has no function for openat2. */
long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  resolve();
  long result = next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
#ifdef SYS_openat2
  if (number == SYS_openat2 && a[2]) opened((int)result, (int)*(unsigned long long *)a[2]);
#endif
  return result;
}

__attribute__((destructor)) static void end(void) {
  const char *log = getenv("SLOW_DEVICE_LOG");
  if (!log || !file_count) return;
  FILE *file = fopen(log, "w");
  if (!file) return;
  fprintf(file, "%d %.4f %.4f %d\n", file_count, last, last - finished[(file_count - 1) / 2], most);
  fclose(file);
  const char *times = getenv("SLOW_DEVICE_TIMES");
  if (!times || !(file = fopen(times, "w"))) return;
  for (int i = 0; i < file_count; i++) fprintf(file, "%.4f\n", first + finished[i]);
  fclose(file);
}
