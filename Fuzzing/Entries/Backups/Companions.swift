@testable import BatchCore
@testable import BatchEngine

/// The companion of an encrypted manifest, unchanged and with a repaired digest of its first line.
func fuzzCompanions(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  take(bytes)
  guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return }
  let line = Array(bytes[...end])
  guard let stream = try? DigestStream(.sha256),
    let digest = try? withBytes(of: line, { (raw) throws(BatchError) in try stream.digest(of: raw) })
  else { return }
  take(line + Array(#"{"type":"end","sha256":"\#(digest.hex)"}"#.utf8) + [UInt8(ascii: "\n")])
}

/// A companion that is accepted must be the same after it was written and read again.
private func take(_ bytes: [UInt8]) {
  guard let companion = try? Companion(bytes) else { return }
  guard let written = try? companion.bytes(), let again = try? Companion(written) else {
    preconditionFailure("a companion that cannot be written again")
  }
  precondition(again == companion, "another companion")
}
