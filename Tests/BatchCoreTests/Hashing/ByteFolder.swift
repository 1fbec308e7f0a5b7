import Foundation
import Glibc

@testable import BatchCore
@testable import BatchEngine

/// A folder of a test, removed with its last reference; names in it may be any bytes.
final class ByteFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/batchcore-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func write(_ bytes: [UInt8], to name: PathBytes) throws {
    let file = PathBytes(path).appending(name.bytes)
    let descriptor = file.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC, 0o644) }
    guard descriptor >= 0 else { throw BatchError.syscall("open", errno: errno, path: file) }
    defer { close(descriptor) }
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw BatchError.syscall("write", errno: errno, path: file)
    }
  }

  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
  }
}
