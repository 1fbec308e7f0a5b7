/// The numbers of packed streams, folders, contents and files that a 7z header claims (7zFormat.txt of the LZMA SDK).
///
/// libarchive allocates a table with that many rows before it reads the first one. Each row takes at least one byte of the
/// header, so a header that claims more rows than it has bytes is refused before libarchive reads it.
struct SevenZipCounts {
  private enum Failure: Error {
    /// More rows than bytes.
    case excessive
    /// An error that libarchive reports, or a form that it cannot read either.
    case unknown
  }

  private var rest: ArraySlice<UInt8>
  /// For each folder, whether its content has a CRC-32.
  private var checkedFolders: [Bool] = []

  /// Whether an uncompressed header has at least one byte for each row that it claims.
  static func areHeld(by header: ArraySlice<UInt8>) -> Bool {
    var counts = SevenZipCounts(rest: header)
    do throws(Failure) {
      try counts.readHeader()
      return true
    } catch {
      return error == .unknown
    }
  }

  private init(rest: ArraySlice<UInt8>) {
    self.rest = rest
  }

  // Identifiers of properties.
  private static let archiveProperties: UInt8 = 2
  private static let additionalStreams: UInt8 = 3
  private static let mainStreams: UInt8 = 4
  private static let files: UInt8 = 5
  private static let packed: UInt8 = 6
  private static let unpacked: UInt8 = 7
  private static let contents: UInt8 = 8
  private static let sizes: UInt8 = 9
  private static let checks: UInt8 = 10
  private static let folders: UInt8 = 11
  private static let folderSizes: UInt8 = 12
  private static let contentCounts: UInt8 = 13

  private mutating func readHeader() throws(Failure) {
    switch try byte() {
    case 0x17: try readStreams()
    case 0x01:
      var type = try byte()
      if type == Self.archiveProperties {
        while try byte() != 0 { try skip(number()) }
        type = try byte()
      }
      for expected in [Self.additionalStreams, Self.mainStreams] where type == expected {
        try readStreams()
        type = try byte()
      }
      if type == Self.files { _ = try count() }
    default: throw .unknown
    }
  }

  private mutating func readStreams() throws(Failure) {
    checkedFolders = []
    var type = try byte()
    if type == Self.packed {
      try readPacked()
      type = try byte()
    }
    if type == Self.unpacked {
      try readFolders()
      type = try byte()
    }
    if type == Self.contents {
      try readContents()
      type = try byte()
    }
    guard type == 0 else { throw .unknown }
  }

  private mutating func readPacked() throws(Failure) {
    _ = try number()
    let count = try count()
    var type = try byte()
    if type == Self.sizes {
      for _ in 0..<count { _ = try number() }
      type = try byte()
    }
    if type == Self.checks {
      _ = try readChecks(count)
      type = try byte()
    }
    guard type == 0 else { throw .unknown }
  }

  private mutating func readFolders() throws(Failure) {
    guard try byte() == Self.folders else { throw .unknown }
    let count = try count()
    guard try byte() == 0 else { throw .unknown }
    var outputs = 0
    for _ in 0..<count { outputs += try readFolder() }
    guard try byte() == Self.folderSizes else { throw .unknown }
    for _ in 0..<outputs { _ = try number() }
    checkedFolders = [Bool](repeating: false, count: count)
    var type = try byte()
    if type == Self.checks {
      checkedFolders = try readChecks(count)
      type = try byte()
    }
    guard type == 0 else { throw .unknown }
  }

  /// - Returns: how many contents the coders of a folder produce.
  private mutating func readFolder() throws(Failure) -> Int {
    var inputs = 0
    var outputs = 0
    for _ in 0..<(try count()) {
      let flags = try byte()
      try skip(UInt64(flags & 0x0F))
      inputs += flags & 0x10 == 0 ? 1 : try count()
      outputs += flags & 0x10 == 0 ? 1 : try count()
      if flags & 0x20 != 0 { try skip(number()) }
    }
    guard outputs > 0, inputs >= outputs - 1 else { throw .unknown }
    for _ in 1..<outputs {
      _ = try number()
      _ = try number()
    }
    let packed = inputs - (outputs - 1)
    if packed > 1 { for _ in 0..<packed { _ = try number() } }
    return outputs
  }

  private mutating func readContents() throws(Failure) {
    var counts = [Int](repeating: 1, count: checkedFolders.count)
    var type = try byte()
    if type == Self.contentCounts {
      var sum = 0
      for index in counts.indices {
        counts[index] = try count()
        sum += counts[index]
      }
      // The size of the last content of each folder is implied by the others.
      guard sum <= rest.count + counts.count else { throw .excessive }
      type = try byte()
    }
    if type == Self.sizes {
      for count in counts where count > 1 {
        for _ in 1..<count { _ = try number() }
      }
      type = try byte()
    }
    if type == Self.checks {
      let unchecked = zip(counts, checkedFolders).reduce(0) { $0 + ($1.0 == 1 && $1.1 ? 0 : $1.0) }
      _ = try readChecks(unchecked)
      type = try byte()
    }
    guard type == 0 else { throw .unknown }
  }

  /// - Returns: for each row, whether it has a CRC-32.
  private mutating func readChecks(_ count: Int) throws(Failure) -> [Bool] {
    var isChecked = [Bool](repeating: true, count: count)
    if try byte() == 0 {
      var bits: UInt8 = 0
      for index in 0..<count {
        if index.isMultiple(of: 8) { bits = try byte() }
        isChecked[index] = bits & 0x80 >> UInt8(index % 8) != 0
      }
    }
    try skip(UInt64(isChecked.count { $0 } * 4))
    return isChecked
  }

  /// The number of rows that follow.
  private mutating func count() throws(Failure) -> Int {
    let value = try number()
    guard value <= UInt64(rest.count) else { throw .excessive }
    return Int(value)
  }

  private mutating func number() throws(Failure) -> UInt64 {
    guard let value = rest.popSevenZipNumber() else { throw .unknown }
    return value
  }

  private mutating func byte() throws(Failure) -> UInt8 {
    guard let byte = rest.popFirst() else { throw .unknown }
    return byte
  }

  private mutating func skip(_ count: UInt64) throws(Failure) {
    guard count <= UInt64(rest.count) else { throw .unknown }
    rest = rest.dropFirst(Int(count))
  }
}

extension ArraySlice<UInt8> {
  /// Reads a number of 1 to 9 bytes, whose first byte encodes how many follow; nil if bytes are missing.
  mutating func popSevenZipNumber() -> UInt64? {
    guard let first = popFirst() else { return nil }
    var value: UInt64 = 0
    for index in 0..<8 {
      let mask = UInt8(0x80) >> UInt8(index)
      if first & mask == 0 { return value | UInt64(first & (mask - 1)) << UInt64(8 * index) }
      guard let byte = popFirst() else { return nil }
      value |= UInt64(byte) << UInt64(8 * index)
    }
    return value
  }
}
