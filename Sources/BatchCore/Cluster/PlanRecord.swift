import BatchEngine

/// One record of the entries of a plan. Each record has a letter for its kind, then fields with a blank after each, then a
/// name, a path or nothing, and ends in NUL.
///
/// | letter | fields |
/// |---|---|
/// | `D` | a folder, whose entries follow: device, inode or `-`, depth, length of the operand, time of modification in seconds and nanoseconds or `- -`; then the path before the names |
/// | `P` | the first path of the file that follows, which is a further name of it |
/// | `F` | an entry: mode, inode, links, owner, group, size, allocated bytes, time of modification, status change time, number of the device if the entry is one, device of its file system or `-` for that of the folder, whether links may be followed; then the name, empty for the folder itself |
/// | `V` | the file that follows may have the output of another one beside it; no fields |
/// | `M` | a manifest, whose lines follow: its path |
/// | `R` | a row of it: the number of the line, whether the algorithm was guessed, how many digests, each as algorithm and digits; then the name |
/// | `X` | a row that is not valid: the number of the line; then the reason |
/// | `T` | a line that is not a row, with the fields of `X` |
/// | `E` | a path that could not be examined: event, code, error number, kind or `-`, whether it has a path, length of the message; then the message and the path |
enum PlanRecord {
  case folder(PlannedFolder)
  case firstPath(PathBytes)
  case entry(PlannedEntry, name: ArraySlice<UInt8>)
  case rival
  case manifest(PathBytes)
  case line(ManifestItem)
  case problem(Problem)

  struct PlannedFolder: Equatable {
    let device: UInt64
    /// Nil for the folder of a file that is an operand.
    let inode: UInt64?
    let depth: Int
    let operandLength: Int
    /// The time of modification when it was listed; nil if unknown.
    let modified: FileStatus.Time?
    /// Empty, or ending in `/`.
    let prefix: [UInt8]
  }

  struct PlannedEntry: Equatable {
    /// Without its device.
    let status: FileStatus
    /// The device; nil if the folder has the same one.
    let home: UInt64?
    let followsLinks: Bool
  }

  /// - Parameter record: the record without its NUL.
  /// - Throws: `malformed` when the bytes are not a record of ``PlanRecordWriter``.
  init(_ record: ArraySlice<UInt8>) throws(BatchError) {
    guard let letter = record.first else { throw Self.invalid }
    var fields = PlanFields(record.dropFirst())
    switch letter {
    case UInt8(ascii: "D"): self = .folder(try Self.folder(&fields))
    case UInt8(ascii: "P"):
      guard !fields.rest.isEmpty else { throw Self.invalid }
      self = .firstPath(PathBytes(fields.rest))
    case UInt8(ascii: "F"):
      let entry = try Self.entry(&fields)
      guard Self.isName(fields.rest, of: entry) else { throw Self.invalid }
      self = .entry(entry, name: fields.rest)
    case UInt8(ascii: "V"):
      guard fields.rest.isEmpty else { throw Self.invalid }
      self = .rival
    case UInt8(ascii: "M"):
      guard !fields.rest.isEmpty else { throw Self.invalid }
      self = .manifest(PathBytes(fields.rest))
    case UInt8(ascii: "R"): self = .line(.entry(try Self.row(&fields)))
    case UInt8(ascii: "X"):
      self = .line(.malformed(line: try fields.number(), reason: fields.text))
    case UInt8(ascii: "T"): self = .line(.text(line: try fields.number(), reason: fields.text))
    case UInt8(ascii: "E"): self = .problem(try Self.problem(&fields))
    default: throw Self.invalid
    }
  }

  private static func folder(_ fields: inout PlanFields) throws(BatchError) -> PlannedFolder {
    let device: UInt64 = try fields.number()
    let inode: UInt64? = try fields.optionalNumber()
    let depth: Int = try fields.number()
    let operandLength: Int = try fields.number()
    let seconds: Int64? = try fields.optionalNumber()
    let nanoseconds: Int32? = try fields.optionalNumber()
    var modified: FileStatus.Time?
    if let seconds, let nanoseconds { modified = try fields.time(seconds, nanoseconds) }
    let prefix = Array(fields.rest)
    guard (0...prefix.count).contains(operandLength), (0...PathLimits.mostLevels).contains(depth),
      prefix.isEmpty || prefix.last == UInt8(ascii: "/"), (seconds == nil) == (nanoseconds == nil)
    else { throw invalid }
    var below = prefix[operandLength...]
    if !below.isEmpty { below = below.dropLast() }
    let names =
      below.isEmpty
      ? [] : below.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard names.allSatisfy({ !$0.isEmpty && !$0.isDots }), inode != nil || below.isEmpty else {
      throw invalid
    }
    return PlannedFolder(
      device: device, inode: inode, depth: depth, operandLength: operandLength, modified: modified,
      prefix: prefix)
  }

