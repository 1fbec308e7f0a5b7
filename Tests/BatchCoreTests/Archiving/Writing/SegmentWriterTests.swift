import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Members that are left out after they were added.
@Suite struct SegmentWriterTests {
  private func writer() throws -> SegmentWriter {
    try SegmentWriter(ArchiveOptions(format: try #require(ArchiveFormat(named: "tar"))), FrameBuffers()) {}
  }

  /// Entries whose headers take one to five blocks.
  private let entries = (0..<6).map { number in
    var entry = ArchiveEntry(path: PathBytes("link\(number)"), kind: .symbolicLink)
    entry.linkTarget = PathBytes([UInt8](repeating: 0x61, count: 1 + number * 97))
    return entry
  }

  @Test("a segment without some members equals one to which they were not added")
  func removal() throws {
    for mask in 1..<(1 << entries.count) {
      let kept = entries.indices.filter { mask & 1 << $0 != 0 }
      let (all, some) = (try writer(), try writer())
      all.begin(expecting: 0)
      some.begin(expecting: 0)
      for (index, entry) in entries.enumerated() {
        all.number = UInt64(index)
        some.number = UInt64(index)
        try all.add(entry)
        if kept.contains(index) { try some.add(entry) }
      }
      var asked = [UInt64]()
      let frame = try all.frame { (member) throws(BatchError) in
        asked.append(member.number)
        return !kept.contains(Int(member.number))
      }
      #expect(asked == entries.indices.map { UInt64($0) })
      #expect(all.members == some.members)
      #expect(try frame?.bytes == some.frame()?.bytes)
    }
  }

  @Test("a segment without any member has no frame, and the writer can be used again")
  func removalOfAll() throws {
    let writer = try writer()
    for _ in 0..<2 {
      writer.begin(expecting: 0)
      for entry in entries { try writer.add(entry) }
      #expect(try writer.frame { _ in true } == nil)
      #expect(writer.members.isEmpty && writer.plain.isEmpty)
    }
    writer.begin(expecting: 0)
    try writer.add(entries[0])
    #expect(try writer.frame()?.plainSize ?? 0 > 0)
  }
}
