import BatchEngine

/// The numbers of packed streams, folders, contents and files that a 7z header claims (7zFormat.txt of the LZMA SDK).
///
/// libarchive allocates a table with that many rows before it reads the first one, and a property before it reads its bytes.
/// Each row takes at least one byte of the header, so a header that claims more than it has bytes for is refused before
/// libarchive reads it.
struct SevenZipCounts {
  private enum Failure: Error {
    /// More rows, or a longer property, than there are bytes.
    case excessive
    /// An error that libarchive reports, or a form that it cannot read either.
    case unknown
  }

  private var rest: ArraySlice<UInt8>
  private var facts = SevenZipFacts()
  /// Whether the folders have a list of their contents.
  private var hasContents = false
  /// For each folder, whether its content has a CRC-32.
  private var checkedFolders: [Bool] = []

  /// Reads an uncompressed header.
  ///
  /// - Returns: nil if it has not at least one byte for each row that it claims.
  static func facts(of header: ArraySlice<UInt8>) -> SevenZipFacts? {
    var counts = SevenZipCounts(rest: header)
    do throws(Failure) {
      try counts.readHeader()
    } catch {
      if error == .excessive { return nil }
    }
    return counts.facts
  }

  // Identifiers of properties.
  private static let end: UInt8 = 0
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
  private static let emptyStreams: UInt8 = 14
  private static let names: UInt8 = 17

  /// Normal form C changes no character below this one.
  private static let firstComposed: UInt16 = 0x300

  private mutating func readHeader() throws(Failure) {
    switch try byte() {
    case 0x17:
      try readStreams()
      // The folder of the header itself.
      facts = SevenZipFacts()
    case 0x01:
      if take(Self.archiveProperties) {
        while try number() != 0 {
          let size = try number()
          if size > 0 { facts.unreadablePart = "properties of the archive" }
          try skip(size)
        }
      }
      if take(Self.additionalStreams) {
        facts.unreadablePart = "additional streams"
        try readStreams()
      }
      if take(Self.mainStreams) {
        facts.folders = SevenZipFolders()
        try readStreams()
        if !facts.folders.rows.isEmpty, !hasContents {
          facts.unreadablePart = "folders without a list of their contents"
        }
      }
      if take(Self.files) {
        let count = try count()
        while case let property = try byte(), property != Self.end {
          let size = try number()
          guard size <= UInt64(rest.count) else { throw .excessive }
          let content = rest.prefix(Int(size))
          if property == Self.names { noteNames(content.dropFirst()) }
          if property == Self.emptyStreams { noteEmptyFiles(content, count: count) }
          try skip(size)
        }
      }
    default: throw .unknown
    }
  }

  /// - Parameter content: names in UTF-16, each with a final zero.
  private mutating func noteNames(_ content: ArraySlice<UInt8>) {
    var units = [UInt16]()
    var number = 0
    var place = content.startIndex
    while place + 1 < content.endIndex {
      let unit = UInt16(content[place]) | UInt16(content[place + 1]) << 8
      place += 2
      guard unit == 0 else {
        units.append(unit)
        continue
      }
      if units.contains(where: { $0 >= Self.firstComposed }),
        let text = String(validating: units, as: UTF16.self)
      {
        facts.names[number] = PathBytes(ArchiveEntry.withoutSlashes(Array(text.utf8)[...]))
      }
      number += 1
      units.removeAll(keepingCapacity: true)
    }
  }

  /// - Parameter bits: one for each member.
  private mutating func noteEmptyFiles(_ bits: ArraySlice<UInt8>, count: Int) {
    for number in 0..<min(count, 8 * bits.count)
    where bits[bits.startIndex + number / 8] & 0x80 >> UInt8(number % 8) != 0 {
      facts.emptyFiles.insert(number)
    }
  }

  private mutating func readStreams() throws(Failure) {
    checkedFolders = []
    hasContents = false
    if take(Self.packed) { try readPacked() }
    if take(Self.unpacked) { try readFolders() }
    if take(Self.contents) { try readContents() }
    try require(Self.end)
  }

  private mutating func readPacked() throws(Failure) {
    _ = try number()
    let count = try count()
    if take(Self.sizes) { try skipNumbers(count) }
    if take(Self.checks) { _ = try readChecks(count) }
    try require(Self.end)
  }

  private mutating func readFolders() throws(Failure) {
    try require(Self.folders)
    let count = try count()
    // The folders are in the header, not in a separate stream.
    try require(0)
    var outputs = 0
    for _ in 0..<count { outputs += try readFolder() }
    try require(Self.folderSizes)
    try skipNumbers(outputs)
    checkedFolders =
      take(Self.checks) ? try readChecks(count) : [Bool](repeating: false, count: count)
    try require(Self.end)
  }

  /// - Returns: how many contents the coders of a folder produce.
  private mutating func readFolder() throws(Failure) -> Int {
    var inputs = 0
    var outputs = 0
    var coders = [SevenZipCoder]()
    for _ in 0..<(try count()) {
      let flags = try byte()
      let identifier = rest.prefix(Int(flags & 0x0F))
      coders.append(SevenZipCoder(number: identifier.reduce(0) { $0 << 8 | UInt64($1) }))
      try skip(UInt64(flags & 0x0F))
      inputs += flags & 0x10 == 0 ? 1 : try count()
      outputs += flags & 0x10 == 0 ? 1 : try count()
      if flags & 0x20 != 0 { try skip(number()) }
    }
    guard outputs > 0, inputs >= outputs - 1 else { throw .unknown }
    try skipNumbers(2 * (outputs - 1))
    facts.folders.rows.append((coders, 1))
    let packed = inputs - (outputs - 1)
    if packed > 1 { try skipNumbers(packed) }
    return outputs
  }

  private mutating func readContents() throws(Failure) {
    hasContents = true
    var counts = [Int](repeating: 1, count: checkedFolders.count)
    if take(Self.contentCounts) {
      for index in counts.indices { counts[index] = try count() }
      // The size of the last content of each folder is implied by the others.
      guard counts.reduce(0, +) <= rest.count + counts.count else { throw .excessive }
    }
    for (index, count) in counts.enumerated() where index < facts.folders.rows.count {
      facts.folders.rows[index].contents = count
    }
    if take(Self.sizes) {
      for count in counts where count > 1 { try skipNumbers(count - 1) }
    }
    if take(Self.checks) {
      let unchecked = zip(counts, checkedFolders).reduce(0) { $0 + ($1.0 == 1 && $1.1 ? 0 : $1.0) }
      _ = try readChecks(unchecked)
    }
    try require(Self.end)
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

  private mutating func skipNumbers(_ count: Int) throws(Failure) {
    for _ in 0..<count { _ = try number() }
  }

  private mutating func number() throws(Failure) -> UInt64 {
    guard let value = rest.popSevenZipNumber() else { throw .unknown }
    return value
  }

  private mutating func byte() throws(Failure) -> UInt8 {
    guard let byte = rest.popFirst() else { throw .unknown }
    return byte
  }

  /// Whether this identifier follows; then it is taken.
  private mutating func take(_ identifier: UInt8) -> Bool {
    guard rest.first == identifier else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func require(_ identifier: UInt8) throws(Failure) {
    guard take(identifier) else { throw .unknown }
  }

  private mutating func skip(_ count: UInt64) throws(Failure) {
    guard count <= UInt64(rest.count) else { throw .excessive }
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
