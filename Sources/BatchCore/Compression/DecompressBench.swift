import BatchEngine

/// What a lane needs to decompress.
final class DecompressBench {
  let decoder: FileDecoder
  let digest: DigestStream
  /// Of the last source and its output; not kept open from chunk to chunk.
  var place: OutputPlace?

  /// Why the content of the last source could not be compared with a check.
  var checkGap: CheckGap?

  /// Those of the source.
  var attributes: [ExtendedAttribute] = []

  init(_ options: DecoderOptions, _ parts: PartBudget) throws(BatchError) {
    decoder = FileDecoder(options, parts)
    digest = try DigestStream(.xxh128)
  }
}
