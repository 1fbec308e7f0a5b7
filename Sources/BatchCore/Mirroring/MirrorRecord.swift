import BatchEngine

/// What a shard of a mirror leaves to the merge: digests in tree order, names whose first name is in another shard, and folders,
/// whose metadata are set last.
///
/// In the result of a shard each is one letter and its fields, each as its length, a colon and its bytes.
package enum MirrorRecord: Sendable {
  case digest(RelativePath, Digest, size: Int64, isShared: Bool)
  case name(MirrorReport, first: RelativePath)
  case folder(MirrorReport, ArchiveEntry)

  private static let colon = UInt8(ascii: ":")

  // MARK: Writing

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    func add(_ field: [UInt8]) { bytes += Array("\(field.count):".utf8) + field }
    func add(_ number: some FixedWidthInteger) { add(Array("\(number)".utf8)) }
    switch self {
    case .digest(let place, let digest, let size, let isShared):
      bytes.append(UInt8(ascii: "D"))
      add(place.bytes)
      add(Array(digest.hex.utf8))
      add(size)
      add(isShared ? 1 : 0)
    case .name(let report, let first):
      bytes.append(UInt8(ascii: "L"))
      add(report.place.bytes)
      add(first.bytes)
      add(report.path.bytes)
      add(report.kind.rawValue)
      add(report.size)
      add(report.modified.seconds)
      add(report.modified.nanoseconds)
    case .folder(let report, let entry):
      bytes.append(UInt8(ascii: "F"))
      add(report.place.bytes)
      add(report.path.bytes)
      add(report.outcome == .copied ? 1 : 0)
      add(report.owner)
      add(entry.mode)
      add(entry.owner)
      add(entry.group)
      add(entry.modified.seconds)
      add(entry.modified.nanoseconds)
      add(entry.attributes.count)
      for attribute in entry.attributes {
        add(attribute.name)
        add(attribute.value)
      }
    }
    return bytes
  }

  // MARK: Reading

  /// Reads a record from the beginning of bytes, and removes it from them.
  ///
  /// - Throws: `malformed`.
  package init(from bytes: inout ArraySlice<UInt8>) throws(BatchError) {
    guard let letter = bytes.popFirst() else { throw Self.damaged }
    switch letter {
    case UInt8(ascii: "D"):
      let place = try Self.place(from: &bytes)
      let text = try Self.field(from: &bytes)
      guard let digest = Digest(.sha256, hex: text) else { throw Self.damaged }
      let size: Int64 = try Self.number(from: &bytes)
      self = .digest(place, digest, size: max(0, size), isShared: try Self.number(from: &bytes) == 1)
    case UInt8(ascii: "L"):
      let place = try Self.place(from: &bytes)
      let first = try Self.place(from: &bytes)
      let path = PathBytes(try Self.field(from: &bytes))
      guard let kind = FileStatus.Kind(rawValue: try Self.number(from: &bytes)), kind != .directory else {
        throw Self.damaged
      }
      let size: Int64 = try Self.number(from: &bytes)
      let modified = try Self.time(from: &bytes)
      self = .name(
        MirrorReport(path, place, kind, size: max(0, size), modified: modified), first: first)
    case UInt8(ascii: "F"):
      let place = try Self.place(from: &bytes)
      var report = MirrorReport(PathBytes(try Self.field(from: &bytes)), place, .directory, size: 0)
      report.outcome = try Self.number(from: &bytes) == 1 ? .copied : .upToDate
      report.owner = try Self.number(from: &bytes)
      var entry = ArchiveEntry(path: "", kind: .directory)
      entry.mode = try Self.number(from: &bytes) & 0o7777
      entry.owner = try Self.number(from: &bytes)
      entry.group = try Self.number(from: &bytes)
      entry.modified = try Self.time(from: &bytes)
      let count: Int = try Self.number(from: &bytes)
      guard (0...bytes.count).contains(count) else { throw Self.damaged }
      for _ in 0..<count {
        let name = try Self.field(from: &bytes)
        entry.attributes.append(ExtendedAttribute(name: name, value: try Self.field(from: &bytes)))
      }
      self = .folder(report, entry)
    default: throw Self.damaged
    }
  }

  private static let damaged = BatchError(.malformed, "the result of a shard has a record that is not valid")

  private static func field(from bytes: inout ArraySlice<UInt8>) throws(BatchError) -> [UInt8] {
    guard let end = bytes.prefix(20).firstIndex(of: colon),
      let count = Int(String(decoding: bytes[..<end], as: UTF8.self)), count >= 0
    else { throw damaged }
    bytes = bytes[(end + 1)...]
    guard count <= bytes.count else { throw damaged }
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  private static func number<Number: FixedWidthInteger>(
    from bytes: inout ArraySlice<UInt8>
  ) throws(BatchError) -> Number {
    guard let number = Number(String(decoding: try field(from: &bytes), as: UTF8.self)) else { throw damaged }
    return number
  }

  private static func time(from bytes: inout ArraySlice<UInt8>) throws(BatchError) -> FileStatus.Time {
    let seconds: Int64 = try number(from: &bytes)
    let nanoseconds: Int32 = try number(from: &bytes)
    guard (0..<1_000_000_000).contains(nanoseconds) else { throw damaged }
    return FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
  }

  private static func place(from bytes: inout ArraySlice<UInt8>) throws(BatchError) -> RelativePath {
    try RelativePath(PathBytes(try field(from: &bytes)))
  }
}
