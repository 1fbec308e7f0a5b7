import BatchCore
import BatchEngine
import func CLinux.clinux_argument
import func Glibc.getenv
import func Glibc.strlen

/// The value of an environment variable; nil when it is not set.
typealias Environment = (String) -> PathBytes?

/// A folder of the user: where a variable says, otherwise this one in the home directory. Nil if neither is an absolute path.
func userFolder(_ variable: String, or name: String, _ environment: Environment) -> PathBytes? {
  let home = environment("HOME").flatMap { $0.isAbsolute ? $0.appending(name.utf8) : nil }
  return environment(variable).flatMap { $0.isAbsolute ? $0 : nil } ?? home
}

/// Arguments and environment of this process as bytes; Swift's own views repair bytes that are not UTF-8.
enum ProcessArguments {
  /// The arguments without the name of the program.
  static func current() -> [PathBytes] {
    var arguments: [PathBytes] = []
    while let argument = clinux_argument(Int32(arguments.count + 1)) { arguments.append(bytes(argument)) }
    return arguments
  }

  static func environment(_ name: String) -> PathBytes? {
    getenv(name).map { bytes($0) }
  }

  /// The absolute path of the program, without links on the way.
  ///
  /// - Throws: `unreadable` if `/proc` is not mounted.
  static func program() throws(BatchError) -> PathBytes {
    try LinkTarget.read("/proc/self/exe")
  }

  private static func bytes(_ pointer: UnsafePointer<CChar>) -> PathBytes {
    PathBytes(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
  }
}
