import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The frames of a backup manifest")
struct ManifestFramesTests {
  /// Lines of 10 to 400 bytes, with one of 600,000 bytes among them.
  private static let lines: [[UInt8]] = {
    var generator = SeededNumbers(seed: 3)
    // Parts of one text are copied, since making single bytes is slow without optimization.
    let letters = generator.bytes(100_003...100_003, of: Array(0x61...0x7a))
    let text = [UInt8](repeating: letters, length: 701_000)
    return (0..<6000).map { number in
      let count = number == 4000 ? 600_000 : Int.random(in: 10...400, using: &generator)
      let start = Int.random(in: letters.indices, using: &generator)
      return Array(text[start..<(start + count)]) + [0x0a]
    }
  }()
  private static let content: [UInt8] = lines.reduce(into: []) { $0 += $1 }

  /// The file of all lines, which the writer gets in portions of some lines.
  private static func file(portion: Int) throws -> [UInt8] {
    var writer = try ManifestFrameWriter()
    var (file, waiting) = ([UInt8](), [UInt8]())
    for start in stride(from: 0, to: lines.count, by: portion) {
      for line in lines[start..<min(start + portion, lines.count)] { waiting += line }
      file += try writer.take(from: &waiting, isAll: false)
    }
    file += try writer.take(from: &waiting, isAll: true)
    #expect(waiting.isEmpty)
    return file + writer.table()
  }

  private static func frames(_ file: [UInt8], memory: Int = 64 << 20) throws -> ManifestFrames {
    try ManifestFrames(size: UInt64(file.count), memory: memory) { (range) throws(BatchError) in
      Array(
        file[Int(min(range.lowerBound, UInt64(file.count)))..<Int(min(range.upperBound, UInt64(file.count)))])
    }
  }

  private static func read(_ frames: ManifestFrames, _ range: Range<Int>) throws -> [UInt8] {
    try [UInt8](upTo: range.count) { (room) throws(BatchError) in
      try frames.read(at: UInt64(range.lowerBound), into: room)
    }
  }

  @Test("have whole lines, at least 256 KiB except for the last one, and do not depend on the portions")
  func cuts() throws {
    let file = try Self.file(portion: 1)
    for portion in [7, 100, Self.lines.count] { #expect(try Self.file(portion: portion).equals(file)) }
    let table = try #require(
      try ZstdSeekTable.read(
        size: UInt64(file.count), most: 1 << 20, tooLarge: BatchError(.exhausted, "")
      ) { (range) throws(BatchError) in Array(file[Int(range.lowerBound)..<Int(range.upperBound)]) })
    #expect(table.frames.count > 3)
    var end = 0
    for (index, frame) in table.frames.enumerated() {
      let start = end
      end += Int(frame.plain)
      #expect(Self.content[end - 1] == 0x0a)
      guard index < table.frames.count - 1 else { continue }
      #expect(frame.plain >= 256 << 10)
      // It ends with the first line that fills it.
      let previous = Self.content[start..<(end - 1)].lastIndex(of: 0x0a) ?? start
      #expect(previous - start < 256 << 10)
    }
    #expect(end == Self.content.count)
  }

  @Test("are read from any offset")
  func randomAccess() throws {
    let frames = try Self.frames(try Self.file(portion: 50))
    #expect(frames.size == UInt64(Self.content.count))
    #expect(try Self.read(frames, 0..<Self.content.count).equals(Self.content))
    var generator = SeededNumbers(seed: 4)
    for _ in 0..<200 {
      let start = Int.random(in: Self.content.indices, using: &generator)
      let end = min(Self.content.count, start + Int.random(in: 0...700_000, using: &generator))
      #expect(try Self.read(frames, start..<end).equals(Array(Self.content[start..<end])))
    }
    // Behind the end there is nothing, at any offset.
    #expect(try Self.read(frames, Self.content.count..<(Self.content.count + 10)).isEmpty)
    #expect(try Self.read(frames, (Int.max - 10)..<Int.max).isEmpty)
  }

