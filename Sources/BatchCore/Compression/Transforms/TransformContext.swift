import BatchEngine

/// A closure in the place of a codec: what it makes of a whole file is the output.
final class TransformContext: CodecContext {
  /// What it throws is the failure of the file.
  typealias Body = @Sendable ([UInt8]) throws(BatchError) -> [UInt8]

  /// No output is in a format.
  let format = CompressionFormat.gz
  let level = 0
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
