import CLinux
import Glibc

/// A folder that is open for the files that are written to it; it closes when the last of them is done with.
final class OutputFolder: Sendable {
  let path: PathBytes
  private let descriptor: Descriptor

  var raw: Int32 { descriptor.raw }

  /// Opens the folder of an output; links on the way are followed.
  ///
  /// - Throws: `unwritable`, or `exhausted`, with the path of the output.
  init(of target: PathBytes) throws(BatchError) {
    path = target.parent
    let opened = path.withCString { path in
      retrying { Int(clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard opened >= 0 else {
      throw AtomicFileOutput.failure("open the folder of the output", -opened, target)
    }
    descriptor = Descriptor(owning: Int32(opened))
  }
}
