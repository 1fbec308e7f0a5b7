import BatchCore
import Testing

extension TreeFixture {
  /// Compiles functions that take the place of the C library's into `preload.so` in this folder.
  func preload(_ source: String) throws {
    try write(
      "preload.c",
      "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <string.h>\n#include <unistd.h>\n"
        + source)
    let compiled = try shell("cc -shared -fPIC -O1 preload.c -o preload.so -ldl")
    try #require(compiled.status == 0, "\(compiled.errorText)")
  }
}
