import BatchEngine

/// An answer of the process that reads an archive: one byte for the kind, 4 bytes for the length of the body, and the body.
///
/// Numbers are little-endian; the length of texts and paths precedes them in 4 bytes. A malicious archive may control the
/// process, so its answers are decoded as untrusted bytes.
enum ReaderMessage {
  /// The archive was recognized.
  case opened(compressionFact: String?)
  case entry(ArchiveEntry, tellsOwner: Bool)
  /// A member that cannot be read.
  case unusable(BatchError)
  /// A piece of content with its offset, and how many bytes of the archive were read so far; valid as long as the bytes from
  /// which it was decoded.
  case piece(UnsafeRawBufferPointer, offset: UInt64, bytesRead: UInt64)
  /// There are no more members, or no more pieces of the content.
  case end
  /// The archive was read to its end.
  case drained(remarks: [String], format: String, checks: String)
  case failure(BatchError)

  /// The kind and the length.
  static let headSize = 5
  /// The largest accepted length. Pieces of libarchive and the headers of a member are smaller.
  static let largest = 64 << 20

  /// The kinds of errors that an archive can cause.
  private static let codes: [BatchError.Code] = [
    .malformed, .unsupported, .special, .exhausted, .unreadable, .invalid,
  ]

  var bytes: [UInt8] {
    var body: [UInt8] = []
    switch self {
    case .opened(let fact): body.append(text: fact ?? "")
    case .entry(let entry, let tellsOwner):
      body.append(tellsOwner ? 1 : 0)
      body.append(entry)
    case .unusable(let error), .failure(let error): body.append(error)
    case .piece(let content, let offset, let bytesRead):
      body.reserveCapacity(content.count + 16)
      body.appendLittleEndian(offset)
      body.appendLittleEndian(bytesRead)
      body += content
    case .end: break
    case .drained(let remarks, let format, let checks):
      for text in [format, checks] { body.append(text: text) }
      body.append(list: remarks) { $0.append(text: $1) }
    }
    var bytes: [UInt8] = [kind]
    bytes.appendLittleEndian(UInt32(clamping: body.count))
    return bytes + body
  }

  private var kind: UInt8 {
    switch self {
    case .opened: 1
    case .entry: 2
    case .unusable: 3
    case .piece: 4
    case .end: 5
    case .drained: 6
    case .failure: 7
    }
  }

  /// The length of the body.
  ///
  /// - Parameter head: ``headSize`` bytes.
  /// - Returns: nil if it is larger than ``largest``.
  static func length(_ head: UnsafeRawBufferPointer) -> Int? {
    var reader = LittleEndianReader(Array(head.dropFirst())[...])
    return reader.number(UInt32.self).map { Int($0) }.flatMap { $0 <= largest ? $0 : nil }
  }

  /// - Returns: nil for bytes that ``bytes`` cannot have produced.
  init?(kind: UInt8, _ body: UnsafeRawBufferPointer) {
    // The content of a piece is not copied.
    var reader = LittleEndianReader(
      Array(kind == 4 ? UnsafeRawBufferPointer(rebasing: body.prefix(16)) : body)[...])
    switch kind {
    case 1:
      guard let fact = reader.text() else { return nil }
      self = .opened(compressionFact: fact.isEmpty ? nil : fact)
    case 2:
      guard let tellsOwner = reader.flag(), let entry = reader.entry() else { return nil }
      self = .entry(entry, tellsOwner: tellsOwner)
    case 3, 7:
      guard let error = reader.error() else { return nil }
      self = kind == 3 ? .unusable(error) : .failure(error)
    case 4:
      guard let offset = reader.number(UInt64.self), let bytesRead = reader.number(UInt64.self) else {
        return nil
      }
      self = .piece(UnsafeRawBufferPointer(rebasing: body[16...]), offset: offset, bytesRead: bytesRead)
      return
    case 5: self = .end
    case 6:
      guard let format = reader.text(), let checks = reader.text(), let remarks = reader.list({ $0.text() })
      else { return nil }
      self = .drained(remarks: remarks, format: format, checks: checks)
    default: return nil
    }
    guard reader.rest == 0 else { return nil }
  }

  fileprivate static func number(of code: BatchError.Code) -> UInt8 {
    UInt8(codes.firstIndex(of: code) ?? 0)
  }

  fileprivate static func code(_ number: UInt8) -> BatchError.Code? {
    codes.indices.contains(Int(number)) ? codes[Int(number)] : nil
  }
}

extension [UInt8] {
  fileprivate mutating func append(text: some Collection<UInt8>) {
    appendLittleEndian(UInt32(clamping: text.count))
    self += text
  }

  fileprivate mutating func append(text: String) { append(text: text.utf8) }

  fileprivate mutating func append(_ error: BatchError) {
    append(ReaderMessage.number(of: error.code))
    append(error.path == nil ? 0 : 1)
    append(text: error.path?.bytes ?? [])
    append(text: error.message)
    appendLittleEndian(error.errno)
    // The process can only exhaust the memory that it is allowed.
    switch error.remedy {
    case nil: append(0)
    case .advice(let text)?:
      append(1)
      append(text: text)
    default: append(2)
    }
  }

