import BatchEngine

/// Reads a backup manifest from its beginning to its end, in memory that does not depend on its size.
///
/// Nothing in it may be trusted before ``SnapshotReader/check(_:in:)`` has verified its digest.
final class SnapshotReader {
  enum Item {
    case source(SnapshotSource)
    /// The line is without its newline.
    case entry(SnapshotEntry, line: [UInt8])
  }

  static let longestLine = 1 << 20

  let path: PathBytes
  let header: SnapshotHeader
  /// Complete after ``next()`` has returned nil.
  private(set) var footer = SnapshotFooter()
  /// The offset of the last line in the decompressed manifest.
  private(set) var offset: UInt64 = 0
  private let content: ManifestContent
  private var splitter = LineSplitter(terminator: UInt8(ascii: "\n"), limit: longestLine)
  private var line: [UInt8] = []
  private var isAtEnd = false
  private var rows = SnapshotRowParser()

  /// - Throws: the error of opening it; `malformed` when it does not begin like a backup manifest.
  convenience init(_ manifest: ManifestFile, in context: SourceContext) throws(BatchError) {
    try self.init(try ManifestContent(manifest, in: context), manifest.path)
  }

  private init(_ content: ManifestContent, _ path: PathBytes) throws(BatchError) {
    self.path = path
    self.content = content
    guard try Self.fill(&line, from: &splitter, content: content, path: path) else {
      throw SnapshotLine.malformed.at(path)
    }
    do throws(BatchError) {
      header = try SnapshotHeader(SnapshotLine(line))
    } catch {
      throw error.at(path)
    }
  }

  /// The next row; nil after the last one, when the footer is complete.
  ///
  /// - Parameter ofLinks: whether rows of files with one name may be skipped.
  func next(ofLinks: Bool = false) throws(BatchError) -> Item? {
    while !isAtEnd {
      offset += UInt64(line.count + 1)
      guard try Self.fill(&line, from: &splitter, content: content, path: path) else {
        throw BatchError(.malformed, "the backup manifest is cut short", path: path)
      }
      if ofLinks, SnapshotRowParser.isWithoutLinks(line) { continue }
      if let entry = rows.entry(line) { return .entry(entry, line: line) }
      do throws(BatchError) {
        let members = try SnapshotLine(line)
        switch members.text("type") {
        case "source": return .source(try SnapshotSource(members))
        case "total", "needs", "end": isAtEnd = try footer.take(members) != nil
        default: return .entry(try SnapshotEntry(members), line: line)
        }
      } catch {
        throw error.at(path)
      }
    }
    return nil
  }

  private static func fill(
    _ line: inout [UInt8], from splitter: inout LineSplitter, content: ManifestContent, path: PathBytes
  ) throws(BatchError) -> Bool {
    line.removeAll(keepingCapacity: true)
    let found = try splitter.append(to: &line) { (buffer) throws(BatchError) in
      try content.next(into: buffer)
    }
    if case .tooLong = found { throw SnapshotLine.malformed.at(path) }
    if case .line = found { return true }
    return false
  }
}

extension SnapshotReader {
  /// How many bytes at the end of a manifest are searched for its last line.
  private static let tailSize: Int64 = 4096

  /// The last line without its newline; nil for content that is cut.
  private static func lastLine(of content: ManifestContent, _ size: Int64) throws(BatchError) -> [UInt8]? {
    let tail = try content.bytes(max(0, size - tailSize)..<size)
    guard tail.last == UInt8(ascii: "\n"), let end = tail.dropLast().lastIndex(of: UInt8(ascii: "\n")) else {
      return nil
    }
    return Array(tail[(end + 1)...].dropLast())
  }

  /// The facts about a snapshot in its manifest, read only from the first and the last lines.
  ///
  /// - Throws: `malformed` when these are not valid; the rows are not read.
  static func facts(
    _ manifest: ManifestFile, in context: SourceContext
  ) throws(BatchError) -> (header: SnapshotHeader, footer: SnapshotFooter) {
    let path = manifest.path
    let content = try ManifestContent(manifest, in: context)
    let header = try SnapshotReader(content, path).header
    let size = try content.size()
    guard let last = try lastLine(of: content, size) else {
      throw BatchError(.malformed, "the backup manifest is cut short", path: path)
    }
    do throws(BatchError) {
      let begin = try SnapshotLine(last).number("footer")
      guard begin < UInt64(clamping: size) else { throw SnapshotLine.malformed }
      // These lines stay in memory, and there is one for each source.
      guard UInt64(clamping: size) - begin <= UInt64(clamping: context.options.memory) else {
        throw BatchError(
          .exhausted, "the lines of its sources need more memory than the limit", remedy: .raiseMemory)
      }
      content.seek(to: begin)
      var splitter = LineSplitter(terminator: UInt8(ascii: "\n"), limit: longestLine)
      var line: [UInt8] = []
      var footer = SnapshotFooter()
      while try fill(&line, from: &splitter, content: content, path: path) {
        if let (stamp, need) = SnapshotRowParser.need(line) {
          footer.needs[stamp] = need
        } else {
          _ = try footer.take(SnapshotLine(line))
        }
      }
      return (header, footer)
    } catch {
      throw error.at(path)
    }
  }

  /// The error of the rows of a manifest that lead outside of the folder that a restore writes to; nil if there is none.
  ///
  /// No version of this program writes such rows.
  static func rowsOutside(
    _ manifest: ManifestFile, in context: SourceContext
  ) throws(BatchError) -> BatchError? {
    let reader = try SnapshotReader(manifest, in: context)
    var count = 0
    while let item = try reader.next() {
      try context.cancellation.check()
      if case .entry(let entry, _) = item, (try? RelativePath(entry.path)) == nil { count += 1 }
    }
    return count > 0 ? leadsOutside(count, manifest.path) : nil
  }

  static func leadsOutside(_ count: Int, _ path: PathBytes) -> BatchError {
    BatchError(
      .malformed,
      "\(count == 1 ? "a row leads" : "\(count) rows lead") outside of the folder to restore into",
      path: path)
  }

  /// Compares a manifest with the digest in its last line.
  ///
  /// - Parameter take: receives the bytes before that line, in pieces of any length; they may be trusted only after this returns.
  /// - Throws: `malformed` when it is damaged.
  static func check(
    _ manifest: ManifestFile, in context: SourceContext,
    _ take: (UnsafeRawBufferPointer) throws(BatchError) -> Void = { _ in }
  ) throws(BatchError) {
    let path = manifest.path
    let content = try ManifestContent(manifest, in: context)
    let damaged = BatchError(
      .malformed, "the backup manifest is damaged: its digest is not the recorded one", path: path)
    let size = try content.size()
    guard let last = try lastLine(of: content, size) else { throw damaged }
    var footer = SnapshotFooter()
    let recorded: Digest?
    do throws(BatchError) {
      recorded = try footer.take(SnapshotLine(last))
    } catch {
      throw damaged
    }
    let digest = try DigestStream(.sha256)
    let end = size - Int64(last.count + 1)
    let buffer = try ScratchBuffer(capacity: 256 << 10)
    var position: Int64 = 0
    while position < end {
      try context.cancellation.check()
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.room[..<Int(min(end - position, Int64(buffer.room.count)))])
      let count = try content.next(into: room)
      guard count > 0 else { throw damaged }
      let piece = UnsafeRawBufferPointer(rebasing: room[..<count])
      try digest.update(piece)
      try take(piece)
      position += Int64(count)
    }
    guard try digest.finish() == recorded else { throw damaged }
  }
}
