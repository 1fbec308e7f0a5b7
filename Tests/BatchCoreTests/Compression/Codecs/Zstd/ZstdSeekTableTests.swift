import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The table of frames of zstd's seekable format")
struct ZstdSeekTableTests {
  private let frames = (1...5).map { ZstdSeekTable.Frame(compressed: $0 * 10, plain: $0 * 1000) }

  /// The table of a file with this number of bytes before it.
  private func read(
    _ table: [UInt8], behind count: Int = 150, most: UInt64 = 1 << 20
  ) throws(BatchError) -> (frames: [ZstdSeekTable.Frame], start: UInt64)? {
    let file = [UInt8](repeating: 7, count: count) + table
    return try ZstdSeekTable.read(
      size: UInt64(file.count), most: most, tooLarge: BatchError(.exhausted, "")
    ) { (range) throws(BatchError) in
      Array(file[Int(range.lowerBound)..<Int(range.upperBound)])
    }
  }

  @Test("is read as it was written")
  func roundTrip() throws {
    let table = try #require(try read(ZstdSeekTable.bytes(of: frames)))
    #expect(table.start == 150)
    #expect(table.frames.map(\.compressed) == frames.map(\.compressed))
    #expect(table.frames.map(\.plain) == frames.map(\.plain))
    #expect(try #require(try read(ZstdSeekTable.bytes(of: []), behind: 0)).frames.isEmpty)
  }

  @Test("may have a checksum for each frame")
  func checksums() throws {
    var bytes = [UInt8]()
    bytes.appendLittleEndian(ZstdSeekTable.magic)
    bytes.appendLittleEndian(UInt32(5 * 12 + 9))
    for frame in frames {
      bytes.appendLittleEndian(frame.compressed)
      bytes.appendLittleEndian(frame.plain)
      bytes.appendLittleEndian(UInt32(0xdead_beef))
    }
    bytes.appendLittleEndian(UInt32(5))
    bytes.append(0x80)
    bytes.appendLittleEndian(ZstdSeekTable.endMagic)
    #expect(try read(bytes)?.frames.map(\.plain) == frames.map(\.plain))
  }

  @Test("is not found if it does not fit the file")
  func misfit() throws {
    let table = ZstdSeekTable.bytes(of: frames)
    for count in [0, 149, 151] { #expect(try read(table, behind: count) == nil) }
    for count in 1...table.count { #expect(try read(Array(table.dropLast(count))) == nil) }
    for count in 1..<table.count { #expect(try read(Array(table.dropFirst(count)), behind: 0) == nil) }
    // Every bit of the magic numbers, the size, the count and the descriptor has a meaning.
    let last = table.count - 1
    for place in Array(0..<8) + Array((last - 8)...last) {
      for bit in 0..<8 {
        var damaged = table
        damaged[place] ^= 1 << bit
        #expect(try read(damaged) == nil, "byte \(place), bit \(bit)")
      }
    }
  }

  @Test("is refused if it is larger than allowed")
  func tooLarge() throws {
    let table = ZstdSeekTable.bytes(of: frames)
    #expect(try read(table, most: 49) != nil)
    expectError(.exhausted) { try read(table, most: 48) }
  }
}
