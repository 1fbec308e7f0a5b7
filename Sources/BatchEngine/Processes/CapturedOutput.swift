import Synchronization

/// What a child printed on one stream. Its memory and its part of the file are free again when it is released.
package final class CapturedOutput: Sendable {
  /// Bytes in memory are kept in pieces up to this size, so that none of them is moved often.
  private static let piece = 64 << 10
  /// How much of the end is searched for the last line.
  private static let mostSearched = 64 << 10

  private struct Content {
    /// The beginning.
    var pieces: [[UInt8]] = []
    var inMemory = 0
    /// The rest: all units of the file are full but the last one.
    var units: [Int64] = []
    var inFile: Int64 = 0
    var failure: BatchError?
  }

  private let store: CaptureStore
  private let content = Mutex(Content())

  init(_ store: CaptureStore) {
    self.store = store
  }

  deinit {
    let content = content.withLock { $0 }
    store.giveBack(memory: content.inMemory)
    store.giveBack(units: content.units)
  }

  /// The number of bytes.
  package var count: Int64 { content.withLock { Int64($0.inMemory) + $0.inFile } }

  /// Adds bytes. If they cannot be stored, they are lost, as all later ones, and ``forEach(_:)`` throws the error.
  func append(_ bytes: UnsafeRawBufferPointer) {
    content.withLock { content in
      guard content.failure == nil, !bytes.isEmpty else { return }
      if content.units.isEmpty, content.inMemory + bytes.count <= CaptureStore.mostInMemory,
        store.takeMemory(bytes.count)
      {
        Self.keep(bytes, &content)
        return
      }
      do throws(BatchError) {
        try spill(bytes, &content)
      } catch {
        content.failure = error
      }
    }
  }

  private static func keep(_ bytes: UnsafeRawBufferPointer, _ content: inout Content) {
    content.inMemory += bytes.count
    if let last = content.pieces.indices.last, content.pieces[last].count + bytes.count <= piece {
      content.pieces[last] += bytes
    } else {
      content.pieces.append(Array(bytes))
    }
  }

  private func spill(_ bytes: UnsafeRawBufferPointer, _ content: inout Content) throws(BatchError) {
    var rest = bytes
    while !rest.isEmpty {
      let used = Int(content.inFile % Int64(CaptureStore.unit))
      if used == 0 { content.units.append(try store.takeUnit()) }
      guard let unit = content.units.last else { return }
      let count = min(rest.count, CaptureStore.unit - used)
      try store.write(UnsafeRawBufferPointer(rebasing: rest[..<count]), at: unit + Int64(used))
      content.inFile += Int64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Calls `body` with each part, in order.
  ///
  /// - Throws: the error of `body`; or, before any call of it, the error because of which a part is missing.
  package func forEach(_ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void) throws(BatchError) {
    try forEach(from: 0, body)
  }

  private func forEach(
    from start: Int64, _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    let content = content.withLock { $0 }
    if let failure = content.failure { throw failure }
    var skipped = start
    for piece in content.pieces {
      let skip = Int(min(skipped, Int64(piece.count)))
      skipped -= Int64(skip)
      if skip == piece.count { continue }
      try withBytes(of: piece) { (bytes) throws(BatchError) in
        try body(UnsafeRawBufferPointer(rebasing: bytes[skip...]))
      }
    }
    var left = content.inFile
    var buffer = [UInt8]()
    for unit in content.units where left > 0 {
      let size = min(left, Int64(CaptureStore.unit))
      left -= size
      let skip = min(skipped, size)
      skipped -= skip
      if skip == size { continue }
      if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: CaptureStore.unit) }
      try withMutableBytes(of: &buffer) { (room) throws(BatchError) in
        let part = UnsafeMutableRawBufferPointer(rebasing: room[..<Int(size - skip)])
        try store.read(into: part, at: unit + skip)
        try body(UnsafeRawBufferPointer(part))
      }
    }
  }

  /// The last line that is not empty, without its end; only its first bytes if it is longer than `most`. Only the last 64 KiB of
  /// the output are searched.
  package func lastLine(most: Int) -> [UInt8] {
    var end: [UInt8] = []
    do throws(BatchError) {
      try forEach(from: max(0, count - Int64(Self.mostSearched))) { end += $0 }
    } catch {
      return []
    }
    let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    let line = end.split(whereSeparator: isEnd).last ?? []
    return Array(line.prefix(max(0, most)))
  }
}
