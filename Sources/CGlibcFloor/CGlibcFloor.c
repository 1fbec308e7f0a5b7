#include "CGlibcFloor.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* The Swift libraries use four functions whose symbols in the C library are newer than glibc 2.34. The linker
 * prefers the symbols of the program, so it starts with glibc 2.34 as well. They are hidden, so a program that
 * loads the Swift libraries as shared libraries uses those of its C library. */
#define HIDDEN __attribute__((visibility("hidden")))

/* getrandom(2) gives up to 256 bytes without being interrupted. It fails only if the kernel does not have it. */
HIDDEN void arc4random_buf(void *bytes, size_t count) {
  uint8_t *rest = bytes;
  while (count > 0) {
    ssize_t found = getrandom(rest, count < 256 ? count : 256, 0);
    if (found < 0 && errno != EINTR) abort();
    if (found > 0) {
      rest += found;
      count -= (size_t)found;
    }
  }
}

HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}

/* The newer versions of these differ in not setting errno. */
#if defined(__x86_64__)
__asm__(".symver earlier_hypot, hypot@GLIBC_2.2.5");
__asm__(".symver earlier_hypotf, hypotf@GLIBC_2.2.5");
#else
__asm__(".symver earlier_hypot, hypot@GLIBC_2.17");
__asm__(".symver earlier_hypotf, hypotf@GLIBC_2.17");
#endif

extern double earlier_hypot(double, double);
extern float earlier_hypotf(float, float);

HIDDEN double hypot(double a, double b) { return earlier_hypot(a, b); }
HIDDEN float hypotf(float a, float b) { return earlier_hypotf(a, b); }
