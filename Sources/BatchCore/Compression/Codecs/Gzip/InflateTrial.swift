import BatchEngine
import CDeflate

/// Tests ISA-L before it is used: compares its output with the original content.
enum InflateTrial {
  /// More than the library's window.
  private static let size = 70_000
  /// A byte after each stream, which the library must return as the rest.
  private static let mark: UInt8 = 0xA5

  /// - Throws: `unsupported` if a content differs.
  static func check(_ library: InflateLibrary) throws(BatchError) {
    let stream = InflateStream(library)
    let content = mixed()
    let isChecked = content.withUnsafeBytes { raw in
      let (first, second) = (raw.prefix(size / 3), raw.dropFirst(size / 3))
      let check = library.check(UnsafeRawBufferPointer(rebasing: first))
      return library.check(UnsafeRawBufferPointer(rebasing: second), after: check)
        == libdeflate_crc32(0, raw.baseAddress, raw.count)
    }
    guard isChecked else { throw BatchError(.unsupported, "failed its self-test: wrong CRC-32") }
    let trials: [(content: ArraySlice<UInt8>, level: Int32)] = [
      (content[...], 1), (content.prefix(size / 3), 6), (content[...], 0), ([], 6), ([42], 6),
    ]
    for (content, level) in trials {
      let compressed = try compress(Array(content), level: level)
      // In one piece, and in pieces with arbitrary borders.
      for (input, output) in [(Int.max, size + 1), (4099, 509)] {
        guard inflates(compressed, to: content, stream, input: input, output: output) else {
          throw BatchError(.unsupported, "failed its self-test: its content is not what was compressed")
        }
      }
    }
  }

  /// Words, noise, and a run.
  private static func mixed() -> [UInt8] {
    var state: UInt32 = 1951
    func number() -> UInt32 {
      state = state &* 1_664_525 &+ 1_013_904_223
      return state >> 8
    }
    let words = (0..<100).map { _ in (0...number() % 9).map { _ in UInt8(97 + number() % 20) } + [32] }
    var bytes: [UInt8] = []
    while bytes.count < size / 2 { bytes += words[Int(number() % 100)] }
    for _ in 0..<(size / 4) { bytes.append(UInt8(truncatingIfNeeded: number())) }
    bytes += [UInt8](repeating: 7, count: max(0, size - bytes.count))
    return bytes
  }

  private static func compress(_ content: [UInt8], level: Int32) throws(BatchError) -> [UInt8] {
    guard let compressor = libdeflate_alloc_compressor(level) else { throw .noCodecMemory }
    defer { libdeflate_free_compressor(compressor) }
    let bound = libdeflate_deflate_compress_bound(compressor, content.count)
    var bytes: [UInt8] = []
    try bytes.append(upTo: bound) { room throws(BatchError) in
      content.withUnsafeBytes {
        libdeflate_deflate_compress(compressor, $0.baseAddress, $0.count, room, bound)
      }
    }
    return bytes + [mark]
  }

  private static func inflates(
    _ compressed: [UInt8], to content: ArraySlice<UInt8>, _ stream: InflateStream, input: Int, output: Int
  ) -> Bool {
    stream.begin()
    var rest = compressed[...]
    var found: [UInt8] = []
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: output, alignment: 16)
    defer { room.deallocate() }
    while !stream.isFinished {
      let step = rest.prefix(input).withUnsafeBytes { stream.step($0, into: room) }
      guard !step.isCorrupt, step.consumed + step.produced > 0, found.count + step.produced <= content.count
      else { return false }
      rest = rest.dropFirst(step.consumed)
      found += room[..<step.produced]
    }
    return found[...] == content && stream.takeRest() + rest == [mark]
  }
}
