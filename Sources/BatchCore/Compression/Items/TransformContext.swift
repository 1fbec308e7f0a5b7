import BatchEngine

/// Uses a closure instead of a codec: the bytes that it returns for a whole file are the output.
final class TransformContext: CodecContext {
  /// If it throws, the file fails with this error.
  typealias Body = @Sendable ([UInt8]) throws(BatchError) -> [UInt8]

  private let body: Body

  init(_ body: @escaping Body) {
    self.body = body
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    output = try body(Array(wholeFile))
  }

  func compress(block bytes: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    throw BatchError(.invalid, "files are not cut into blocks")
  }
}
