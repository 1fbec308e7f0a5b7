import Foundation
import Testing

@testable import BatchCore
@testable import BatchEngine

/// A fresh folder that goes away with all it holds when the test lets go of it.
final class TemporaryFolder: Sendable {
  let path: PathBytes

  init() throws {
    var template = Array("/tmp/batchproc-test-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    path = PathBytes(template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path.description)
  }

  func file(_ name: String) -> PathBytes { path.appending(name.utf8) }

  func makeFolder(_ name: String) throws {
    try FileManager.default.createDirectory(
      atPath: file(name).description, withIntermediateDirectories: true)
  }

  /// Makes a file, or replaces its content.
  func write(_ name: String, _ content: String) throws -> PathBytes {
    try Data(content.utf8).write(to: URL(fileURLWithPath: file(name).description))
    return file(name)
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name).description)), as: UTF8.self)
  }

  /// The names in the folder, sorted, hidden ones too.
  func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path.description).sorted()
  }
}
