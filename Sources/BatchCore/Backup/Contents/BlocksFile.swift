import BatchEngine
import struct Foundation.Data
import Synchronization

/// What is known about the blocks of a file that the newest snapshot of a series has.
struct BlocksRecord: Sendable {
  let list: BlockList
  /// Which blocks differ from the whole file of which the row has blocks; nil for a file that is whole in one member.
  let changed: [Bool]?
}

/// Writes the hashes of the blocks of all large files of a snapshot: `SET-STAMP.blocks`, lines of JSON in zstd frames, as a manifest.
///
/// Only the next backup of the series reads it. Without it that stores large files whole.
final class BlocksWriter {
  /// Hashes of one line; a line has at most 1 MiB.
  private static let mostOfLine = 32_768
  private static let bufferSize = 1 << 18

  private let stream: any ResultStream
  private let digest: DigestStream
  private var frames: ManifestFrameWriter
  private var lines: [UInt8] = []

  init(_ header: SnapshotHeader, seed: UInt64, to stream: any ResultStream) throws(BatchError) {
    self.stream = stream
    digest = try DigestStream(.sha256)
    frames = try ManifestFrameWriter()
    JSONLine.append("blocks", to: &lines) { line in
      line.add("schema", UInt64(1))
      line.add("set", header.name.set.text ?? "")
      line.add("id", header.name.stamp)
      line.add("seed", KnownBlocks.text(of: seed))
    }
  }

  /// - Parameter place: the member of the row.
  func append(_ record: BlocksRecord, at place: SnapshotEntry.Place) throws(BatchError) {
    let list = record.list
    var start = 0
    repeat {
      let end = min(list.count, start + Self.mostOfLine)
      JSONLine.append("content", to: &lines) { line in
        line.add("archive", place.archive)
        line.add(path: place.member, as: "member")
        line.add("size", list.size)
        line.add("block_size", list.blockSize)
        line.add("first", UInt64(start))
        if start == 0, let changed = record.changed { line.add("changed", Self.text(of: changed)) }
        line.add(
          "hashes",
          Data(list.hashes[(start * BlockList.hashSize)..<(end * BlockList.hashSize)]).base64EncodedString())
      }
      start = end
      try flush(isAll: false)
    } while start < list.count
  }

  /// Appends the lines of an earlier file.
  func append(lines earlier: [UInt8]) throws(BatchError) {
    lines += earlier
    try flush(isAll: false)
  }

  func finish() throws(BatchError) {
    try flush(isAll: true)
    let sum = try digest.finish()
    JSONLine.append("end", to: &lines) { $0.add("sha256", sum.hex) }
    try stream.write(try frames.take(from: &lines, isAll: true))
    try stream.write(frames.table())
  }

  private func flush(isAll: Bool) throws(BatchError) {
    guard isAll || lines.count >= Self.bufferSize else { return }
    // Everything is compressed, so that all bytes are in the digest.
    let whole = lines
    try digest.update(whole.span.bytes)
    try stream.write(try frames.take(from: &lines, isAll: true))
  }

  private static func text(of changed: [Bool]) -> String {
    var bytes = [UInt8](repeating: 0, count: (changed.count + 7) / 8)
    for (index, isChanged) in changed.enumerated() where isChanged {
      bytes[index / 8] |= 1 << UInt8(index % 8)
    }
    return Data(bytes).base64EncodedString()
  }
}

/// The hashes of blocks that the newest snapshot of the series has recorded.
///
/// A file that is missing, damaged or does not fit has no records. The methods may be called on several threads at once.
final class KnownBlocks: Sendable {
  private struct Table {
    let content: ManifestContent
    /// The offsets of the first lines, by the hashes of the members.
    let places: [SnapshotEntry.Place: UInt64]
  }

  private enum State {
    case unread
    case read(Table)
    case failed
  }

  private let file: ManifestFile
  private let context: SourceContext
  /// The seed of the hashes.
  let seed: UInt64
  private let state = Mutex(State.unread)
  /// The records of an earlier snapshot with the same seed.
  private let earlier: KnownBlocks?

  /// - Parameter earlier: has what this file lacks, if the seed is the same.
  /// - Returns: nil if there is no file of blocks.
  init?(_ path: PathBytes, _ context: SourceContext, earlier: KnownBlocks? = nil) {
    file = ManifestFile(path)
    self.context = context
    guard let content = try? ManifestContent(file, in: context),
      let start = try? content.bytes(0..<4096), let end = start.firstIndex(of: UInt8(ascii: "\n")),
      let line = try? SnapshotLine(Array(start[..<end])), line.text("type") == "blocks",
      let schema = try? line.number("schema"), schema == 1, let seed = line.text("seed").flatMap(Self.seed)
    else { return nil }
    self.seed = seed
    self.earlier = earlier?.seed == seed ? earlier : nil
  }

