/// Calls a closure with the bytes of an array, and keeps the error type of the closure.
@inlinable
package func withBytes<Result>(
  of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
) throws(BatchError) -> Result {
  var failure: BatchError?
  let result: Result? = bytes.withUnsafeBytes { raw in
    do throws(BatchError) {
      return try body(raw)
    } catch {
      failure = error
      return nil
    }
  }
  if let failure { throw failure }
  guard let result else { preconditionFailure("there is a result or an error") }
  return result
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
