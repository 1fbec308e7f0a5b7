import BatchEngine

/// Consecutive Zstandard frames, which need no framing.
struct ZstdFraming: BlockFraming {
  private let level: Int
  private var isEmpty = true

  init(level: Int) {
    self.level = level
  }

  func header() -> [UInt8] { [] }

  mutating func append(_ block: CompressedBlock) {
    isEmpty = false
  }

  func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8] {
    var bytes: [UInt8] = []
    // A file without bytes would not be a zstd file.
    if isEmpty {
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      try ZstdContext(level: level).compress(wholeFile: nothing, into: &bytes)
    }
    return bytes
  }
}