  static func text(of seed: UInt64) -> String {
    let digits = String(seed, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  private static func seed(_ text: String) -> UInt64? {
    text.utf8.count == 16 ? UInt64(text, radix: 16) : nil
  }

  /// The record of a member; nil if there is none.
  func record(at place: SnapshotEntry.Place, size: UInt64) throws(BatchError) -> BlocksRecord? {
    guard let lines = try lines(at: place) else { return nil }
    return Self.record(lines, size: size)
  }

  /// The lines of a member, as the file has them.
  func lines(at place: SnapshotEntry.Place) throws(BatchError) -> [UInt8]? {
    if let found = try ownLines(at: place) { return found }
    return try earlier?.lines(at: place)
  }

  private func ownLines(at place: SnapshotEntry.Place) throws(BatchError) -> [UInt8]? {
    try state.withLock { (state) throws(BatchError) in
      if case .unread = state {
        do throws(BatchError) {
          state = .read(try readTable())
        } catch {
          try context.cancellation.check()
          state = .failed
        }
      }
      guard case .read(let table) = state, let start = table.places[place] else { return nil }
      return Self.lines(from: start, of: place, in: table.content)
    }
  }

  private func readTable() throws(BatchError) -> sending Table {
    var splitter = LineSplitter(terminator: UInt8(ascii: "\n"), limit: SnapshotReader.longestLine)
    let content = try ManifestContent(file, in: context)
    let digest = try DigestStream(.sha256)
    var places: [SnapshotEntry.Place: UInt64] = [:]
    var line = [UInt8]()
    var offset: UInt64 = 0
    while true {
      try context.cancellation.check()
      line.removeAll(keepingCapacity: true)
      let found = try splitter.append(to: &line) { (room) throws(BatchError) in try content.next(into: room) }
      guard case .line = found else { throw SnapshotLine.malformed }
      let members = try SnapshotLine(line)
      switch members.text("type") {
      case "content":
        if try members.number("first") == 0, let place = try Self.place(members), places[place] == nil {
          places[place] = offset
        }
      case "end":
        guard members.digest("sha256") == (try digest.finish()) else { throw SnapshotLine.malformed }
        return Table(content: try ManifestContent(file, in: context), places: places)
      default: break
      }
      line.append(UInt8(ascii: "\n"))
      try digest.update(line.span.bytes)
      offset += UInt64(line.count)
    }
  }

  private static func place(_ line: SnapshotLine) throws(BatchError) -> SnapshotEntry.Place? {
    guard let archive = line.text("archive"), let member = try line.path("member") else { return nil }
    return SnapshotEntry.Place(archive: archive, member: member)
  }

  private static func lines(
    from start: UInt64, of place: SnapshotEntry.Place, in content: ManifestContent
  ) -> [UInt8]? {
    content.seek(to: start)
    var splitter = LineSplitter(terminator: UInt8(ascii: "\n"), limit: SnapshotReader.longestLine)
    var lines = [UInt8]()
    var line = [UInt8]()
    while true {
      line.removeAll(keepingCapacity: true)
      let found = try? splitter.append(to: &line) { (room) throws(BatchError) in try content.next(into: room)
      }
      guard case .line = found, let members = try? SnapshotLine(line), members.text("type") == "content",
        (try? Self.place(members)) == place, (try? members.number("first")).map({ $0 > 0 }) == !lines.isEmpty
      else { return lines.isEmpty ? nil : lines }
      lines += line
      lines.append(UInt8(ascii: "\n"))
    }
  }

  /// - Returns: nil for lines that do not fit together, or describe a file of another size.
  private static func record(_ lines: [UInt8], size: UInt64) -> BlocksRecord? {
    var hashes = [UInt8]()
    var blockSize: UInt64?
    var changed: [Bool]?
    for text in lines.split(separator: UInt8(ascii: "\n")) {
      guard let line = try? SnapshotLine(Array(text)), let bytes = line.text("hashes"),
        let part = Data(base64Encoded: bytes), (try? line.number("size", below: .max)) == size,
        let first = try? line.number("first"), first == UInt64(hashes.count / BlockList.hashSize),
        let ofLine = try? line.number("block_size"), BlockList.isBlockSize(ofLine),
        blockSize.map({ $0 == ofLine }) ?? true
      else { return nil }
      blockSize = ofLine
      hashes += part
      if first == 0, let text = line.text("changed"), let bits = Data(base64Encoded: text) {
        let bytes = Array(bits)
        changed = (0..<(bytes.count * 8)).map { bytes[$0 / 8] & 1 << UInt8($0 % 8) != 0 }
      }
    }
    guard let blockSize else { return nil }
    let count = BlockList.count(of: size, blockSize)
    guard UInt64(hashes.count) == count * UInt64(BlockList.hashSize) else { return nil }
    if let bits = changed {
      guard UInt64(bits.count) >= count else { return nil }
      changed = Array(bits[..<Int(count)])
    }
    return BlocksRecord(list: BlockList(size: size, blockSize: blockSize, hashes: hashes), changed: changed)
  }
}
