import BatchCore
import BatchEngine

/// Renders the names that a dry run lists: one on each line, or as members of an event.
struct NameRows: Sendable {
  let areMembers: Bool
  let isNULEnded: Bool

  func append(_ path: PathBytes, to bytes: inout [UInt8]) {
    guard areMembers else {
      bytes += path.bytes
      bytes.append(isNULEnded ? 0 : UInt8(ascii: "\n"))
      return
    }
    JSONLine.append(to: &bytes) { $0.add(path: path) }
  }
}
