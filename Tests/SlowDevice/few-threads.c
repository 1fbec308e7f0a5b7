/* A preload library for tests that lets pthread_create(3) fail with EAGAIN.
 *
 * cc -shared -fPIC -O2 few-threads.c -o few-threads.so -ldl -lpthread
 * FEW_THREADS=N[:forever] LD_PRELOAD=./few-threads.so program
 *
 * No call fails before the first detached thread, which is Dispatch's: the program may first try how many threads it
 * can start. From then on at most N more threads may run at a time; with `forever`, threads that have ended count as
 * well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int limit = -1, is_forever, has_begun, alive;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct work { void *(*body)(void *); void *argument; };

static void resolve(void) {
  if (!next_create) next_create = dlsym(RTLD_NEXT, "pthread_create");
}

__attribute__((constructor)) static void begin(void) {
  resolve();
  const char *text = getenv("FEW_THREADS");
  if (!text) return;
  limit = atoi(text);
  is_forever = strstr(text, ":forever") != NULL;
}

static void ended(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  alive--;
  pthread_mutex_unlock(&lock);
}

static void *counted(void *argument) {
  struct work work = *(struct work *)argument;
  free(argument);
  void *result;
  pthread_cleanup_push(ended, NULL);
  result = work.body(work.argument);
  pthread_cleanup_pop(!is_forever);
  return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  resolve();
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes) pthread_attr_getdetachstate(attributes, &state);
  pthread_mutex_lock(&lock);
  has_begun |= state == PTHREAD_CREATE_DETACHED;
  int is_counted = limit >= 0 && has_begun;
  if (is_counted && alive >= limit) {
    pthread_mutex_unlock(&lock);
    return EAGAIN;
  }
  alive += is_counted;
  pthread_mutex_unlock(&lock);
  if (!is_counted) return next_create(thread, attributes, body, argument);
  struct work *work = malloc(sizeof *work);
  if (!work) return EAGAIN;
  *work = (struct work){body, argument};
  int failed = next_create(thread, attributes, counted, work);
  if (failed) {
    free(work);
    ended(NULL);
  }
  return failed;
}
