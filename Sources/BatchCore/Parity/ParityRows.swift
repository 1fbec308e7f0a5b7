import BatchEngine
import Synchronization

/// The sums of products that become recovery blocks, or blocks that are rebuilt; each is a row.
///
/// If all columns fit into memory, they stay there. Otherwise the rows are computed by columns, and are kept in an unnamed file.
final class ParityRows: Sendable {
  /// Some columns, which one lane at a time changes.
  final class Stripe: Sendable {
    let columns: Range<Int>
    private let lock = Mutex(())

    init(_ columns: Range<Int>) { self.columns = columns }

    func use(_ body: () throws(BatchError) -> Void) throws(BatchError) {
      try lock.withLock { (_) throws(BatchError) in try body() }
    }
  }

  let rowCount: Int
  let blockSize: Int
  /// The columns that are in memory at once.
  let passWidth: Int
  private let stride: Int
  private let memory: AlignedRegion
  /// Nil if all columns are in memory.
  private let scratch: ScratchFile?

  /// - Parameters:
  ///   - memory: bytes that the rows may take.
  ///   - folder: where a file for rows that do not fit is made.
  /// - Throws: `exhausted` if not even a column fits; the error of making the file.
  init(count: Int, blockSize: Int, memory: Int, scratchIn folder: OpenFolder) throws(BatchError) {
    rowCount = count
    self.blockSize = blockSize
    let affordable = max(1, memory) / max(1, count) / 64 * 64
    guard affordable > 0 else {
      throw BatchError(
        .exhausted, "too little memory for \(count) recovery blocks", remedy: .raiseMemory)
    }
    let rounded = (blockSize + 63) / 64 * 64
    stride = min(rounded, affordable)
    passWidth = min(blockSize, stride)
    self.memory = AlignedRegion(byteCount: stride * max(1, count))
    if passWidth < blockSize {
      let (size, isHuge) = UInt64(blockSize).multipliedReportingOverflow(by: UInt64(count))
      guard !isHuge else { throw BatchError(.exhausted, "too many recovery blocks of this size") }
      scratch = try ScratchFile(size: size, in: folder)
    } else {
      scratch = nil
    }
  }

  /// The first columns of the passes that are needed.
  var passes: [Range<Int>] {
    Swift.stride(from: 0, to: blockSize, by: max(1, passWidth)).map { $0..<min(blockSize, $0 + passWidth) }
  }

  func clear() { memory.bytes.initializeMemory(as: UInt8.self, repeating: 0) }

  /// The address of a column of a row in the present pass. Until ``keep(_:)`` the elements are arranged as ``RegionProduct`` does.
  func address(_ row: Int, _ column: Int, in pass: Range<Int>) -> UnsafeMutableRawPointer {
    memory.base + (row * stride + column - pass.lowerBound)
  }

  /// Keeps the columns of a pass, whose products are complete.
  func keep(_ pass: Range<Int>) throws(BatchError) {
    let product = try RegionProduct()
    for row in 0..<rowCount { product.restore(memory.base + row * stride, count: stride) }
    guard let scratch else { return }
    for row in 0..<rowCount {
      try scratch.write(
        UnsafeRawBufferPointer(start: address(row, pass.lowerBound, in: pass), count: pass.count),
        at: UInt64(row) * UInt64(blockSize) + UInt64(pass.lowerBound))
    }
  }

  /// Passes the bytes of a finished row on in pieces.
  ///
  /// - Parameter length: how many of its bytes.
  func read(
    _ row: Int, length: Int, _ take: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    guard let scratch else {
      return try take(UnsafeRawBufferPointer(start: memory.base + row * stride, count: length))
    }
    let buffer = AlignedRegion(byteCount: min(max(1, length), 1 << 20))
    var done = 0
    while done < length {
      let piece = UnsafeMutableRawBufferPointer(
        rebasing: buffer.bytes[..<min(buffer.byteCount, length - done)])
      try scratch.read(piece, at: UInt64(row) * UInt64(blockSize) + UInt64(done))
      try take(UnsafeRawBufferPointer(piece))
      done += piece.count
    }
  }
}

/// A temporary file that never gets a name.
private final class ScratchFile: Sendable {
  private let file: TemporaryFile
  private let calls: any FileSystemCalls

  init(size: UInt64, in folder: OpenFolder) throws(BatchError) {
    calls = folder.calls
    let made = try TemporaryFile.unnamed(in: folder, permissions: 0o600, area: .shared)
    switch consume made {
    case .some(let unnamed): file = unnamed
    case nil: file = try TemporaryFile(in: folder, area: .shared)
    }
    try file.setSize(size)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try file.write(bytes, at: offset)
  }

  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(BatchError) {
    guard try calls.fill(bytes, from: file.raw, at: offset) == bytes.count else {
      throw BatchError(.unwritable, "the temporary file of recovery blocks is too short")
    }
  }
}
