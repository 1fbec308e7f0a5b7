import func Glibc.dlopen
import func Glibc.dlsym
import var Glibc.RTLD_LOCAL
import var Glibc.RTLD_NOW

/// A C library of the system that is loaded at run time and never closed.
package struct SystemLibrary: Sendable {
  /// The library folders of the system. Libraries are opened by absolute path, so that no environment variable can replace
  /// them.
  #if arch(x86_64)
    package static let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
  #else
    package static let folders = ["/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
  #endif

  // The handle from dlopen(3) may be used by any thread, and is never closed.
  private nonisolated(unsafe) let handle: UnsafeMutableRawPointer

  /// Nil if no folder contains the library, or it cannot be opened.
  init?(_ name: String, in folders: [String] = Self.folders) {
    guard let handle = folders.lazy.compactMap({ dlopen("\($0)/\(name)", RTLD_NOW | RTLD_LOCAL) }).first
    else { return nil }
    self.handle = handle
  }

  /// The function with this name and C type; nil if the library does not have it.
  func function<Function>(_ name: String, as type: Function.Type) -> Function? {
    dlsym(handle, name).map { unsafeBitCast($0, to: type) }
  }
}
