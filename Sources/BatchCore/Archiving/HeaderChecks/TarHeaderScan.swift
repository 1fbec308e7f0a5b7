import BatchEngine

/// The headers of one tar member as they are in the archive: libarchive reads them, but does not pass on all of them.
///
/// libarchive returns names as C strings, which end at the first NUL. A name that contains a NUL would be cut silently, and a
/// member could be extracted under the name of another one.
struct TarHeaderScan {
  /// One record of an extended header (POSIX.1-2001, pax interchange format).
  struct Record {
    let key: UnsafeRawBufferPointer.SubSequence
    let value: UnsafeRawBufferPointer.SubSequence
    /// Whether it is in a global header, and so applies to all following members.
    let isGlobal: Bool

    func isNamed(_ name: String) -> Bool { key.elementsEqual(name.utf8) }
  }

  private static let blockSize = 512
  /// The offsets of the type and the size of a member in a header.
  private static let typePlace = 156
  private static let sizePlace = 124..<136
  /// The records that contain text; others may contain any bytes.
  private static let textKeys = ["path", "linkpath", "uname", "gname", "GNU.sparse.name"]

  /// The bytes from the first header of the member to its content.
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  /// Whether there are headers in addition to the one that each member has.
  var isExtended: Bool { bytes.count > Self.blockSize }

  /// Whether it is the rest of a file that begins in another volume (GNU tar, "Tape Files" and `--multi-volume`).
  var continuesOtherVolume: Bool {
    get throws(BatchError) {
      guard bytes.count > Self.typePlace else { return false }
      guard isExtended else { return bytes[Self.typePlace] == UInt8(ascii: "M") }
      let own = try forEachExtension { _, _ in }
      return own + Self.typePlace < bytes.count && bytes[own + Self.typePlace] == UInt8(ascii: "M")
    }
  }

  /// Whether there is exactly one extended header, which contains only decimal times, as for most members.
  var holdOnlyTimes: Bool {
    guard bytes.count == 3 * Self.blockSize, bytes[Self.typePlace] == UInt8(ascii: "x") else { return false }
    var place = Self.blockSize
    let end = 2 * Self.blockSize
    while place < end, bytes[place] != 0 {
      // The length of a record with a time has two digits.
      guard place + 10 < end, let tens = digit(at: place), let ones = digit(at: place + 1),
        place + 10 * tens + ones <= end, 10 * tens + ones > 10, bytes[place + 2] == UInt8(ascii: " "),
        "mac".utf8.contains(bytes[place + 3]), bytes[(place + 4)..<(place + 9)].elementsEqual("time=".utf8),
        bytes[place + 10 * tens + ones - 1] == UInt8(ascii: "\n"), digit(at: place + 9) != nil
      else { return false }
      var points = 0
      for index in (place + 9)..<(place + 10 * tens + ones - 1) where digit(at: index) == nil {
        guard bytes[index] == UInt8(ascii: ".") else { return false }
        points += 1
      }
      guard points <= 1 else { return false }
      place += 10 * tens + ones
    }
    return true
  }

  private func digit(at place: Int) -> Int? {
    let value = Int(bytes[place]) - Int(UInt8(ascii: "0"))
    return 0...9 ~= value ? value : nil
  }

  /// - Throws: `malformed` when a name contains a NUL.
  func check() throws(BatchError) {
    guard isExtended else { return }
    try forEachExtension { (type, content) throws(BatchError) in
      switch type {
      case UInt8(ascii: "L"), UInt8(ascii: "K"):
        // Long names of GNU tar end in one or more NULs.
        guard content.drop(while: { $0 != 0 }).allSatisfy({ $0 == 0 }) else { throw Self.nameHoldsNUL }
      default:
        try Self.forEachRecord(of: content, isGlobal: type == UInt8(ascii: "g")) {
          (record) throws(BatchError) in
          if record.value.contains(0), Self.textKeys.contains(where: { record.isNamed($0) }) {
            throw Self.nameHoldsNUL
          }
        }
      }
    }
  }

  /// Calls `body` with each record of the extended headers, in their order.
  func forEachRecord(_ body: (Record) throws(BatchError) -> Void) throws(BatchError) {
    guard isExtended else { return }
    try forEachExtension { (type, content) throws(BatchError) in
      guard [UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "g")].contains(type) else { return }
      try Self.forEachRecord(of: content, isGlobal: type == UInt8(ascii: "g"), body)
    }
  }

  private static let nameHoldsNUL = BatchError(.malformed, "damaged: a name in its headers holds a NUL")

  /// Visits the headers that precede the member's own header.
  ///
  /// - Returns: the offset of its own header.
  @discardableResult
  private func forEachExtension(
    _ body: (UInt8, UnsafeRawBufferPointer.SubSequence) throws(BatchError) -> Void
  ) throws(BatchError) -> Int {
    var place = 0
    while place + Self.blockSize <= bytes.count {
      let type = bytes[place + Self.typePlace]
      guard "xXgLK".utf8.contains(type) else { return place }
      let size = Self.octal(bytes[(place + Self.sizePlace.lowerBound)..<(place + Self.sizePlace.upperBound)])
      place += Self.blockSize
      guard let size, size <= bytes.count - place else { return bytes.count }
      try body(type, bytes[place..<(place + size)])
      let (next, isHuge) = place.addingReportingOverflow(
        size + (Self.blockSize - size % Self.blockSize) % Self.blockSize)
      guard !isHuge else { return bytes.count }
      place = next
    }
    return place
  }

  /// Visits records of the form `length key=value\n`; libarchive reports any other form as damage.
  private static func forEachRecord(
    of content: UnsafeRawBufferPointer.SubSequence, isGlobal: Bool,
    _ body: (Record) throws(BatchError) -> Void
  ) throws(BatchError) {
    var rest = content
    while let space = rest.firstIndex(of: UInt8(ascii: " ")) {
      guard let length = decimal(rest[rest.startIndex..<space]), length <= rest.count,
        length > space - rest.startIndex + 1
      else { return }
      let line = rest[(space + 1)..<(rest.startIndex + length - 1)]
      if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
        try body(
          Record(
            key: line[line.startIndex..<equals], value: line[(equals + 1)...], isGlobal: isGlobal))
      }
      rest = rest[(rest.startIndex + length)...]
    }
  }

  private static func octal(_ field: UnsafeRawBufferPointer.SubSequence) -> Int? {
    number(field.drop { $0 == UInt8(ascii: " ") }.prefix { $0 != 0 && $0 != UInt8(ascii: " ") }, base: 8)
  }

  private static func decimal(_ field: UnsafeRawBufferPointer.SubSequence) -> Int? {
    number(field, base: 10)
  }

  private static func number(_ digits: UnsafeRawBufferPointer.SubSequence, base: Int) -> Int? {
    guard !digits.isEmpty, digits.count <= 12 else { return nil }
    var value = 0
    for byte in digits {
      guard byte >= UInt8(ascii: "0"), byte < UInt8(ascii: "0") + UInt8(base) else { return nil }
      value = value * base + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}
