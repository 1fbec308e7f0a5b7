import BatchEngine

/// The header of one cpio member with its name: libarchive reads it, but does not pass on all of it.
///
/// Forms: `newc` and `crc` of SVR4 (hexadecimal), `odc` of POSIX.1 (octal), and the old binary one in either byte order; see
/// cpio(5). libarchive cuts a name at its first NUL, and treats any member named `TRAILER!!!` as the end.
struct CpioHeader {
  private static let trailer = Array("TRAILER!!!".utf8)

  private let mode: UInt64
  private let size: UInt64
  /// The name without its final NUL.
  private let name: UnsafeRawBufferPointer.SubSequence

  /// - Parameter bytes: from the header of the member to its content.
  /// - Throws: `malformed` when they do not begin with a header.
  init(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    guard let fields = Self.fields(of: bytes), fields.nameSize > 0,
      let end = Int(exactly: fields.nameSize).map({ $0 + fields.nameStart }), end <= bytes.count
    else { throw BatchError(.malformed, "damaged: no valid header where a member begins") }
    mode = fields.mode
    size = fields.size
    name = bytes[fields.nameStart..<(end - 1)]
  }

  /// - Throws: `malformed` for a name that is empty or contains a NUL.
  func check() throws(BatchError) {
    guard !name.isEmpty else { throw BatchError(.malformed, "damaged: a member has no name") }
    guard !name.contains(0) else {
      throw BatchError(.malformed, "damaged: a name in its headers holds a NUL")
    }
  }

  /// - Throws: `malformed` when the member that ends the archive has more than a name.
  func checkEnd() throws(BatchError) {
    let kind = mode & 0o170000
    guard name.elementsEqual(Self.trailer), size == 0, kind == 0 || kind == 0o100000 else {
      throw BatchError(
        .malformed, "damaged: a member has the name TRAILER!!!, which ends a cpio archive")
    }
  }

  private typealias Fields = (mode: UInt64, size: UInt64, nameSize: UInt64, nameStart: Int)

  private static func fields(of bytes: UnsafeRawBufferPointer) -> Fields? {
    func number(_ place: Range<Int>, _ radix: Int) -> UInt64? {
      guard place.upperBound <= bytes.count else { return nil }
      return UInt64(String(decoding: bytes[place], as: UTF8.self), radix: radix)
    }
    if bytes.starts(with: "070701".utf8) || bytes.starts(with: "070702".utf8) {
      guard let mode = number(14..<22, 16), let size = number(54..<62, 16), let name = number(94..<102, 16)
      else { return nil }
      return (mode, size, name, 110)
    }
    if bytes.starts(with: "070707".utf8) {
      guard let mode = number(18..<24, 8), let size = number(65..<76, 8), let name = number(59..<65, 8)
      else { return nil }
      return (mode, size, name, 76)
    }
    // The large ASCII format of afio.
    if bytes.starts(with: "070727".utf8) {
      guard let mode = number(31..<37, 8), let size = number(99..<115, 16), let name = number(86..<90, 16)
      else { return nil }
      return (mode, size, name, 116)
    }
    return binaryFields(of: bytes)
  }

  private static func binaryFields(of bytes: UnsafeRawBufferPointer) -> Fields? {
    guard bytes.count >= 26 else { return nil }
    let isLittle = bytes[0] == 0o307 && bytes[1] == 0o161
    guard isLittle || (bytes[0] == 0o161 && bytes[1] == 0o307) else { return nil }
    func half(_ place: Int) -> UInt64 {
      let (first, second) = (UInt64(bytes[place]), UInt64(bytes[place + 1]))
      return isLittle ? first | second << 8 : first << 8 | second
    }
    // Long numbers store their high half first, in both byte orders.
    return (half(6), half(22) << 16 | half(24), half(20), 26)
  }
}
