import CDeflate
import CZlib
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The walk over a DEFLATE stream")
struct DeflateWalkerTests {
  private let walker = DeflateWalker()

  @Test("finds the last block at the place where zlib finds it", arguments: SampleContent.allCases, 1...12)
  func libdeflate(content: SampleContent, level: Int) throws {
    for size in [0, 1, 3, 100, 5000, 20_000, 70_000, 400_000] {
      let stream = try deflated(content.bytes(size), level: level)
      try expectSame(stream)
    }
  }

  @Test("recognizes each kind of block that zlib writes", arguments: 0...9)
  func zlib(level: Int) throws {
    for (content, size) in [(SampleContent.mixed, 120_000), (.text, 40), (.noise, 70_000), (.zeros, 70_000)] {
      let gzip = try Outcome(shell: "gzip -nc -\(max(level, 1))", input: content.bytes(size)).output
      try expectSame(Array(gzip.dropFirst(10).dropLast(8)))
      let stored = try Outcome(
        shell: "python3 -c 'import sys, zlib; c = zlib.compressobj(\(level), 8, -15, 1, 4)\n"
          + "sys.stdout.buffer.write(c.compress(sys.stdin.buffer.read()) + c.flush())'",
        input: content.bytes(size)
      ).output
      try expectSame(stored)
    }
  }

  @Test("refuses a cut or damaged stream, or finds the same blocks as zlib", arguments: 0..<300)
  func damage(seed: UInt64) throws {
    var chance = SeededNumbers(seed: seed)
    var stream = try deflated(SampleContent.mixed.bytes(30_000, seed: seed % 10), level: 6)
    if seed.isMultiple(of: 3) {
      stream.removeLast(Int(chance.next() % UInt64(stream.count)))
    } else {
      for _ in 0...(seed % 4) {
        stream[Int(chance.next() % UInt64(stream.count))] ^= 1 << UInt8(chance.next() % 8)
      }
    }
    // zlib also checks for distances before the start and for unused codes, so it may refuse more streams.
    if let expected = lastBlockByZlib(stream) {
      let found = walk(stream)
      #expect(found?.header == expected.header)
      #expect(found?.end == expected.end)
    } else if seed.isMultiple(of: 3) {
      #expect(walk(stream) == nil)
    } else {
      _ = walk(stream)
    }
  }

  private func expectSame(_ stream: [UInt8]) throws {
    let expected = try #require(lastBlockByZlib(stream))
    let found = try #require(walk(stream))
    #expect(found.header == expected.header)
    #expect(found.end == expected.end)
  }

  private func walk(_ stream: [UInt8]) -> (header: Int, end: Int)? {
    let padded = stream + [UInt8](repeating: 0, count: DeflateBits.readAhead)
    return padded.withUnsafeBytes { bytes in
      bytes.baseAddress.flatMap { walker.lastBlock(of: $0, count: stream.count) }
    }
  }

  private func deflated(_ bytes: [UInt8], level: Int) throws -> [UInt8] {
    let compressor = try #require(libdeflate_alloc_compressor(Int32(level)))
    defer { libdeflate_free_compressor(compressor) }
    let bound = libdeflate_deflate_compress_bound(compressor, bytes.count)
    return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
      count = libdeflate_deflate_compress(compressor, bytes, bytes.count, buffer.baseAddress, bound)
    }
  }

  /// The place of the last block by `inflate` with `Z_BLOCK`; nil if the stream does not end with the bytes.
  private func lastBlockByZlib(_ stream: [UInt8]) -> (header: Int, end: Int)? {
    let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    state.initialize(to: z_stream())
    defer { state.deallocate() }
    guard inflateInit2_(state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      return nil
    }
    defer { inflateEnd(state) }
    var input = stream
    var room = [UInt8](repeating: 0, count: 1 << 20)
    return input.withUnsafeMutableBufferPointer { input in
      room.withUnsafeMutableBufferPointer { room in
        state.pointee.next_in = input.baseAddress
        state.pointee.avail_in = UInt32(input.count)
        var header = 0
        while true {
          state.pointee.next_out = room.baseAddress
          state.pointee.avail_out = UInt32(room.count)
          let result = inflate(state, Z_BLOCK)
          let position = (input.count - Int(state.pointee.avail_in)) * 8 - Int(state.pointee.data_type & 7)
          switch result {
          case Z_OK where state.pointee.data_type & 0xC0 == 0xC0:
            return (position + 7) >> 3 == input.count ? (header, position) : nil
          case Z_OK where state.pointee.data_type & 0x80 != 0: header = position
          case Z_OK: continue
          default: return nil
          }
        }
      }
    }
  }
}
