import Glibc

/// The names of one folder in one block of memory, NUL-terminated as the kernel needs them.
///
/// A million names need only their bytes, not an object each.
package final class NameArena: Sendable {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    // A final NUL ends every name, even if the caller did not add one.
    self.bytes = bytes.last == 0 ? bytes : bytes + [0]
  }

  /// An arena with a single name.
  package convenience init(name: some Collection<UInt8>) {
    self.init(Array(name) + [0])
  }

  package func withCString<Result>(at offset: Int, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    bytes[offset...].withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { preconditionFailure("a name has at least its NUL") }
      return body(base.assumingMemoryBound(to: CChar.self))
    }
  }

  /// The name's bytes without the NUL.
  package func withName<Result>(at offset: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withCString(at: offset) { pointer in
      body(UnsafeRawBufferPointer(start: pointer, count: strlen(pointer)))
    }
  }

  /// Calls `body` with one name after the other.
  package func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { raw in
      var start = 0
      while start < raw.count, let base = raw.baseAddress {
        let length = strnlen(base.assumingMemoryBound(to: CChar.self) + start, raw.count - start)
        body(UnsafeRawBufferPointer(rebasing: raw[start..<(start + length)]))
        start += length + 1
      }
    }
  }
}
