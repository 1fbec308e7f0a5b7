@testable import BatchCore
@testable import BatchEngine

// Gives tests the right to decode.

extension CompressionFormat {
  func makeDecoder(_ options: DecoderOptions = DecoderOptions()) throws(BatchError) -> StreamDecoder {
    try makeDecoder(options, by: ReadingRight())
  }
}
