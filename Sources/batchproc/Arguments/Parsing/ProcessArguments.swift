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

  /// The absolute path of the program as it was typed or found in PATH. A link stays one: after an upgrade it leads to the new
  /// program, and the old one may be gone.
  ///
  /// - Parameter typed: the program's own name, as the process got it; nil reads it.
  /// - Throws: `unreadable` if `/proc` is not mounted.
  static func program(
    typed: PathBytes? = nil, environment: Environment
  ) throws(BatchError) -> PathBytes {
    let file = try LinkTarget.read("/proc/self/exe")
    guard let identity = try? file.status(followingLinks: true).identity,
      let typed = typed ?? clinux_argument(0).map({ bytes($0) })
    else { return file }
    var places = [typed]
    if !typed.bytes.contains(UInt8(ascii: "/")) {
      let folders = environment("PATH")?.bytes.split(separator: UInt8(ascii: ":")) ?? []
      places = folders.map { PathBytes($0).appending(typed.bytes) }.filter(\.isAbsolute)
    }
    for place in places {
      let start = place.bytes.starts(with: "./".utf8) ? 2 : 0
      let path = WorkingFolder.absolute(PathBytes(place.bytes.dropFirst(start)))
      if (try? path.status(followingLinks: true).identity) == identity { return path }
    }
    return file
  }

  private static func bytes(_ pointer: UnsafePointer<CChar>) -> PathBytes {
    PathBytes(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
  }
}
