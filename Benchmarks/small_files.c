/* Prints the XXH3-128 of each file below a folder, in tree order, as `batchproc hash -a xxh128` does.
 *
 * The main thread walks and looks at each entry; other threads open, read, look again and close. There is no budget, no
 * check of a name, no report and no care for a file that changes: the time is what a plain program needs for the same calls.
 *
 * cc -O2 -pthread small_files.c -o small_files -lxxhash
 * ./small_files FOLDER 2
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST (4 << 20)
#define BATCH 64
#define BUFFER (256 << 10)

struct folder {
  char *path;
};

struct file {
  struct folder *folder;
  char *name;
  off_t size;
  XXH128_canonical_t digest;
  int failed;
};

static struct file *files;
static atomic_size_t ready, taken;
static size_t seen;
static int at_end;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;

static void *must(void *memory) {
  if (!memory) abort();
  return memory;
}

/* Makes the files that the walk has found available to the other threads. */
static void publish(int end) {
  pthread_mutex_lock(&lock);
  atomic_store(&ready, seen);
  at_end = end;
  pthread_cond_broadcast(&more);
  pthread_mutex_unlock(&lock);
}

static int by_name(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }

static void walk(char *path, int number) {
  if (number < 0) return;
  DIR *stream = fdopendir(number);
  if (!stream) return;
  struct folder *folder = must(malloc(sizeof *folder));
  folder->path = path;
  char **names = NULL;
  size_t count = 0, room = 0;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (count == room) names = must(realloc(names, (room = room ? room * 2 : 64) * sizeof *names));
    names[count++] = must(strdup(entry->d_name));
  }
  qsort(names, count, sizeof *names, by_name);
  size_t folders = 0;
  for (size_t i = 0; i < count; i++) {
    struct stat status;
    if (fstatat(number, names[i], &status, AT_SYMLINK_NOFOLLOW)) continue;
    if (S_ISDIR(status.st_mode)) {
      names[folders++] = names[i];
    } else if (S_ISREG(status.st_mode) && seen < MOST) {
      files[seen++] = (struct file){.folder = folder, .name = names[i], .size = status.st_size};
      if (seen % BATCH == 0) publish(0);
    }
  }
  for (size_t i = 0; i < folders; i++) {
    char *below = NULL;
    if (asprintf(&below, "%s/%s", path, names[i]) < 0) abort();
    walk(below, openat(number, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  free(names);
  closedir(stream);
}

static int digest(struct file *file, int folder, char *buffer, XXH3_state_t *state) {
  int number = openat(folder, file->name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
  if (number < 0) return -1;
  struct stat status;
  ssize_t count = 0;
  if (file->size < BUFFER) {
    count = read(number, buffer, file->size + 1);
    if (count >= 0) XXH128_canonicalFromHash(&file->digest, XXH3_128bits(buffer, count));
  } else {
    XXH3_128bits_reset(state);
    while ((count = read(number, buffer, BUFFER)) > 0) XXH3_128bits_update(state, buffer, count);
    XXH128_canonicalFromHash(&file->digest, XXH3_128bits_digest(state));
  }
  int looked = fstat(number, &status);
  close(number);
  return count < 0 || looked ? -1 : 0;
}

static void *work(void *unused) {
  (void)unused;
  char *buffer = must(aligned_alloc(4096, BUFFER));
  XXH3_state_t *state = must(XXH3_createState());
  struct folder *last = NULL;
  int folder = -1;
  while (1) {
    pthread_mutex_lock(&lock);
    while (atomic_load(&taken) >= atomic_load(&ready) && !at_end) pthread_cond_wait(&more, &lock);
    size_t begin = atomic_load(&taken), end = atomic_load(&ready);
    if (end > begin + BATCH) end = begin + BATCH;
    atomic_store(&taken, end);
    pthread_mutex_unlock(&lock);
    if (begin == end) break;
    for (size_t i = begin; i < end; i++) {
      if (files[i].folder != last) {
        if (folder >= 0) close(folder);
        last = files[i].folder;
        folder = open(last->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      }
      files[i].failed = digest(&files[i], folder, buffer, state);
    }
  }
  if (folder >= 0) close(folder);
  XXH3_freeState(state);
  free(buffer);
  return NULL;
}

int main(int argc, char **argv) {
  int threads = argc > 2 ? atoi(argv[2]) : 2;
  if (argc < 2 || threads < 1 || threads > 64) return 64;
  files = must(malloc(sizeof *files * MOST));
  pthread_t ids[64];
  for (int i = 0; i < threads; i++)
    if (pthread_create(&ids[i], NULL, work, NULL)) return 1;
  walk(argv[1], open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  publish(1);
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  int failures = 0;
  for (size_t i = 0; i < seen; i++) {
    if (files[i].failed) {
      failures++;
      continue;
    }
    for (size_t byte = 0; byte < sizeof files[i].digest.digest; byte++) printf("%02x", files[i].digest.digest[byte]);
    printf("  %s/%s\n", files[i].folder->path, files[i].name);
  }
  return failures ? 3 : 0;
}