  @Test("a file without lines has a table without frames")
  func empty() throws {
    var writer = try ManifestFrameWriter()
    var lines = [UInt8]()
    #expect(try writer.take(from: &lines, isAll: true).isEmpty)
    let frames = try Self.frames(writer.table())
    #expect(frames.size == 0)
    #expect(try Self.read(frames, 0..<10).isEmpty)
  }

  @Test("a damaged table is refused, or does no harm")
  func damagedTable() throws {
    let file = try Self.file(portion: 50)
    let (start, _) = try Self.table(of: file)
    for place in start..<file.count {
      for bit in 0..<8 {
        var damaged = file
        damaged[place] ^= 1 << bit
        guard let frames = try? Self.frames(damaged) else { continue }
        // The sizes of a table that still fits are compared with the frames.
        guard let found = try? Self.read(frames, 0..<Self.content.count) else { continue }
        #expect(found.equals(Self.content), "byte \(place), bit \(bit)")
      }
    }
  }

  /// Where the table begins, and its frames.
  private static func table(of file: [UInt8]) throws -> (start: Int, frames: [ZstdSeekTable.Frame]) {
    let table = try #require(
      try ZstdSeekTable.read(
        size: UInt64(file.count), most: 1 << 20, tooLarge: BatchError(.exhausted, "")
      ) { (range) throws(BatchError) in Array(file[Int(range.lowerBound)..<Int(range.upperBound)]) })
    return (Int(table.start), table.frames)
  }

  @Test("a damaged frame is an error, and the others can be read")
  func damagedFrame() throws {
    let file = try Self.file(portion: 50)
    let table = try Self.table(of: file).frames
    var generator = SeededNumbers(seed: 5)
    for _ in 0..<100 {
      var damaged = file
      let place = Int.random(in: 0..<Int(table[0].compressed), using: &generator)
      damaged[place] ^= 1 << Int.random(in: 0..<8, using: &generator)
      let frames = try Self.frames(damaged)
      do {
        // Some bits of a frame have no meaning.
        #expect(try Self.read(frames, 0..<Self.content.count).equals(Self.content), "byte \(place)")
      } catch {
        #expect((error as? BatchError)?.code == .malformed, "\(error)")
      }
      let second = Int(table[0].plain)
      #expect(
        try Self.read(frames, second..<(second + 1000)).elementsEqual(Self.content[second..<(second + 1000)]))
    }
  }

  @Test("frames of impossible sizes are refused before memory is used")
  func hugeSizes() throws {
    let file = try Self.file(portion: 50)
    let (start, frames) = try Self.table(of: file)
    let head = file[..<start]
    for plain in [0, 1 << 23, UInt32.max] {
      var changed = frames
      changed[1] = ZstdSeekTable.Frame(compressed: frames[1].compressed, plain: plain)
      expectError(.malformed) { try Self.frames(head + ZstdSeekTable.bytes(of: changed)) }
    }
    // A size that is possible but wrong is found when the frame is read.
    var changed = frames
    changed[1] = ZstdSeekTable.Frame(compressed: frames[1].compressed, plain: frames[1].plain + 1)
    let wrong = try Self.frames(head + ZstdSeekTable.bytes(of: changed))
    expectError(.malformed) { try Self.read(wrong, 0..<Self.content.count) }
    // The compressed sizes must fill the file.
    changed[1] = ZstdSeekTable.Frame(compressed: .max, plain: frames[1].plain)
    expectError(.malformed) { try Self.frames(head + ZstdSeekTable.bytes(of: changed)) }
    // A table that needs more memory than the limit, and one that says so but is not in the file.
    expectError(.exhausted) { try Self.frames(file, memory: 64) }
    expectError(.malformed) { try Self.frames(head + [0xff, 0xff, 0xff, 0x7f, 0, 0xb1, 0xea, 0x92, 0x8f]) }
  }

  @Test("a file that is cut has no table")
  func truncated() throws {
    let file = try Self.file(portion: 50)
    for end in Array(0..<100) + [file.count / 2] + Array((file.count - 100)..<file.count) {
      expectError(.malformed, about: "\(end)") { try Self.frames(Array(file[..<end])) }
    }
    expectError(.malformed) { try Self.frames(file + [0]) }
  }
}
