import BatchEngine
import CLinux
import Glibc

/// The file system in which a fixture is made.
package enum Place: Sendable {
  /// In memory. Most tests use it, since syncing is free there.
  case memory
  /// The folder for temporary files, for tests that need a disk or a second file system.
  case disk

  package var folder: PathBytes {
    switch self {
    case .memory: Self.memoryFolder
    case .disk: Self.diskFolder
    }
  }

  private static let diskFolder = resolved(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") ?? "/tmp"

  /// `/dev/shm` if it has room and user attributes, which tmpfs of old kernels lacks.
  private static let memoryFolder: PathBytes = {
    guard let folder = resolved("/dev/shm"), isRoomy(folder), takesAttributes(folder) else {
      return diskFolder
    }
    return folder
  }()

  private static func resolved(_ path: String) -> PathBytes? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return PathBytes(String(cString: resolved))
  }

  private static func isRoomy(_ folder: PathBytes) -> Bool {
    var volume = statvfs()
    guard folder.withCString({ statvfs($0, &volume) }) == 0 else { return false }
    return UInt64(volume.f_bavail).multipliedReportingOverflow(by: UInt64(volume.f_frsize)).partialValue
      >= 3 << 30
  }

  private static func takesAttributes(_ folder: PathBytes) -> Bool {
    var template = Array((folder.description + "/batchproc-probe-XXXXXX").utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { return false }
    defer {
      close(file)
      unlink(template)
    }
    return clinux_fsetxattr(file, "user.probe", "x", 1) == 0
  }
}