  fileprivate mutating func append(_ entry: ArchiveEntry) {
    self += [
      entry.kind.rawValue,
      (entry.hasTime ? 1 : 0) | (entry.hasSize ? 0 : 2) | (entry.hasMode ? 0 : 4)
        | (entry.sharesContent ? 8 : 0) | (entry.isKnownEmpty ? 16 : 0),
    ]
    for number in [entry.size, UInt64(bitPattern: entry.modified.seconds)] { appendLittleEndian(number) }
    for number in [
      UInt32(bitPattern: entry.modified.nanoseconds), entry.mode, entry.owner, entry.group, entry.deviceMajor,
      entry.deviceMinor,
    ] { appendLittleEndian(number) }
    for text in [entry.path.bytes, entry.ownerName, entry.groupName] { append(text: text) }
    append(entry.linkTarget == nil ? 0 : 1)
    if let target = entry.linkTarget { append(text: target.bytes) }
    append(list: entry.attributes) {
      $0.append(text: $1.name)
      $0.append(text: $1.value)
    }
    append(entry.dataMap == nil ? 0 : 1)
    guard let map = entry.dataMap else { return }
    append(list: map) {
      $0.appendLittleEndian($1.lowerBound)
      $0.appendLittleEndian($1.upperBound)
    }
  }

  fileprivate mutating func append<Item>(list: [Item], _ append: (inout [UInt8], Item) -> Void) {
    appendLittleEndian(UInt32(clamping: list.count))
    for item in list { append(&self, item) }
  }
}

extension LittleEndianReader {
  fileprivate mutating func flag() -> Bool? {
    number(UInt8.self).flatMap { $0 < 2 ? $0 == 1 : nil }
  }

  fileprivate mutating func blob() -> [UInt8]? {
    number(UInt32.self).flatMap { take(Int($0)) }.map { Array($0) }
  }

  /// As many items as the number before them says; nil if one of them is nil.
  fileprivate mutating func list<Item>(_ item: (inout LittleEndianReader) -> Item?) -> [Item]? {
    guard let count = number(UInt32.self) else { return nil }
    var list: [Item] = []
    for _ in 0..<count {
      guard let next = item(&self) else { return nil }
      list.append(next)
    }
    return list
  }

  fileprivate mutating func text() -> String? { blob().map { String(decoding: $0, as: UTF8.self) } }

  /// Reads bytes that are valid as a path in a system call.
  private mutating func path() -> PathBytes? {
    blob().flatMap { $0.contains(0) ? nil : PathBytes($0) }
  }

  fileprivate mutating func error() -> BatchError? {
    guard let code = number(UInt8.self).flatMap({ ReaderMessage.code($0) }), let hasPath = flag(),
      let path = path(),
      let message = text(), let errno = number(Int32.self), let kind = number(UInt8.self)
    else { return nil }
    var remedy: Remedy?
    switch kind {
    case 0: break
    case 1:
      guard let text = text() else { return nil }
      remedy = .advice(text)
    case 2: remedy = .raiseMemory
    default: return nil
    }
    return BatchError(code, message, path: hasPath ? path : nil, errno: errno, remedy: remedy)
  }

  fileprivate mutating func entry() -> ArchiveEntry? {
    guard let kind = number(UInt8.self).flatMap({ ArchiveEntry.Kind(rawValue: $0) }),
      let flags = number(UInt8.self), flags < 32, let size = number(UInt64.self), size <= Int64.max,
      let seconds = number(Int64.self)
    else { return nil }
    let numbers = (0..<6).compactMap { _ in number(UInt32.self) }
    guard numbers.count == 6, numbers[0] < 1_000_000_000, numbers[1] <= 0o7777, let path = path(),
      !path.isEmpty,
      let owner = blob(), let group = blob(), let isLink = flag(),
      isLink == (kind == .symbolicLink || kind == .hardLink)
    else { return nil }
    var entry = ArchiveEntry(
      path: path, kind: kind, size: size, mode: numbers[1], owner: numbers[2], group: numbers[3],
      ownerName: owner, groupName: group,
      modified: FileStatus.Time(seconds: seconds, nanoseconds: Int32(numbers[0])),
      deviceMajor: numbers[4], deviceMinor: numbers[5])
    entry.hasTime = flags & 1 == 1
    entry.hasSize = flags & 2 == 0
    entry.hasMode = flags & 4 == 0
    entry.sharesContent = flags & 8 != 0
    entry.isKnownEmpty = flags & 16 != 0
    if isLink {
      guard let target = self.path() else { return nil }
      entry.linkTarget = target
    }
    let attributes = list { reader in
      reader.blob().flatMap { name in
        reader.blob().map { ExtendedAttribute(name: name, value: $0) }
      }
    }
    guard let attributes, let isSparse = flag() else { return nil }
    entry.attributes = attributes
    guard isSparse else { return entry }
    entry.dataMap = list { reader in
      guard let start = reader.number(UInt64.self), let end = reader.number(UInt64.self), start <= end
      else { return nil }
      return start..<end
    }
    return entry.dataMap == nil ? nil : entry
  }
}
