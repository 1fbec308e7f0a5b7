import BatchCore
import BatchEngine
import Glibc

/// Arguments and environment of this process as bytes; Swift's own views repair what is not UTF-8.
enum ProcessArguments {
  /// Without the name of the program.
  static func current() -> [PathBytes] {
    (0..<Int(CommandLine.argc)).dropFirst().compactMap { index in
      CommandLine.unsafeArgv[index].map(bytes)
    }
  }

  static func environment(_ name: String) -> PathBytes? {
    getenv(name).map(bytes)
  }

  /// The absolute path of the program, without links on the way.
  ///
  /// - Throws: `unreadable` where `/proc` is not mounted.
  static func program() throws(BatchError) -> PathBytes {
    try LinkTarget.read("/proc/self/exe", in: AT_FDCWD)
  }

  private static func bytes(_ pointer: UnsafeMutablePointer<CChar>) -> PathBytes {
    PathBytes(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
  }
}
