import BatchEngine

/// The record that ends a zip and locates the directory (PKWARE APPNOTE 4.3.14 to 4.3.16).
struct ZipEnd {
  static let fixedSize = 22
  static let signature: UInt32 = 0x0605_4b50
  static let locatorSize = 20
  static let locatorSignature: UInt32 = 0x0706_4b50
  static let largeSignature: UInt32 = 0x0606_4b50
  static let largeSize = 56
  private static let mostComment = 0xFFFF
  /// The value that means: the number is in the record of zip64.
  private static let inLarge = UInt16.max

  /// The number of entries that it states.
  let count: UInt64
  private let isLarge: Bool
  /// The directory, as offsets in the file.
  let directory: Range<UInt64>
  /// The number of bytes before the archive, for example of a self-extracting program.
  let shift: UInt64
  /// The offset after the record, where its comment begins.
  let commentStart: UInt64
  /// The offset after the record and its comment.
  let upperBound: UInt64

  /// - Throws: `malformed` when the record is missing or does not describe a whole archive, `unsupported` when it
  ///   ends one of several parts.
  init(_ file: ArchiveFile) throws(BatchError) {
    let size = file.size ?? 0
    let start = size - min(size, UInt64(Self.fixedSize + Self.mostComment + Self.locatorSize))
    let tail = try file.bytes(at: start, count: Int(size - start))[...]
    var places = [Int]()
    if tail.count >= Self.fixedSize {
      places = (0...(tail.count - Self.fixedSize)).reversed().filter {
        tail[$0] == UInt8(ascii: "P") && tail.little(at: $0) == Self.signature
      }
    }
    guard let last = places.first else {
      throw BatchError(.malformed, "damaged: the directory that ends a zip is missing", path: file.path)
    }
    // A comment may contain the bytes of a record. The right one has a comment that ends with the file, and its directory is
    // where it says.
    let whole = places.filter { place in
      place + Self.fixedSize + Int(tail.little(at: place + 20) as UInt16) == tail.count
    }
    for place in whole {
      do throws(BatchError) {
        let end = try ZipEnd(file, tail, place)
        if try end.isAtDirectory(of: file) {
          self = end
          return
        }
      } catch {
        guard error.code == .malformed || error.code == .unsupported else { throw error }
      }
    }
    self = try ZipEnd(file, tail, whole.first ?? last)
    if count == 0, directory.lowerBound > 0 {
      throw BatchError(
        .malformed, "damaged: its directory is empty, and \(directory.lowerBound) bytes precede it",
        path: file.path)
    }
  }

  /// - Parameters:
  ///   - tail: the end of the file.
  ///   - place: the offset of the record in it.
  private init(_ file: ArchiveFile, _ tail: ArraySlice<UInt8>, _ place: Int) throws(BatchError) {
    let size = file.size ?? 0
    let start = size - UInt64(tail.count)
    let large = try Self.large(of: file, tail, before: place)
    let disks = [tail.little(at: place + 4) as UInt16, tail.little(at: place + 6) as UInt16]
    guard disks.allSatisfy({ $0 == 0 || ($0 == Self.inLarge && large != nil) }) else {
      // The first part begins with a mark, and the others anywhere in a member.
      let isWhole = try file.bytes(at: 0, count: 4)[...].little(at: 0) == ZipLocalHeader.signature
      throw isWhole ? Self.unusable(file) : Self.part(of: Int(disks[0]) + 1, file.path)
    }
    let counts = [tail.little(at: place + 8) as UInt16, tail.little(at: place + 10) as UInt16]
    guard counts[0] == counts[1] || large != nil else { throw Self.unusable(file) }
    commentStart = start + UInt64(place + Self.fixedSize)
    upperBound = min(size, commentStart + UInt64(tail.little(at: place + 20) as UInt16))
    var length = UInt64(tail.little(at: place + 12) as UInt32)
    var offset = UInt64(tail.little(at: place + 16) as UInt32)
    var end = start + UInt64(place)
    if let (record, place) = large {
      count = record.little(at: 32)
      length = record.little(at: 40)
      offset = record.little(at: 48)
      end = place
    } else {
      count = UInt64(counts[1])
    }
    isLarge = large != nil
    guard length <= end, offset <= end - length else { throw Self.unusable(file) }
    directory = (end - length)..<end
    shift = end - length - offset
    // Either the bytes of a locator at the end of the directory, or a damaged record of zip64.
    let hasLocator = Self.hasLocator(tail, before: place)
    if hasLocator, large == nil, try !isAtDirectory(of: file) { throw Self.unusable(file) }
  }

  private static func hasLocator(_ tail: ArraySlice<UInt8>, before place: Int) -> Bool {
    place >= locatorSize && tail.little(at: place - locatorSize) == locatorSignature
  }

  /// The record of zip64 and its offset in the file.
  ///
  /// - Returns: nil if there is none.
  private static func large(
    of file: ArchiveFile, _ tail: ArraySlice<UInt8>, before place: Int
  ) throws(BatchError) -> (record: ArraySlice<UInt8>, place: UInt64)? {
    let start = (file.size ?? 0) - UInt64(tail.count)
    guard hasLocator(tail, before: place) else { return nil }
    let recorded: UInt64 = tail.little(at: place - locatorSize + 8)
    let locator = start + UInt64(place - locatorSize)
    guard locator >= UInt64(largeSize) else { return nil }
    // The record directly precedes its locator; bytes before the archive shift it.
    let large = locator - UInt64(largeSize)
    let record = try file.bytes(at: large, count: largeSize)[...]
    guard record.count == largeSize, record.little(at: 0) == largeSignature, recorded <= large,
      record.little(at: 16) as UInt32 == 0, record.little(at: 20) as UInt32 == 0
    else { return nil }
    return (record, large)
  }

  /// Whether the directory begins where it says; one without entries begins the file.
  private func isAtDirectory(of file: ArchiveFile) throws(BatchError) -> Bool {
    guard count > 0 else { return directory.lowerBound == 0 }
    guard directory.count >= UInt64(ZipEntry.fixedSize) else { return false }
    return try file.bytes(at: directory.lowerBound, count: 4)[...].little(at: 0) == ZipEntry.signature
  }

  /// Whether it states this number of entries; without zip64 the number has 16 bits.
  func agrees(withCount entries: Int) -> Bool {
    isLarge ? UInt64(entries) == count : UInt64(entries) & 0xFFFF == count
  }

  private static func unusable(_ file: ArchiveFile) -> BatchError {
    BatchError(.malformed, "damaged: the record that ends the zip is not valid", path: file.path)
  }

  private static func part(of count: Int, _ path: PathBytes) -> BatchError {
    BatchError(
      .unsupported, "unsupported: a part of several (the last of \(count))", path: path,
      remedy: "join them: `zip -s 0 \(path) -O whole.zip`")
  }
}
