/// What a lane needs to decompress.
final class DecompressBench {
  let decoder: FileDecoder
  let digest: DigestStream

  init(_ options: DecoderOptions) throws(BatchError) {
    decoder = FileDecoder(options)
    digest = try DigestStream(.xxh128)
  }
}
