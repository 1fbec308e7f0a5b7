import BatchEngine

/// Reads an archive from its beginning to its end and makes items of its members. It decodes and plans, and makes no
/// file: small members are handed over with their content, large ones piece by piece.
final class MemberFeed {
  private static let largestContent: UInt64 = 1 << 20
  /// In bytes, of one piece of a large file.
  private static let largestPiece = 128 << 10

  private let cancellation: Cancellation
  private let reader: any MemberReader
  private let planner: ExtractionPlanner
  private let name: PathBytes
  private let keepsGoing: Bool
  /// The large file that is being handed over.
  private var large: ExtractionOrder?
  /// What is left of its last piece.
  private var rest: (bytes: UnsafeRawBufferPointer, offset: UInt64)?
  /// Items that follow the last one.
  private var pending: [ExtractionItem.Step] = []
  private var isAtEnd = false

  /// - Throws: `malformed` when the file is no archive.
  init(
    _ archive: OpenArchive, _ planner: ExtractionPlanner, _ options: ExtractionOptions
  ) throws(BatchError) {
    cancellation = archive.file.cancellation
    name = archive.file.path
    keepsGoing = options.keepsGoing
    self.planner = planner
    reader = try archive.reader(limits: options.limits)
  }

  /// - Throws: what ends the reading.
  func next() throws(BatchError) -> ExtractionItem.Step? {
    try cancellation.check()
    if !pending.isEmpty { return pending.removeFirst() }
    if isAtEnd { return nil }
    if let large { return try piece(of: large) }
    while let member = try reader.next() {
      try cancellation.check()
      switch member {
      case .unusable(let error):
        stopIfDamaged(error)
        return .problem(error.path == nil ? error.at(name) : error)
      case .entry(let entry):
        guard planner.chooses(entry.path, isDirectory: entry.kind == .directory) else { continue }
        return try step(for: entry)
      }
    }
    try reader.drain()
    isAtEnd = true
    return .note(.remarks(reader.remarks))
  }

  private func step(for entry: ArchiveEntry) throws(BatchError) -> ExtractionItem.Step {
    let turn: MemberClaims.Turn
    do throws(BatchError) {
      // A hard link that comes with its content is made as a file.
      let kind = entry.kind == .hardLink && entry.size > 0 ? .file : entry.kind
      switch try planner.claim(entry.path, kind) {
      case .made(let claimed): turn = claimed
      case .belowRefused: return .belowRefused
      case .passed: return .passed
      }
    } catch {
      return .problem(error)
    }
    try reader.count(folders: planner.bytesOfFolders)
    var order: ExtractionOrder
    do throws(BatchError) {
      guard let found = try planner.selection.order(for: entry, turn: turn) else { return .passed }
      order = found
      order.digest = try planner.selection.names?.digest(for: entry)
    } catch {
      // Where the last member of a name is refused, nothing of an earlier one stays.
      guard let place = planner.selection.place(of: entry.path) else { return .problem(error) }
      return .lost(ExtractionOrder(entry: entry, place: place, turn: turn), error)
    }
    guard entry.kind == .file || entry.kind == .hardLink, entry.size > 0 else { return .member(order, []) }
    guard entry.dataMap == nil, entry.size <= Self.largestContent else {
      large = order
      return .begin(order)
    }
    var bytes = [UInt8]()
    bytes.reserveCapacity(Int(entry.size))
    do throws(BatchError) {
      try reader.readContent { (piece, offset) throws(BatchError) in
        guard offset == UInt64(bytes.count), UInt64(bytes.count + piece.count) <= entry.size else {
          throw BatchError(.malformed, "damaged: there is more content than its size says")
        }
        bytes.append(contentsOf: piece)
      }
    } catch {
      try rethrow(error)
      stopIfDamaged(error)
      return .lost(order, error.at(entry.path))
    }
    return .member(order, bytes)
  }

  private func piece(of order: ExtractionOrder) throws(BatchError) -> ExtractionItem.Step {
    do throws(BatchError) {
      if rest == nil { rest = try reader.nextPiece() }
      guard let (bytes, offset) = rest else {
        large = nil
        return .end(nil)
      }
      let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.largestPiece))
      let left = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(piece.count))
      rest = left.isEmpty ? nil : (left, offset + UInt64(piece.count))
      return .piece(Array(piece), offset: offset)
    } catch {
      large = nil
      try rethrow(error)
      stopIfDamaged(error)
      return .end(error.at(order.entry.path))
    }
  }

  private func stopIfDamaged(_ error: BatchError) {
    guard error.code == .malformed, !keepsGoing else { return }
    pending.append(.note(.stop))
    isAtEnd = true
  }

  /// Limits and a run that is stopped end everything; what else is wrong with one member does not.
  private func rethrow(_ error: BatchError) throws(BatchError) {
    if error.code == .exhausted || error.code == .cancelled { throw error }
    try cancellation.check()
  }
}
