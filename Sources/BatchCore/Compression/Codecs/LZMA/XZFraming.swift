import BatchEngine
import CLZMA

/// One xz stream: header, blocks, index, footer.
final class XZFraming: BlockFraming {
  private static let headerSize = 12

  private let index: OpaquePointer

  init() throws(BatchError) {
    guard let index = lzma_index_init(nil) else { throw .noCodecMemory }
    self.index = index
  }

  deinit {
    lzma_index_end(index, nil)
  }

  func header() throws(BatchError) -> [UInt8] {
    var flags = lzma_stream_flags()
    flags.check = LZMA_CHECK_CRC64
    return try encode(Self.headerSize) { lzma_stream_header_encode(&flags, $0) }
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    guard
      lzma_index_append(index, nil, block.unpaddedSize, UInt64(block.plainCount)) == LZMA_OK
    else { throw .noCodecMemory }
  }

  func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8] {
    let size = Int(lzma_index_size(index))
    let records = try encode(size) { room in
      var count = 0
      return lzma_index_buffer_encode(index, room, &count, size)
    }
    var flags = lzma_stream_flags()
    flags.check = LZMA_CHECK_CRC64
    flags.backward_size = lzma_vli(size)
    return try records + encode(Self.headerSize) { lzma_stream_footer_encode(&flags, $0) }
  }

  private func encode(
    _ size: Int, _ body: (UnsafeMutablePointer<UInt8>) -> lzma_ret
  ) throws(BatchError) -> [UInt8] {
    var bytes: [UInt8] = []
    try bytes.append(upTo: size) { room throws(BatchError) in
      guard body(room) == LZMA_OK else { throw .noCodecMemory }
      return size
    }
    return bytes
  }
}
