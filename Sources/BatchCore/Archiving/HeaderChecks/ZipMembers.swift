import BatchEngine
import CDeflate

/// The directory of a zip archive in a file, compared with the headers of the members (PKWARE APPNOTE, sections 4.3.7,
/// 4.3.12 and 4.3.16).
///
/// libarchive reads the members that it finds. It does not check whether these are all, whether both headers of a member agree,
/// and whether the target of a symbolic link has its CRC-32. It reads members in the order of their offsets in the file, so its
/// next member is the next one here.
final class ZipMembers {
  /// What the headers of a member say that libarchive does not pass on.
  struct Facts {
    let hasMode: Bool
    let name: ZipName
    /// Whether it has no content, in a form that libarchive refuses.
    let isEmptyLZMA: Bool
    /// The stored bytes of the target of a symbolic link, if libarchive has changed them.
    var linkTarget: PathBytes?
  }

  /// Longer targets and empty streams are not read; libarchive does not read such targets either.
  private static let longestTarget = 64 << 10

  /// The offsets of the local header in the file, and of the entry in the directory.
  private typealias Place = (local: UInt64, entry: UInt64)

  private let file: ArchiveFile
  private let end: ZipEnd
  private let places: [Place]
  private let directory: FileWindow
  private let headers: FileWindow
  private var number = 0
  /// How many entries the directory has.
  private let count: Int

  /// - Throws: `malformed` when there is no directory, or its number of entries is wrong.
  init(_ file: ArchiveFile) throws(BatchError) {
    self.file = file
    end = try ZipEnd(file)
    directory = FileWindow(file, size: 64 << 10)
    headers = FileWindow(file, size: 512)
    let window = directory
    var places = [Place]()
    var place = end.directory.lowerBound
    while place < end.directory.upperBound {
      try file.cancellation.check()
      let entry = try ZipEntry(
        try window.bytes(at: place, count: ZipEntry.fixedSize), at: place, path: file.path)
      let (local, isHuge) = entry.localOffset(try Self.extra(of: entry, at: place, window))
        .addingReportingOverflow(end.shift)
      guard !isHuge, local < end.directory.lowerBound else { throw Self.damaged(file) }
      places.append((local, place))
      place += entry.byteCount
    }
    guard place == end.directory.upperBound, end.agrees(withCount: places.count) else {
      throw BatchError(
        .malformed, "damaged: its directory has \(places.count) entries and counts \(end.count)",
        path: file.path)
    }
    count = places.count
    places.sort { $0.local < $1.local }
    // libarchive returns one member for entries with the same offset.
    var last: UInt64?
    places.removeAll { place in
      defer { last = place.local }
      return place.local == last
    }
    self.places = places
  }

  /// Checks the content of an empty member that is compressed by LZMA, which libarchive refuses.
  ///
  /// Format: PKWARE APPNOTE 5.8.8: a version, the size of the properties, the properties, the stream.
  ///
  /// - Throws: `malformed` if it is not an empty stream.
  private func checkEmptyLZMA(of entry: ZipEntry, at place: UInt64) throws(BatchError) {
    let size = Int(entry.compressedSize)
    guard size <= Self.longestTarget else { throw Self.wrongContent }
    let bytes = try headers.bytes(at: place, count: size)
    let start = 9
    guard size > start, bytes.little(at: 2) as UInt16 == 5, entry.check == 0,
      LZMAStream(properties: bytes.dropFirst(4).prefix(5), size: 0, hasEndMark: entry.hasEndMark)
        .decode(bytes.dropFirst(start)) != nil
    else { throw Self.wrongContent }
  }

  private static let wrongContent = BatchError(.malformed, "damaged: its content cannot be decoded")

