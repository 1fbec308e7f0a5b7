import func Glibc.dlopen
import func Glibc.dlsym
import var Glibc.RTLD_LOCAL
import var Glibc.RTLD_NOW

/// A C library of the system that is opened while the program runs, and stays open.
package struct SystemLibrary: Sendable {
  /// Where the system has its libraries. They are opened by absolute paths, so that no variable of the environment leads
  /// to others.
  #if arch(x86_64)
    package static let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
  #else
    package static let folders = ["/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
  #endif

  // What dlopen(3) returned is used by any thread, and never closed.
  private nonisolated(unsafe) let handle: UnsafeMutableRawPointer

  /// Nil where no folder has the library, or it cannot be opened.
  init?(_ name: String, in folders: [String] = Self.folders) {
    guard let handle = folders.lazy.compactMap({ dlopen("\($0)/\(name)", RTLD_NOW | RTLD_LOCAL) }).first
    else { return nil }
    self.handle = handle
  }

  /// The function with this name and C type; nil when the library does not have it.
  func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    dlsym(handle, name).map { unsafeBitCast($0, to: type) }
  }
}
