@testable import BatchCore
@testable import BatchEngine

// Tests decode by hand.

extension CompressionFormat {
  func makeDecoder(_ options: DecoderOptions = DecoderOptions()) throws(BatchError) -> StreamDecoder {
    try makeDecoder(options, by: ReadingRight())
  }
}
