import BatchEngine
import CXXHash

/// The fields that both zip headers of a member have (PKWARE APPNOTE 4.4).
struct ZipFields {
  static let size = 26
  /// The flags for encrypted content or headers.
  static let encryption: UInt16 = 1 | 1 << 6 | 1 << 13

  let flags: UInt16
  let method: UInt16
  let check: UInt32
  let compressedSize: UInt32
  let size: UInt32
  let nameSize: Int
  let extraSize: Int

  /// - Parameter bytes: starting at the field "version needed to extract".
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.size else { return nil }
    flags = bytes.little(at: 2)
    method = bytes.little(at: 4)
    check = bytes.little(at: 10)
    compressedSize = bytes.little(at: 14)
    size = bytes.little(at: 18)
    nameSize = Int(bytes.little(at: 22) as UInt16)
    extraSize = Int(bytes.little(at: 24) as UInt16)
  }

  /// Whether the sizes and the CRC-32 follow the content.
  var isSizedAtEnd: Bool { flags & 1 << 3 != 0 }

  /// Whether this is a member without content whose empty stream is compressed by LZMA.
  var isEmptyLZMA: Bool {
    method == 14 && size == 0 && compressedSize > 0 && flags & (Self.encryption | 1 << 3) == 0
  }

  /// A hash of the fields that must be equal in both headers of a member.
  func number(named name: ArraySlice<UInt8>) -> UInt64 {
    let facts =
      UInt64(isSizedAtEnd ? 0 : check) | UInt64(method) << 32 | UInt64(flags & (Self.encryption | 1 << 3))
      << 48
    return name.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, facts) }
  }
}

/// One entry of the directory of a zip.
struct ZipEntry {
  static let fixedSize = 46
  static let signature: UInt32 = 0x0201_4b50
  /// The value that means: the number is in the extra field (zip64).
  private static let large = UInt32.max

  let fields: ZipFields
  private let system: UInt8
  private let attributes: UInt32
  private let commentSize: Int
  private let offset: UInt32

  /// - Parameter place: its offset, for the message.
  /// - Throws: `malformed` for bytes that are not an entry.
  init(_ bytes: ArraySlice<UInt8>, at place: UInt64, path: PathBytes) throws(BatchError) {
    guard bytes.count >= Self.fixedSize, bytes.little(at: 0) == Self.signature,
      let fields = ZipFields(bytes.dropFirst(6))
    else {
      throw BatchError(.malformed, "damaged: no valid entry of its directory at byte \(place)", path: path)
    }
    self.fields = fields
    system = bytes.little(at: 5)
    commentSize = Int(bytes.little(at: 32) as UInt16)
    attributes = bytes.little(at: 38)
    offset = bytes.little(at: 42)
  }

  var nameSize: Int { fields.nameSize }
  var extraSize: Int { fields.extraSize }
  /// The CRC-32 of the content.
  var check: UInt32 { fields.check }
  var compressedSize: UInt32 { fields.compressedSize }
  var isEncrypted: Bool { fields.flags & 1 != 0 }
  /// Whether a mark ends its stream of LZMA.
  var hasEndMark: Bool { fields.flags & 1 << 1 != 0 }
  /// Whether it has a kind and permissions of Unix.
  var hasMode: Bool { system == 3 && attributes >> 16 != 0 }
  /// Whether backslashes in its name separate folders.
  var hasFoldersInBackslashes: Bool { ZipName.separate(onSystem: system) }
  var isSymbolicLink: Bool { hasMode && FileStatus.Kind(mode: attributes >> 16) == .symbolicLink }
  /// Whether a number is too large for its field and is in the extra field.
  var isLarge: Bool {
    fields.size == Self.large || fields.compressedSize == Self.large || offset == Self.large
  }
  /// The size with name, extra field and comment.
  var byteCount: UInt64 { UInt64(Self.fixedSize + nameSize + extraSize + commentSize) }

  /// The offset of the member, without ``ZipEnd/shift``.
  func localOffset(_ extra: [UInt8]) -> UInt64 {
    guard offset == Self.large else { return UInt64(offset) }
    var reader = LittleEndianReader(extra[...])
    while let kind = reader.number(UInt16.self), let size = reader.number(UInt16.self),
      let content = reader.take(Int(size))
    {
      guard kind == 1 else { continue }
      var numbers = LittleEndianReader(content)
      if fields.size == Self.large { _ = numbers.number(UInt64.self) }
      if fields.compressedSize == Self.large { _ = numbers.number(UInt64.self) }
      return numbers.number(UInt64.self) ?? UInt64(offset)
    }
    return UInt64(offset)
  }
}

/// The header that precedes the content of a zip member.
struct ZipLocalHeader {
  static let fixedSize = 30
  static let signature: UInt32 = 0x0403_4b50

  let fields: ZipFields

  /// Nil for bytes that are not a header.
  init?(_ bytes: ArraySlice<UInt8>) {
    guard bytes.count >= Self.fixedSize, bytes.little(at: 0) == Self.signature,
      let fields = ZipFields(bytes.dropFirst(4))
    else { return nil }
    self.fields = fields
  }

  var nameSize: Int { fields.nameSize }
  var extraSize: Int { fields.extraSize }
  /// The size with name and extra field.
  var byteCount: UInt64 { UInt64(Self.fixedSize + fields.nameSize + fields.extraSize) }

  /// Whether it describes the member of this entry: the same method, and the same CRC-32 and sizes if it contains them.
  func agrees(with entry: ZipEntry) -> Bool {
    let other = entry.fields
    guard fields.method == other.method, (fields.flags ^ other.flags) & ZipFields.encryption == 0 else {
      return false
    }
    // Programs that encrypt what they write to a pipe use the place of the CRC-32 for another number.
    if fields.isSizedAtEnd, fields.check == 0 || fields.check == other.check || entry.isEncrypted {
      return true
    }
    return fields.check == other.check
      && (fields.compressedSize == other.compressedSize || fields.compressedSize == .max || entry.isLarge)
      && (fields.size == other.size || fields.size == .max || entry.isLarge)
  }
}
