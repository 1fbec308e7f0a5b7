/* A preload library for tests that lets one allocation fail with ENOMEM.
 *
 * clang -shared -fPIC -O2 few-allocations.c -o few-allocations.so
 * FAILING_ALLOCATION=N [ALLOCATION_SKIP=LOW-HIGH,...] [ALLOCATION_COUNT=FILE] LD_PRELOAD=./few-allocations.so program
 *
 * Allocations of all threads are counted from the start of main(), and only the N-th of them fails.
 * Allocations by a function at an address from LOW to HIGH (hexadecimal, relative to the start of the
 * program) are not counted and do not fail. This excludes the Swift runtime, which ends the program when it
 * gets no memory. At the end the number of allocations is written to FILE, and before it "failed" if one
 * failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { most_ranges = 64 };
static struct { uintptr_t low, high; } ranges[most_ranges];
static int range_count;
static uintptr_t base;
static atomic_int is_started;
static atomic_long count;
static long failing;
static int note = -1;

static int is_base(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  base = info->dlpi_addr;
  return 1;
}

static int fails(const void *caller) {
  if (!atomic_load_explicit(&is_started, memory_order_acquire)) return 0;
  uintptr_t place = (uintptr_t)caller - base;
  for (int index = 0; index < range_count; index++)
    if (place >= ranges[index].low && place < ranges[index].high) return 0;
  if (atomic_fetch_add(&count, 1) + 1 != failing) return 0;
  char line[64];
  int length = snprintf(line, sizeof line, "failed %lx\n", (unsigned long)place);
  if (note >= 0 && write(note, line, length) != length) _exit(99);
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }

void *calloc(size_t items, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(items, size); }

void *realloc(void *old, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size); }

void *memalign(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  void *made = __libc_memalign(alignment, size);
  if (!made) return ENOMEM;
  *result = made;
  return 0;
}

static int (*real_main)(int, char **, char **);

static void end(void) {
  char line[64];
  int length = snprintf(line, sizeof line, "count %ld\n", atomic_load(&count));
  if (note >= 0 && write(note, line, length) != length) _exit(99);
}

static int counted_main(int argc, char **argv, char **environment) {
  const char *text = getenv("FAILING_ALLOCATION");
  failing = text ? atol(text) : 0;
  dl_iterate_phdr(is_base, NULL);
  text = getenv("ALLOCATION_SKIP");
  while (text && *text && range_count < most_ranges) {
    char *after;
    ranges[range_count].low = strtoul(text, &after, 16);
    if (*after != '-') break;
    ranges[range_count++].high = strtoul(after + 1, &after, 16);
    text = *after == ',' ? after + 1 : after;
  }
  text = getenv("ALLOCATION_COUNT");
  if (text) {
    /* A high number, so that the program's files get their usual numbers. */
    int opened = open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (opened >= 0) note = fcntl(opened, F_DUPFD_CLOEXEC, 200);
    if (opened >= 0) close(opened);
  }
  unsetenv("LD_PRELOAD");
  atexit(end);
  atomic_store_explicit(&is_started, 1, memory_order_release);
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *) =
      dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
