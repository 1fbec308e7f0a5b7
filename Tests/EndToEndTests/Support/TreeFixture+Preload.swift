import BatchCore
import BatchEngine
import TestSupport
import Testing

extension TreeFixture {
  /// Compiles functions that take the place of the C library's into `preload.so` in this folder.
  func preload(_ source: String) throws {
    try file(
      "preload.c",
      "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <string.h>\n#include <unistd.h>\n"
        + source)
    let compiled = try shell("cc -shared -fPIC -O1 preload.c -o preload.so -ldl")
    try #require(compiled.status == 0, "\(compiled.errorText)")
  }

  /// Makes `preload.so`, with which the clock of a program is `SHIFT` seconds later than that of the file system, or a day:
  /// what has just changed is old to it.
  func preloadClock() throws {
    try preload(
      """
      #include <stdlib.h>
      #include <time.h>
      int clock_gettime(clockid_t id, struct timespec *t) {
        static int (*real)(clockid_t, struct timespec *);
        if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
        int result = real(id, t);
        if (id == CLOCK_REALTIME) t->tv_sec += getenv("SHIFT") ? atol(getenv("SHIFT")) : 86400;
        return result;
      }
      time_t time(time_t *t) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        if (t) *t = now.tv_sec;
        return now.tv_sec;
      }
      """)
  }

  /// A disk that gives back something else than was written: the first file that is synced is ruined before.
  ///
  /// - Parameter call: in C, with `fd`, `size` and a `char c`.
  func preloadRuin(_ call: String) throws {
    try preload(
      """
      #include <sys/stat.h>
      int fsync(int fd) {
        static int done;
        struct stat s;
        char c;
        if (!fstat(fd, &s) && S_ISREG(s.st_mode) && !done) {
          done = 1;
          off_t size = s.st_size;
          \(call);
        }
        return 0;
      }
      """)
  }
}
