import BatchEngine

/// What libarchive does not pass on from the extended headers of a tar: owners and times, since it reads a value that is not a
/// number as 0, which is root; global headers, which stock tar applies; and names of attributes.
struct PaxRecords {
  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
  private static let applied = ["uid", "gid", "uname", "gname", "mtime"]
  /// Keys of global headers that do not affect extraction.
  private static let harmless = ["comment", "atime", "ctime", "charset"]

  /// The records of global headers; they apply to members without their own record.
  private var globals: [String: [UInt8]] = [:]
  private var ignored: Set<String> = []

  /// Whether there are global headers, which affect later members.
  var hasGlobals: Bool { !globals.isEmpty }

  /// A remark about global headers; nil when all of them are applied.
  var remark: String? {
    guard !ignored.isEmpty else { return nil }
    return "a global header sets \(ignored.sorted().joined(separator: ", ")), which is not applied"
  }

  /// Applies the headers of the next member to its entry.
  mutating func apply(_ headers: TarHeaderScan, to entry: inout ArchiveEntry) throws(BatchError) {
    guard headers.isExtended || !globals.isEmpty else { return }
    var own: [String] = []
    var attributes = PaxAttributes()
    try headers.forEachRecord { (record) throws(BatchError) in
      let key = Self.applied.first { record.isNamed($0) }
      if record.isGlobal {
        note(record, key)
      } else if let key {
        own.append(key)
        Self.check(key, record.value, &entry)
      } else {
        attributes.add(record)
      }
    }
    attributes.apply(to: &entry)
    for (key, value) in globals where !own.contains(key) { Self.apply(key, value, to: &entry) }
  }

  private mutating func note(_ record: TarHeaderScan.Record, _ key: String?) {
    if let key {
      globals[key] = record.value.isEmpty ? nil : Array(record.value)
    } else if !Self.harmless.contains(where: { record.isNamed($0) }), ignored.count < 16 {
      ignored.insert(String(decoding: record.key.prefix(64), as: UTF8.self))
    }
  }

  /// Marks values that are not numbers; libarchive provides the values of other numbers.
  private static func check(_ key: String, _ value: some Collection<UInt8>, _ entry: inout ArchiveEntry) {
    switch key {
    case "uid": if !isNumber(value) { entry.owner = .max }
    case "gid": if !isNumber(value) { entry.group = .max }
    case "mtime":
      let time = Self.time(value)
      entry.hasTime = time != nil
      // libarchive loses the sign of -0.
      if let time { entry.modified = time }
    default: break
    }
  }

  private static func apply(_ key: String, _ value: [UInt8], to entry: inout ArchiveEntry) {
    switch key {
    case "uid": entry.owner = number(value)
    case "gid": entry.group = number(value)
    case "uname": entry.ownerName = value
    case "gname": entry.groupName = value
    default:
      let time = Self.time(value)
      entry.hasTime = time != nil
      if let time { entry.modified = time }
    }
  }

  private static func isNumber(_ value: some Collection<UInt8>) -> Bool {
    !value.isEmpty && value.allSatisfy { digits.contains($0) }
  }

  /// `UInt32.max` for anything but a valid owner number.
  private static func number(_ value: [UInt8]) -> UInt32 {
    isNumber(value) ? UInt32(String(decoding: value, as: UTF8.self)) ?? .max : .max
  }

  /// Seconds since 1970 with a sign and a fraction; nil for anything else, and beyond 64 bits.
  private static func time(_ value: some Collection<UInt8>) -> FileStatus.Time? {
    let isNegative = value.first == UInt8(ascii: "-")
    let unsigned = Array(isNegative ? value.dropFirst() : value.dropFirst(0))
    let parts = unsigned.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isNumber(whole),
      let seconds = Int64(String(decoding: whole, as: UTF8.self)), seconds < .max
    else { return nil }
    var nanoseconds: Int32 = 0
    if parts.count == 2 {
      guard parts[1].allSatisfy({ digits.contains($0) }) else { return nil }
      for index in 0..<9 {
        let digit = index < parts[1].count ? parts[1][parts[1].startIndex + index] - UInt8(ascii: "0") : 0
        nanoseconds = nanoseconds * 10 + Int32(digit)
      }
    }
    guard isNegative else { return FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds) }
    return nanoseconds == 0
      ? FileStatus.Time(seconds: -seconds, nanoseconds: 0)
      : FileStatus.Time(seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds)
  }
}
