import BatchEngine
import CLZMA

/// Decodes single blocks of an xz stream.
final class XZBlockDecoder: FrameDecoder {
  let startLength = 1
  let padding = FramePadding.none
  private let check: lzma_check
  private let memoryLimit: UInt64
  private var stream = lzma_stream()
  // liblzma keeps the address of the block that it decodes.
  private let block: UnsafeMutablePointer<lzma_block>
  private let filters: UnsafeMutablePointer<lzma_filter>
  private var header: [UInt8] = []
  private var isHeaderComplete = false

  var checkGap: CheckGap? { CheckGap(xz: check) }

  init(check: UInt32, memoryLimit: UInt64) {
    self.check = lzma_check(rawValue: check)
    self.memoryLimit = memoryLimit
    block = .allocate(capacity: 1)
    block.initialize(to: lzma_block())
    let count = Int(LZMA_FILTERS_MAX) + 1
    filters = .allocate(capacity: count)
    filters.initialize(repeating: lzma_filter(id: batch_lzma_vli_unknown, options: nil), count: count)
  }

  deinit {
    lzma_end(&stream)
    block.deallocate()
    filters.deallocate()
  }

  /// A block header begins with its length; 0 is the start of the index.
  func canStart(with bytes: [UInt8]) -> Bool { bytes.first != 0 }

  func begin() {
    header.removeAll(keepingCapacity: true)
    isHeaderComplete = false
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    if isHeaderComplete { return try stream.step(input, into: output, memoryLimit: memoryLimit) }
    guard let first = header.first ?? input.first else { return FrameStep() }
    let length = (Int(first) + 1) * 4
    let taken = input.prefix(length - header.count)
    header += taken
    if header.count == length { try decodeHeader() }
    return FrameStep(consumed: taken.count)
  }

  private func decodeHeader() throws(FrameFailure) {
    block.pointee = lzma_block()
    block.pointee.version = 1
    block.pointee.check = check
    block.pointee.filters = filters
    block.pointee.header_size = UInt32(header.count)
    switch lzma_block_header_decode(block, nil, header) {
    case LZMA_OK: break
    case LZMA_MEM_ERROR: throw .failed(.noCodecMemory)
    default: throw .corrupt
    }
    defer { lzma_filters_free(filters, nil) }
    guard lzma_raw_decoder_memusage(filters) <= memoryLimit else {
      throw .failed(.decoderMemory(limit: memoryLimit))
    }
    guard lzma_block_decoder(&stream, block) == LZMA_OK else { throw .failed(.noCodecMemory) }
    isHeaderComplete = true
  }
}
