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
