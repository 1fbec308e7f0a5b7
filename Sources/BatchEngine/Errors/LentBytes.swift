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
