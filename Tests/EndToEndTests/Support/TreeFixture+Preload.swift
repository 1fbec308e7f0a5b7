import BatchCore
import BatchEngine
import Synchronization
import TestSupport
import Testing

/// The libraries that this process has compiled, by their sources: many tests run with the same one.
private let compiledLibraries = Mutex<[String: [UInt8]]>([:])

extension TreeFixture {
  /// Compiles functions that replace those of the C library into `preload.so` in the fixture.
  func preload(_ source: String) throws {
    if let library = compiledLibraries.withLock({ $0[source] }) {
      try file("preload.so", library)
      return
    }
    try file(
      "preload.c",
      "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <string.h>\n#include <unistd.h>\n"
        + source)
    let compiled = try shell("cc -shared -fPIC -O1 preload.c -o preload.so -ldl")
    try #require(compiled.status == 0, "\(compiled.errorText)")
    let library = try #require(content("preload.so"))
    compiledLibraries.withLock { $0[source] = library }
  }

  /// Makes `preload.so`, which advances the clock of a program by `SHIFT` seconds, or by a day, so that
  /// recent changes look old.
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

  /// Simulates a disk that cannot be written: the write number `TURN` to any regular file fails with the error number `FAULT`.
  func preloadFailingWrite() throws {
    try preload(
      """
      #include <stdlib.h>
      #include <sys/stat.h>
      ssize_t write(int fd, const void *bytes, size_t count) {
        static ssize_t (*real)(int, const void *, size_t);
        static _Atomic long turn;
        struct stat s;
        if (!real) real = dlsym(RTLD_NEXT, "write");
        if (!fstat(fd, &s) && S_ISREG(s.st_mode) && ++turn == atol(getenv("TURN"))) {
          errno = atoi(getenv("FAULT"));
          return -1;
        }
        return real(fd, bytes, count);
      }
      """)
  }

  /// Simulates a disk that returns other data than was written: `call` damages the first file that is synced.
  ///
  /// - Parameter call: C code with `fd`, `size` and a `char c`.
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
