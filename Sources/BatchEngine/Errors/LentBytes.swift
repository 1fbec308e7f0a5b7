/// Calls a closure with the bytes of an array, and keeps the error type of the closure.
@inlinable
package func withBytes<Result>(
  of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
) throws(BatchError) -> Result {
  try bytes.withUnsafeBufferPointer { (elements) throws(BatchError) in
    try body(UnsafeRawBufferPointer(elements))
  }
}

/// Lends the bytes of an array to a closure that changes them.
@inlinable
package func withMutableBytes<Result>(
  of bytes: inout [UInt8], _ body: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Result
) throws(BatchError) -> Result {
  try bytes.withUnsafeMutableBufferPointer { (elements) throws(BatchError) in
    try body(UnsafeMutableRawBufferPointer(elements))
  }
}

extension [UInt8] {
  /// Bytes that `fill` writes, and of which it returns the number.
  ///
  /// - Parameter count: the most bytes.
  package init(
    upTo count: Int, filling fill: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) {
    var failure: BatchError?
    self.init(unsafeUninitializedCapacity: count) { room, filled in
      do throws(BatchError) {
        let bytes = UnsafeMutableRawBufferPointer(room)[..<count]
        filled = try fill(UnsafeMutableRawBufferPointer(rebasing: bytes))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}

extension UnsafeRawBufferPointer {
  /// The address, in the type that C libraries use for bytes.
  package var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeMutableRawBufferPointer {
  /// The address, in the type that C libraries use for bytes that they change.
  package var bytes: UnsafeMutablePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
