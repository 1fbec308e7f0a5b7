import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// ISA-L, and groups of blocks that it or zlib decodes.
@Suite struct InflateLibraryTests {
  @Test func theLibraryIsInstalledAndPassesItsSelfTest() throws {
    #if arch(x86_64)
      try InflateTrial.check(InflateLibrary())
    #else
      #expect(throws: BatchError.self) { try InflateLibrary() }
    #endif
  }

  @Test func doctorSaysWhyTheLibraryIsNotUsed() {
    let absent = OptionalLibrary(threshold: 0) { () throws(BatchError) in
      try InflateLibrary(in: ["/var/empty"])
    }
    #expect(absent.tool(for: 1) == nil)
    let shown = OpenedLibrary("ISA-L", absent) { _ in ("2", "") }
    #expect(shown.version == nil && !shown.note.isEmpty)
    #expect(OpenedLibrary.all.map(\.name) == ["libIPSec_MB", "libgf-complete", "ISA-L"])
  }

  private func inflate(_ segment: [UInt8], count: Int, byZlib: Bool) throws -> [UInt8]? {
    let library = try? InflateLibrary()
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count + 1, alignment: 16)
    defer { room.deallocate() }
    let isInflated = segment.withUnsafeBytes { bytes in
      if !byZlib, let library { return GzipSegment.inflate(bytes, into: room, by: library) != nil }
      return GzipSegment.inflateByZlib(bytes, into: room)
    }
    return isInflated ? Array(room[..<count]) : nil
  }

  @Test("blocks are decoded only up to the place where another one begins", arguments: [false, true])
  func segments(byZlib: Bool) throws {
    for (kind, count) in [
      (SampleContent.text, 1), (.text, 700), (.noise, 100_000), (.zeros, 300_000), (.mixed, 1_000_000),
      (.text, 2 * GzipSegment.pieceSize),
    ] {
      let content = kind.bytes(count)
      let context = try CompressionFormat.gz.makeContext(level: 6)
      let segment = try content.withUnsafeBytes { (raw) throws(BatchError) in
        try context.compress(block: raw, index: 0).bytes
      }
      #expect(try inflate(segment, count: count, byZlib: byZlib) == content)
      #expect(try inflate(segment + segment, count: 2 * count, byZlib: byZlib) == content + content)
      for wrong in [
        Array(segment.dropLast()), segment + [0], segment + [3, 0], segment + [1, 0, 0, 0xFF, 0xFF],
        Array(segment.dropFirst()),
      ] { #expect(try inflate(wrong, count: count, byZlib: byZlib) == nil) }
      #expect(try inflate(segment, count: count - 1, byZlib: byZlib) == nil)
      #expect(try inflate(segment, count: count + 1, byZlib: byZlib) == nil)
    }
  }
}
