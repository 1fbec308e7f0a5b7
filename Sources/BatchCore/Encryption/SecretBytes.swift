import BatchEngine
import CCrypto

/// Keys and passphrases in memory that is overwritten before it is freed.
package final class SecretBytes: Sendable {
  private nonisolated(unsafe) let room: UnsafeMutableRawBufferPointer

  /// - Parameter fill: writes the memory, which is initially zero.
  package init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Void)
    throws(BatchError)
  {
    room = .allocate(byteCount: count, alignment: 16)
    room.initializeMemory(as: UInt8.self, repeating: 0)
    try fill(room)
  }

  /// A copy; the caller clears the original.
  package convenience init(copying bytes: some Collection<UInt8>) throws(BatchError) {
    try self.init(count: bytes.count) { (room) throws(BatchError) in room.copyBytes(from: bytes) }
  }

  deinit {
    OPENSSL_cleanse(room.baseAddress, room.count)
    room.deallocate()
  }

  package func withBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(room))
  }
}

extension [UInt8] {
  /// Overwrites bytes that were a secret.
  package mutating func cleanse() {
    withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
  }
}