  /// Compares the next member with its entry in the directory.
  ///
  /// - Parameter member: nil for one of a kind that cannot be extracted.
  /// - Throws: `malformed` when they differ.
  func check(_ member: ArchiveEntry?) throws(BatchError) -> Facts {
    guard number < places.count else {
      throw BatchError(.malformed, "damaged: the directory of the archive does not name it")
    }
    let place = places[number]
    number += 1
    let entry = try ZipEntry(
      try directory.bytes(at: place.entry, count: ZipEntry.fixedSize), at: place.entry, path: file.path)
    let name = try Array(directory.bytes(at: place.entry + UInt64(ZipEntry.fixedSize), count: entry.nameSize))
    guard !name.contains(0) else {
      throw BatchError(.malformed, "damaged: a name in its headers holds a NUL")
    }
    guard let local = ZipLocalHeader(try headers.bytes(at: place.local, count: ZipLocalHeader.fixedSize))
    else {
      throw BatchError(.malformed, "damaged: no valid header where the directory says that it begins")
    }
    let localName = try headers.bytes(
      at: place.local + UInt64(ZipLocalHeader.fixedSize), count: local.nameSize)
    guard localName.elementsEqual(name) else {
      throw BatchError(.malformed, "damaged: the directory of the archive has another name for it")
    }
    guard local.agrees(with: entry) else {
      throw BatchError(.malformed, "damaged: the directory of the archive describes it differently")
    }
    let next = number < places.count ? places[number].local : end.directory.lowerBound
    let (behind, isHuge) = place.local.addingReportingOverflow(
      local.byteCount + (entry.isLarge ? 0 : UInt64(entry.compressedSize)))
    guard !isHuge, behind <= next else {
      throw BatchError(.malformed, "damaged: it overlaps the next member")
    }
    let extra = try headers.bytes(
      at: place.local + local.byteCount - UInt64(local.extraSize), count: local.extraSize)
    let separates = entry.hasFoldersInBackslashes
    var facts = Facts(
      hasMode: entry.hasMode, name: ZipName(name, extra: extra, separates: separates),
      isEmptyLZMA: entry.fields.isEmptyLZMA)
    if facts.isEmptyLZMA { try checkEmptyLZMA(of: entry, at: place.local + local.byteCount) }
    if member?.kind == .symbolicLink, !entry.isEncrypted, let target = member?.linkTarget {
      guard Self.check(of: target.bytes) != entry.check else { return facts }
      // libarchive converts a target that is marked as UTF-8 to normal form C.
      let stored = try self.target(of: entry, at: place.local + local.byteCount)
      guard let stored, Self.check(of: stored) == entry.check else {
        throw BatchError(.malformed, "damaged: wrong CRC-32")
      }
      facts.linkTarget = PathBytes(stored)
    }
    return facts
  }

  private static func check(of bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { ArchiveFrame.check(of: $0) }
  }

  /// The stored target of a symbolic link; nil if it is compressed by another method than Deflate.
  private func target(of entry: ZipEntry, at place: UInt64) throws(BatchError) -> [UInt8]? {
    let (packed, size) = (Int(entry.compressedSize), Int(entry.fields.size))
    guard packed <= Self.longestTarget, size <= Self.longestTarget else { return nil }
    let bytes = try headers.bytes(at: place, count: packed)
    guard entry.fields.method != 0 else { return Array(bytes) }
    guard entry.fields.method == 8, let decoder = libdeflate_alloc_decompressor() else { return nil }
    defer { libdeflate_free_decompressor(decoder) }
    return bytes.withUnsafeBytes { input in
      [UInt8](unsafeUninitializedCapacity: size) { output, count in
        let result = libdeflate_deflate_decompress(
          decoder, input.baseAddress, input.count, output.baseAddress, size, nil)
        count = result == LIBDEFLATE_SUCCESS ? size : 0
      }
    }
  }

  /// Whether bytes follow the end of the zip.
  var hasMore: Bool { end.upperBound < file.size ?? 0 }

  /// - Throws: `malformed` when the directory contains members that were not found.
  func checkEnd() throws(BatchError) {
    guard number == count else {
      throw BatchError(
        .malformed, "damaged: its directory names \(count) members, and \(number) of them can be read",
        path: file.path)
    }
  }

  private static func extra(of entry: ZipEntry, at place: UInt64, _ window: FileWindow) throws(BatchError)
    -> [UInt8]
  {
    guard entry.isLarge else { return [] }
    return try Array(
      window.bytes(at: place + UInt64(ZipEntry.fixedSize + entry.nameSize), count: entry.extraSize))
  }

  private static func damaged(_ file: ArchiveFile) -> BatchError {
    BatchError(.malformed, "damaged: its directory leads outside of the archive", path: file.path)
  }
}
