import BatchEngine

/// Writes the steps of a walk as records of a plan, each folder once.
struct PlanRecordWriter {
  private var folder: DirectoryPath?
  private var device: UInt64 = 0
  private var manifest: PathBytes?

  /// Appends a step of the walk.
  ///
  /// - Parameters:
  ///   - listed: the status of the item's folder when it was listed.
  ///   - first: the first path of the file, if the item is a further name.
  ///   - mayHaveRival: whether a file beside it may have the same output.
  /// - Returns: the offset of the folder's record in the bytes, if one was written.
  mutating func append(
    _ walked: Walked, listed: FileStatus?, first: PathBytes?, mayHaveRival: Bool = false,
    to bytes: inout [UInt8]
  ) -> Int? {
    switch walked {
    // Plans with standard input are refused before the walk.
    case .item(.standardInput): return nil
    case .problem(let problem):
      Self.append(problem, to: &bytes)
      return nil
    case .item(.file(let record)):
      let start = record.directory === folder ? nil : bytes.count
      if start != nil { append(record.directory, of: record, listed: listed, to: &bytes) }
      if let first {
        bytes.append(UInt8(ascii: "P"))
        bytes += first.bytes
        bytes.append(0)
      }
      if mayHaveRival { bytes.append(literal: "V\0") }
      append(record, to: &bytes)
      return start
    }
  }

  /// Appends a line of a manifest.
  ///
  /// - Returns: the offset of the manifest's record in the bytes, if one was written.
  mutating func append(_ row: CheckLine, to bytes: inout [UInt8]) -> Int? {
    switch row {
    case .unreadable(let problem):
      Self.append(problem, to: &bytes)
      return nil
    case .line(let item, let path, _):
      let start = path == manifest ? nil : bytes.count
      if start != nil {
        manifest = path
        bytes.append(UInt8(ascii: "M"))
        bytes += path.bytes
        bytes.append(0)
      }
      Self.append(item, to: &bytes)
      return start
    }
  }

  private static func append(_ item: ManifestItem, to bytes: inout [UInt8]) {
    switch item {
    case .entry(let entry):
      bytes.append(UInt8(ascii: "R"))
      append(entry.line, to: &bytes)
      bytes.append(literal: entry.isAlgorithmGuessed ? "1 " : "0 ")
      append(entry.digests.count, to: &bytes)
      for digest in entry.digests {
        bytes += digest.algorithm.rawValue.utf8
        bytes.append(UInt8(ascii: " "))
        digest.appendHex(to: &bytes)
        bytes.append(UInt8(ascii: " "))
      }
      bytes += entry.path.bytes
    case .malformed(let line, let reason): append(UInt8(ascii: "X"), line, reason, to: &bytes)
    case .text(let line, let reason): append(UInt8(ascii: "T"), line, reason, to: &bytes)
    }
    bytes.append(0)
  }

  private static func append(
    _ letter: UInt8, _ line: Int, _ reason: String, to bytes: inout [UInt8]
  ) {
    bytes.append(letter)
    append(line, to: &bytes)
    bytes += reason.utf8.filter { $0 != 0 }
  }

  private mutating func append(
    _ directory: DirectoryPath, of record: FileRecord, listed: FileStatus?, to bytes: inout [UInt8]
  ) {
    folder = directory
    device = directory.identity?.device ?? record.status.identity.device
    bytes.append(UInt8(ascii: "D"))
    Self.append(device, to: &bytes)
    Self.append(directory.identity?.inode, to: &bytes)
    Self.append(directory.depth, to: &bytes)
    Self.append(directory.operandLength, to: &bytes)
    if let listed, listed.identity == directory.identity {
      Self.append(listed.modified, to: &bytes)
    } else {
      bytes.append(literal: "- - ")
    }
    bytes += directory.prefix.bytes
    bytes.append(0)
  }

  private func append(_ record: FileRecord, to bytes: inout [UInt8]) {
    let status = record.status
    bytes.append(UInt8(ascii: "F"))
    Self.append(status.mode, to: &bytes)
    Self.append(status.identity.inode, to: &bytes)
    Self.append(status.linkCount, to: &bytes)
    Self.append(status.owner, to: &bytes)
    Self.append(status.group, to: &bytes)
    Self.append(status.size, to: &bytes)
    Self.append(status.allocated, to: &bytes)
    Self.append(status.modified, to: &bytes)
    Self.append(status.statusChanged, to: &bytes)
    Self.append(status.device, to: &bytes)
    Self.append(status.identity.device == device ? nil : status.identity.device, to: &bytes)
    bytes.append(UInt8(ascii: record.followsLinks ? "1" : "0"))
    bytes.append(UInt8(ascii: " "))
    record.appendName(to: &bytes)
    bytes.append(0)
  }

  private static func append(_ problem: Problem, to bytes: inout [UInt8]) {
    let error = problem.error
    let message = Array(error.message.utf8.filter { $0 != 0 })
    bytes += "E\(problem.event.rawValue) \(error.code.rawValue) \(error.errno) ".utf8
    bytes += "\(problem.kind.map { String($0.rawValue) } ?? "-") \(error.path == nil ? 0 : 1) ".utf8
    append(message.count, to: &bytes)
    bytes += message
    bytes += error.path?.bytes.filter { $0 != 0 } ?? []
    bytes.append(0)
  }

  private static func append(_ number: (some FixedWidthInteger)?, to bytes: inout [UInt8]) {
    guard let number else { return bytes.append(literal: "- ") }
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    JSONText.append(UInt64(number.magnitude), to: &bytes)
    bytes.append(UInt8(ascii: " "))
  }

  private static func append(_ time: FileStatus.Time, to bytes: inout [UInt8]) {
    append(time.seconds, to: &bytes)
    append(UInt32(bitPattern: time.nanoseconds), to: &bytes)
  }
}
