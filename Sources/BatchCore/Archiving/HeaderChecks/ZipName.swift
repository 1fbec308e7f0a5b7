import BatchEngine

/// The stored name of a zip member, and which of its backslashes separate folders.
///
/// libarchive converts a name that is marked as UTF-8 to normal form C, and makes a slash of each backslash in a name that has
/// no slash, whatever system made the zip. A name is bytes. Info-ZIP's unzip makes slashes only for systems whose paths have
/// backslashes; on Unix a backslash is a byte of a name like any other.
struct ZipName {
  private static let backslash = UInt8(ascii: "\\")
  private static let slash = UInt8(ascii: "/")
  /// The systems with such paths, as numbers in "version made by" (PKWARE APPNOTE 4.4.2): FAT, NTFS (10, and 11 as Info-ZIP
  /// writes it), VFAT.
  private static let systems: Set<UInt8> = [0, 10, 11, 14]
  /// Extra fields of the local header: libarchive's, which has "version made by"; the times of NTFS; Info-ZIP's name in UTF-8.
  private static let libraryField: UInt16 = 0x6c78
  private static let timesOfNTFS: UInt16 = 0x000a
  private static let unicodeName: UInt16 = 0x7075
  /// The version and the CRC-32 that precede that name.
  private static let unicodeNameStart = 5

  private let stored: [UInt8]
  /// The extra field of the local header.
  private let extra: [UInt8]
  /// Whether backslashes separate folders.
  private let separates: Bool

  init(_ stored: some Sequence<UInt8>, extra: some Sequence<UInt8>, separates: Bool) {
    self.stored = Array(stored)
    self.extra = Array(extra)
    self.separates = separates
  }

  /// Whether libarchive changes a name.
  static func areChanged(in name: some Collection<UInt8>) -> Bool {
    name.contains(backslash) && !name.contains(slash)
  }

  static func separate(onSystem system: UInt8) -> Bool { systems.contains(system) }

  /// Whether a local header shows that they separate folders. Most local headers do not say which system made them.
  ///
  /// - Parameter extra: its extra field.
  static func separate(byExtra extra: [UInt8]) -> Bool {
    var result = false
    forEachField(of: extra) { kind, content in
      if kind == timesOfNTFS { result = true }
      guard kind == libraryField else { return }
      // A map of the fields that follow; the first one is "version made by".
      var fields = LittleEndianReader(content)
      guard let map = fields.number(UInt8.self), map & 1 != 0, let version = fields.number(UInt16.self)
      else { return }
      result = result || separate(onSystem: UInt8(version >> 8))
    }
    return result
  }

  /// The path with the bytes of the stored name.
  ///
  /// - Parameter path: from libarchive.
  /// - Throws: `unsupported` for a name that libarchive takes for that of a folder.
  func path(_ path: PathBytes) throws(BatchError) -> PathBytes {
    let found = candidates.first { Self.isSame(path, $0[...]) || Self.isSame(path, Self.withSlashes($0)) }
    guard let name = found else { return path }
    guard Self.areChanged(in: name) else { return Self.trimmed(name[...]) }
    if separates { return Self.trimmed(Self.withSlashes(name)) }
    guard name.last != Self.backslash else {
      throw BatchError(.unsupported, "unsupported: a name in a zip that ends in a backslash")
    }
    return PathBytes(name)
  }

  /// The name that libarchive uses is one of these.
  private var candidates: [[UInt8]] {
    var names = [[UInt8]]()
    Self.forEachField(of: extra) { kind, content in
      if kind == Self.unicodeName { names.append(Array(content.dropFirst(Self.unicodeNameStart))) }
    }
    return names + [stored]
  }

  /// Whether two names are equal except for their normal form.
  private static func isSame(_ path: PathBytes, _ name: ArraySlice<UInt8>) -> Bool {
    let other = trimmed(name)
    if path == other { return true }
    guard let text = path.text, let otherText = other.text else { return false }
    // Compares by canonical equivalence.
    return text == otherText
  }

  private static func withSlashes(_ name: [UInt8]) -> ArraySlice<UInt8> {
    areChanged(in: name) ? name.map { $0 == backslash ? slash : $0 }[...] : name[...]
  }

  private static func trimmed(_ name: ArraySlice<UInt8>) -> PathBytes {
    PathBytes(ArchiveEntry.withoutSlashes(name))
  }

  private static func forEachField(of extra: [UInt8], _ body: (UInt16, ArraySlice<UInt8>) -> Void) {
    var reader = LittleEndianReader(extra[...])
    while let kind = reader.number(UInt16.self), let size = reader.number(UInt16.self),
      let content = reader.take(Int(size))
    {
      body(kind, content)
    }
  }
}
