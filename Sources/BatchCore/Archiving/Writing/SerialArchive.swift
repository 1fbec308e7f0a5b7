import BatchEngine
import CArchive

/// An archive in a container that one writer writes from the first member to the last: cpio, zip, 7z.
final class SerialArchive {
  /// A large file that gets its content in blocks.
  private struct Large {
    let member: LargeMember
    var outcome: LargeOutcome
    let digest: DigestStream?
  }

  private let format: ArchiveFormat
  /// The index of what was written; nil if the caller does not need it.
  private let index: MemberIndexBuilder?
  private let measured: MeasuredStream?
  private var writtenCount = 0
  private let writer: LibArchiveWriter
  private let entry: LibArchiveEntry
  private var large: Large?
  /// The numbers of files with several names.
  private var numbers: [FileIdentity: Int64] = [:]
  private var count: Int64 = 0

  /// - Throws: `invalid` for a level that the format does not have.
  init(_ options: ArchiveOptions, stream: any ResultStream) throws(BatchError) {
    format = options.format
    index = options.isRemembered ? try MemberIndexBuilder() : nil
    entry = try LibArchiveEntry()
    measured = options.isRemembered ? try MeasuredStream(stream, .xxh128) : nil
    writer = try LibArchiveWriter(stream: measured ?? stream)
    let archive = writer.archive
    let isSet =
      switch format.container {
      case .cpio: archive_write_set_format_cpio_newc(archive)
      case .zip: archive_write_set_format_zip(archive)
      case .sevenZip: archive_write_set_format_7zip(archive)
      case .tar: archive_write_set_format_pax(archive)
      }
    guard isSet == ARCHIVE_OK else { throw .library(archive, "write this format") }
    if let level = options.level {
      guard archive_write_set_format_option(archive, nil, "compression-level", "\(level)") == ARCHIVE_OK
      else {
        throw .library(archive, "use level \(level)")
      }
    }
    // Without the block of zeros at the end, which is for tapes.
    archive_write_set_bytes_in_last_block(archive, 1)
    guard writer.open() == ARCHIVE_OK else { throw .library(archive, "write this format") }
  }

  private var archive: OpaquePointer { writer.archive }

  enum Outcome {
    /// A member; `isWhole` is false if a part of its content is missing.
    case added(ArchivedMember, isWhole: Bool)
    /// The start of a large file, whose blocks follow.
    case begun
    case refused(BatchError)
  }

  func append(_ member: SerialMember) throws(BatchError) -> Outcome {
    let isNameable = isNameable(member.entry)
    guard isNameable, begin(member) else {
      try writer.check()
      let path = member.entry.path
      return .refused(
        isNameable
          ? .library(archive, "archive", path: path)
          : BatchError(
            .invalid, "cannot archive: 7z has no place for a name that is not UTF-8", path: path))
    }
    var added = ArchivedMember(
      member.entry, offset: writtenCount, digest: member.digest, identity: member.identity)
    (added.flags, added.isSettled) = (member.flags, member.isSettled)
    writtenCount += 1
    if let large = member.large {
      self.large = Large(
        member: large, outcome: LargeOutcome(added), digest: index == nil ? nil : try DigestStream(.sha256))
      return .begun
    }
    try write(member.content)
    try index?.add(added, frame: 0)
    return .added(added, isWhole: !member.flags.contains(.incomplete))
  }

  /// Adds the next block of a large file.
  ///
  /// - Returns: the outcome of the member, if this was its last block.
  func append(
    _ block: LargeBlock, _ position: Int, of member: LargeMember
  ) throws(BatchError) -> LargeOutcome? {
    guard var large, large.member === member else { return nil }
    let bytes = block.frame?.bytes ?? [UInt8](repeating: 0, count: block.count)
    try write(bytes)
    try withBytes(of: bytes) { (raw) throws(BatchError) in try large.digest?.update(raw) }
    large.outcome.add(block, position)
    self.large = large
    guard position == member.blockCount - 1 else { return nil }
    self.large = nil
    large.outcome.member.digest = try large.digest?.finish()
    try index?.add(large.outcome.member, frame: 0)
    return large.outcome
  }

  /// - Returns: what was written; nil if the caller did not request it.
  func finish() throws(BatchError) -> WrittenArchive? {
    let closed = ArchiveLocale.unicode.use { archive_write_close(archive) }
    try writer.check()
    guard closed == ARCHIVE_OK else {
      throw BatchError.library(archive, "finish the archive").recoded(.unwritable)
    }
    try writer.drain()
    guard let index, let stretch = try measured?.stretch(from: 0) else { return nil }
    let whole = MemberIndex.Frame(compressed: 0..<1, plain: 0..<UInt64(max(1, writtenCount)), check: 0)
    return WrittenArchive(
      format: format,
      index: try StoredIndex.read(try index.finish([whole]), checks: true, size: 1, memory: .max),
      contents: [], stretch: stretch)
  }

  /// - Returns: whether the format can store the member.
  private func begin(_ member: SerialMember) -> Bool {
    count += 1
    var header = member.entry
    header.dataMap = nil
    var number = count
    var linkCount: UInt32 = 1
    if format.container == .cpio, member.linkCount > 1, let identity = member.identity,
      header.kind == .file || header.kind == .hardLink
    {
      number = numbers[identity] ?? count
      numbers[identity] = number
      linkCount = UInt32(clamping: member.linkCount)
      // A further name has the number of the first one, and no content.
      header.kind = .file
    }
    entry.fill(header, number: number, linkCount: linkCount, isTar: false)
    // In a UTF-8 locale libarchive marks all names of a zip as UTF-8, even if they are not, and programs could not read those.
    let locale: ArchiveLocale = Self.isText(header) ? .unicode : .bytes
    return locale.use { archive_write_header(archive, entry.pointer) } >= ARCHIVE_WARN
  }

  /// Whether the format can store the name: 7z stores names in UTF-16, so a name that is not UTF-8 would change.
  private func isNameable(_ entry: ArchiveEntry) -> Bool {
    format.container != .sevenZip || Self.isText(entry)
  }

  private static func isText(_ entry: ArchiveEntry) -> Bool {
    entry.path.text != nil && (entry.linkTarget.map { $0.text != nil } ?? true)
  }

  private func write(_ content: [UInt8]) throws(BatchError) {
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { archive_write_data(archive, $0.baseAddress, $0.count) }
      try writer.check()
      guard count > 0 else {
        throw BatchError.library(archive, "write the archive").recoded(.unwritable)
      }
      rest = rest.dropFirst(count)
    }
  }
}
