import BatchEngine

/// Reads the result of a shard. Nothing in it may be trusted before ``verify(_:)``.
package final class ShardResultReader {
  /// A piece, and the range of its content in the file.
  struct Place {
    let kind: ShardPiece
    let content: Range<UInt64>
  }

  private static let bufferSize = 1 << 20
  private static let longestLine = 1 << 20
  /// The largest piece that is held in memory, in bytes.
  private static let largestPiece: UInt64 = 1 << 31

  package let path: PathBytes
  package let outcome: ShardOutcome
  let status: FileStatus
  /// The size in bytes.
  private let size: UInt64
  private let file: Descriptor
  /// Valid as long as this object lives.
  var raw: Int32 { file.raw }
  private let calls: any FileSystemCalls
  private let first: UInt64
  private let last: UInt64

  /// Opens a result and reads its beginning and its end.
  ///
  /// - Returns: nil when the shard has no result.
  /// - Throws: `malformed`, with the path, when the file is not a result of the shard.
  package static func open(
    _ shard: Int, of plan: ShardPlan, in folder: PlanFolder
  ) throws(BatchError) -> ShardResultReader? {
    let name = ShardPlan.name(shard, "result")
    do throws(BatchError) {
      return try ShardResultReader(name, of: plan, shard: shard, in: folder)
    } catch {
      if error.isNotFound { return nil }
      throw error.at(folder.path(of: name))
    }
  }

  private init(
    _ name: String, of plan: ShardPlan, shard: Int, in folder: PlanFolder
  ) throws(BatchError) {
    path = folder.path(of: name)
    calls = folder.calls
    file = try folder.openFile(name)
    status = try calls.status(of: file)
    guard let size = UInt64(exactly: status.size) else {
      throw BatchError(.malformed, "is not a regular file")
    }
    self.size = size
    let raw = file.raw
    let head = try Self.read(raw, 0..<min(size, UInt64(Self.longestLine)), calls)
    guard let newline = head.firstIndex(of: UInt8(ascii: "\n")) else {
      throw BatchError(.malformed, "is not the result of a shard")
    }
    let fields: JSONFields
    do throws(BatchError) {
      fields = try JSONFields(head[..<newline])
      guard try fields.text("type") == "result" else { throw BatchError(.malformed, "") }
    } catch {
      throw BatchError(.malformed, "is not the result of a shard")
    }
    guard try fields.text("plan") == plan.id else {
      throw BatchError(.malformed, "is the result of another plan")
    }
    let number: Int = try fields.number("shard")
    guard number == shard else {
      throw BatchError(.malformed, "is the result of shard \(number), which is there twice")
    }
    guard try fields.digest("entries_sha256") == plan.shards[shard].digest else {
      throw BatchError(.malformed, "is the result of other entries")
    }
    first = UInt64(newline + 1)
    let trailer = UInt64(ShardPiece.trailerSize)
    guard size >= first + trailer else { throw Self.cut }
    var numbers = LittleEndianReader(
      try Self.read(raw, (size - trailer)..<(size - trailer + 8), calls)[...])
    guard let last = numbers.number(UInt64.self), last >= first, last <= size - trailer,
      size - trailer - last <= UInt64(Self.longestLine)
    else { throw Self.cut }
    self.last = last
    let end = try Self.read(raw, last..<(size - trailer), calls)
    guard end.first == ShardPiece.end.rawValue, end.count >= ShardPiece.headSize else {
      throw Self.cut
    }
    outcome = try Self.outcome(try JSONFields(end[ShardPiece.headSize...].dropLast()))
  }

  private static func outcome(_ fields: JSONFields) throws(BatchError) -> ShardOutcome {
    var outcome = ShardOutcome()
    for (key, path) in ShardOutcome.numbers { outcome[keyPath: path] = try fields.number(key) }
    outcome.findings = try fields.numbers(after: "found_")
    outcome.counts.byteCount = try fields.number("bytes")
    outcome.milliseconds = try fields.number("milliseconds")
    outcome.status = try fields.number("status")
    outcome.node = try fields.text("node")
    guard outcome.isSound else { throw BatchError(.malformed, "has counts that cannot be") }
    return outcome
  }

  /// Reads the whole result, and compares it with its digest.
  ///
  /// - Throws: `malformed` for a result that was cut, edited or damaged, with the path; the reason when the run was stopped.
  package func verify(_ cancellation: Cancellation) throws(BatchError) {
    let digest = try DigestStream(.sha256)
    let content = size - 32
    var position: UInt64 = 0
    while position < content {
      try cancellation.check()
      let piece = position..<min(content, position + UInt64(Self.bufferSize))
      let bytes = try read(piece)
      try digest.update(bytes.span.bytes)
      position = piece.upperBound
    }
    guard try digest.finish().bytes == read(content..<size) else {
      throw BatchError(
        .malformed, "was cut, edited or damaged: wrong digest", path: path)
    }
  }

  /// Calls `body` with each piece before the last one.
  func forEach(_ body: (Place) throws(BatchError) -> Void) throws(BatchError) {
    var position = first
    let head = UInt64(ShardPiece.headSize)
    while position < last {
      guard last - position >= head else { throw Self.cut.at(path) }
      var bytes = try read(position..<(position + head))[...]
      let kind = bytes.popFirst().flatMap(ShardPiece.init(rawValue:))
      var numbers = LittleEndianReader(bytes)
      guard let kind, kind != .end, let length = numbers.number(UInt64.self),
        length <= last - position - head
      else { throw BatchError(.malformed, "has a piece that is not valid", path: path) }
      let start = position + head
      position = start + length
      try body(Place(kind: kind, content: start..<position))
    }
  }

  /// The bytes of a short piece.
  func read(_ range: Range<UInt64>) throws(BatchError) -> [UInt8] {
    let raw = file.raw
    do throws(BatchError) {
      return try Self.read(raw, range, calls)
    } catch {
      throw error.at(path)
    }
  }

  func problem(_ place: Place) throws(BatchError) -> (Problem, Severity) {
    let line = try read(place.content).dropLast()
    do throws(BatchError) {
      return try Self.problem(try JSONFields(line))
    } catch {
      throw error.at(path)
    }
  }

  private static func problem(_ fields: JSONFields) throws(BatchError) -> (Problem, Severity) {
    guard let event = Problem.Event(rawValue: try fields.text("event")),
      let code = BatchError.Code(rawValue: try fields.text("code")),
      let severity = Severity(rawValue: try fields.text("severity"))
    else { throw BatchError(.malformed, "has a problem that is not valid") }
    let named = fields.has("path") || fields.has("path_hex")
    var remedy: Remedy?
    if fields.has("advice") { remedy = .advice(try fields.text("advice")) }
    if fields.has("remedy") {
      let name = try fields.text("remedy")
      remedy = ShardResultWriter.remedies.first { "\($0)" == name }
    }
    let error = BatchError(
      code, try fields.text("message"), path: named ? PathBytes(try fields.bytes("path")) : nil,
      errno: try fields.number("errno"), remedy: remedy)
    return (Problem(event, error), severity)
  }

  private static func read(
    _ raw: Int32, _ range: Range<UInt64>, _ calls: any FileSystemCalls
  ) throws(BatchError) -> [UInt8] {
    let length = range.upperBound - range.lowerBound
    guard length <= largestPiece, range.upperBound <= UInt64(Int64.max) else { throw cut }
    let bytes = try [UInt8](upTo: Int(length)) { (room) throws(BatchError) in
      try calls.fill(room, from: raw, at: range.lowerBound)
    }
    guard bytes.count == Int(length) else { throw cut }
    return bytes
  }

  private static var cut: BatchError { BatchError(.malformed, "is cut") }
}
