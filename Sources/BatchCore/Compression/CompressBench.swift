/// What a lane needs to compress: a codec, a digest, and two buffers that keep their room.
final class CompressBench {
  let codec: any CodecContext
  let digest: DigestStream
  let decoder: StreamDecoder
  var content: [UInt8] = []
  var output: [UInt8] = []
  /// Those of the source.
  var attributes: [ExtendedAttribute] = []
  /// Where the last output went to; not kept open from chunk to chunk.
  var folder: OutputFolder?

  init(
    _ format: CompressionFormat, level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) {
    codec = try format.makeContext(level: level, checking: check)
    decoder = try format.makeDecoder()
    digest = try DigestStream(.xxh128)
  }
}
