@testable import BatchCore
@testable import BatchEngine

private let library = try? InflateLibrary()

/// A .gz with a table of its blocks. Each part in the table is decoded by both libraries.
func fuzzGzipBlocks(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let file = UnsafeRawBufferPointer(start: start, count: count)
  let found = try? GzipBlockTable.read(size: UInt64(count)) { (offset, buffer) in
    let rest = file.dropFirst(Int(offset)).prefix(buffer.count)
    buffer.copyBytes(from: rest)
    return rest.count
  }
  for part in found?.parts ?? [] where part.plainSize <= 1 << 22 {
    let bytes = UnsafeRawBufferPointer(
      rebasing: file[Int(part.compressed.lowerBound)..<Int(part.compressed.upperBound)])
    compare(bytes, count: Int(part.plainSize))
  }
  // Any bytes, decoded as blocks.
  compare(file, count: min(count, 1000))
}

/// If both libraries accept the bytes, the content must be the same.
private func compare(_ bytes: UnsafeRawBufferPointer, count: Int) {
  guard let library else { return }
  let rooms = (0..<2).map { _ in
    UnsafeMutableRawBufferPointer.allocate(byteCount: count + 1, alignment: 16)
  }
  defer { for room in rooms { room.deallocate() } }
  guard GzipSegment.inflate(bytes, into: rooms[0], by: library) != nil,
    GzipSegment.inflateByZlib(bytes, into: rooms[1])
  else { return }
  precondition(rooms[0].dropLast().elementsEqual(rooms[1].dropLast()), "two contents")
}