  private static func entry(_ fields: inout PlanFields) throws(BatchError) -> PlannedEntry {
    let mode: UInt32 = try fields.number()
    let identity = FileIdentity(device: 0, inode: try fields.number())
    let linkCount: UInt64 = try fields.number()
    let owner: UInt32 = try fields.number()
    let group: UInt32 = try fields.number()
    let size: Int64 = try fields.number()
    let allocated: Int64 = try fields.number()
    let status = FileStatus(
      identity: identity, mode: mode, linkCount: linkCount, owner: owner, group: group, size: size,
      modified: try fields.time(try fields.number(), try fields.number()),
      statusChanged: try fields.time(try fields.number(), try fields.number()), allocated: allocated,
      device: try fields.number())
    let home: UInt64? = try fields.optionalNumber()
    let follows: Int = try fields.number()
    guard status.kind != .unknown, follows == 0 || follows == 1 else {
      throw invalid
    }
    return PlannedEntry(status: status, home: home, followsLinks: follows == 1)
  }

  private static func row(_ fields: inout PlanFields) throws(BatchError) -> ManifestEntry {
    let line: Int = try fields.number()
    let guessed: Int = try fields.number()
    let count: Int = try fields.number()
    guard guessed == 0 || guessed == 1, (1...DigestAlgorithm.allCases.count).contains(count) else {
      throw invalid
    }
    var digests: [Digest] = []
    for _ in 0..<count {
      guard let algorithm = DigestAlgorithm(rawValue: try fields.word()),
        let digest = Digest(algorithm, hex: try fields.field())
      else { throw invalid }
      digests.append(digest)
    }
    return ManifestEntry(
      path: PathBytes(fields.rest), digests: digests, line: line, isAlgorithmGuessed: guessed == 1)
  }

  /// A name never leads out of its folder; the empty one is the folder itself.
  private static func isName(_ name: ArraySlice<UInt8>, of entry: PlannedEntry) -> Bool {
    if name.isEmpty { return entry.status.kind == .directory }
    if name.contains(UInt8(ascii: "/")) { return false }
    return !name.isDots
  }

  private static func problem(_ fields: inout PlanFields) throws(BatchError) -> Problem {
    let event = Problem.Event(rawValue: try fields.word())
    let code = BatchError.Code(rawValue: try fields.word())
    let number: Int32 = try fields.number()
    let kind: UInt8? = try fields.optionalNumber()
    let hasPath: Int = try fields.number()
    let length: Int = try fields.number()
    guard let event, let code, (0...fields.rest.count).contains(length) else { throw invalid }
    let message = String(decoding: fields.rest.prefix(length), as: UTF8.self)
    let path = fields.rest.dropFirst(length)
    guard hasPath == 1 || path.isEmpty else { throw invalid }
    let error = BatchError(code, message, path: hasPath == 1 ? PathBytes(path) : nil, errno: number)
    return Problem(event, error, kind: kind.flatMap(FileStatus.Kind.init(rawValue:)))
  }

  static var invalid: BatchError { BatchError(.malformed, "has an entry that is not valid") }
}

/// The fields of a record, each with a blank after it.
struct PlanFields {
  /// The fields that were not read yet.
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var text: String { String(decoding: rest, as: UTF8.self) }

  mutating func word() throws(BatchError) -> String { String(decoding: try field(), as: UTF8.self) }

  mutating func number<Number: FixedWidthInteger>() throws(BatchError) -> Number {
    guard let number: Number = DecimalDigits.number(try field()) else { throw PlanRecord.invalid }
    return number
  }

  /// Nil for `-`.
  mutating func optionalNumber<Number: FixedWidthInteger>() throws(BatchError) -> Number? {
    guard rest.starts(with: "- ".utf8) else { return try number() }
    rest = rest.dropFirst(2)
    return nil
  }

  func time(_ seconds: Int64, _ nanoseconds: Int32) throws(BatchError) -> FileStatus.Time {
    guard (0..<1_000_000_000).contains(nanoseconds) else { throw PlanRecord.invalid }
    return FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
  }

  mutating func field() throws(BatchError) -> ArraySlice<UInt8> {
    guard let end = rest.firstIndex(of: UInt8(ascii: " ")) else { throw PlanRecord.invalid }
    defer { rest = rest[(end + 1)...] }
    return rest[..<end]
  }
}
