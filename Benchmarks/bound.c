/* Computes the SHA-256 of files with known names by a given number of threads. The time is the lower bound
 * that the device and libcrypto set, without a walk, an order or a report.
 *
 * cc -O2 -pthread bound.c -o bound -lcrypto
 * find FOLDER -type f -print0 | ./bound 64
 */
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (1 << 20)
#define THREADS 1024

static char *names;
static size_t *starts, count;
static atomic_size_t next;
static atomic_int failures;
static _Thread_local char buffer[BUFFER];

static int digest(const char *name, EVP_MD_CTX *context) {
  unsigned char result[EVP_MAX_MD_SIZE];
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  EVP_DigestInit_ex(context, EVP_sha256(), NULL);
  ssize_t length;
  while ((length = read(file, buffer, BUFFER)) > 0) EVP_DigestUpdate(context, buffer, length);
  close(file);
  return length == 0 && EVP_DigestFinal_ex(context, result, NULL);
}

static void *work(void *unused) {
  (void)unused;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  for (size_t index; (index = atomic_fetch_add(&next, 1)) < count;)
    if (!digest(names + starts[index], context)) atomic_fetch_add(&failures, 1);
  EVP_MD_CTX_free(context);
  return NULL;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 64;
  if (threads < 1 || threads > THREADS) return 64;
  size_t length = 0, room = 1 << 20;
  ssize_t read_now;
  for (names = malloc(room); names && (read_now = read(0, names + length, room - length)) > 0; length += read_now)
    if (length + read_now == room) names = realloc(names, room *= 2);
  if (!names) return 1;
  for (size_t i = 0; i < length; i++) count += !names[i];
  starts = malloc((count + 1) * sizeof *starts);
  if (!starts) return 1;
  for (size_t i = 0, file = 0, start = 0; i < length; i++)
    if (!names[i]) { starts[file++] = start; start = i + 1; }
  pthread_t ids[THREADS];
  for (int i = 0; i < threads; i++)
    if (pthread_create(&ids[i], NULL, work, NULL)) return 1;
  for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  if (failures) fprintf(stderr, "%d files could not be read\n", failures);
  return failures ? 3 : 0;
}
