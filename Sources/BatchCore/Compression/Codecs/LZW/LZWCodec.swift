import BatchEngine

/// Files of compress(1).
enum LZWCodec: CodecDescriptor {
  static let toolName = "compress"
  static let title = "compress(1)"
  static let tarSuffixes = ["taZ"]

  /// A file without content ends with the flags.
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
    start.count >= 3 && start.starts(with: LZWFrameDecoder.magic) && LZWFrameDecoder.isFlags(start[2])
  }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder { LZWFrameDecoder() }
  static func checksFact(start: UnsafeRawBufferPointer) -> String { "compress(1) data has no checksums" }
}
