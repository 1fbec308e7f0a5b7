import BatchEngine

/// Reads an archive from its beginning to its end and makes items of its members.
///
/// Small files are handed over with their content; a large one is written here while it is read, since it is
/// decoded here, too, and by one thread.
final class MemberFeed {
  private static let largestContent: UInt64 = 1 << 20

  private let extraction: Extraction
  private let reader: ArchiveReader
  private let lane: ExtractionLane

  /// - Parameter end: behind it there are no members.
  /// - Throws: `malformed` when the file is no archive.
  init(_ extraction: Extraction, upTo end: UInt64?) throws(BatchError) {
    self.extraction = extraction
    let archive = extraction.archive
    let content = try FileContent(archive, upTo: end)
    reader = try ArchiveReader(content, name: archive.path, limits: extraction.options.limits)
    lane = extraction.makeLane()
  }

  /// - Throws: what ends the reading.
  func next() throws(BatchError) -> ExtractionItem? {
    while let member = try reader.next() {
      try extraction.archive.cancellation.check()
      switch member {
      case .unusable(let error): return problem(error)
      case .entry(let entry):
        guard extraction.planner.chooses(entry.path, isDirectory: entry.kind == .directory) else { continue }
        return try item(of: entry)
      }
    }
    try reader.drain()
    extraction.add(remarks: reader.remarks)
    return nil
  }

  private func item(of entry: ArchiveEntry) throws(BatchError) -> ExtractionItem {
    let turn: MemberClaims.Turn
    do throws(BatchError) {
      // A hard link that comes with its content is made as a file.
      let kind = entry.kind == .hardLink && entry.size > 0 ? .file : entry.kind
      guard let claimed = try extraction.planner.claim(entry.path, kind) else {
        return ExtractionItem(step: .passed)
      }
      turn = claimed
    } catch {
      return ExtractionItem(step: .problem(error))
    }
    let order: ExtractionOrder
    do throws(BatchError) {
      guard let found = try extraction.planner.order(for: entry, turn: turn) else {
        return ExtractionItem(step: .passed)
      }
      order = found
    } catch {
      // Where the last member of a name is refused, nothing of an earlier one stays.
      guard let place = extraction.planner.place(of: entry.path) else {
        return ExtractionItem(step: .problem(error))
      }
      return ExtractionItem(step: .lost(ExtractionOrder(entry: entry, place: place, turn: turn), error))
    }
    guard entry.kind == .file || entry.kind == .hardLink, entry.size > 0 else {
      return ExtractionItem(step: .member(order, []))
    }
    guard entry.dataMap == nil, entry.size <= Self.largestContent else {
      let before = reader.plainCount
      if order.turn != .any { return try stage(order, after: before) }
      let verdict = try extractHere(order)
      if case .failed(let error) = verdict { stopIfDamaged(error) }
      let bytes = Int(clamping: reader.plainCount - before)
      return ExtractionItem(step: .settled(order, verdict, bytes: bytes))
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
      return ExtractionItem(step: .lost(order, error.at(entry.path)))
    }
    return ExtractionItem(step: .member(order, bytes))
  }

  private func stage(_ order: ExtractionOrder, after before: UInt64) throws(BatchError) -> ExtractionItem {
    do throws(BatchError) {
      let file = try lane.stage(order) { write throws(BatchError) in try reader.readContent(write) }
      return ExtractionItem(
        step: .staged(order, file, bytes: Int(clamping: reader.plainCount - before)))
    } catch {
      try rethrow(error)
      stopIfDamaged(error)
      return ExtractionItem(step: .lost(order, error.at(order.entry.path)))
    }
  }

  private func extractHere(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    var fatal: BatchError?
    let verdict = lane.extract(order) { write throws(BatchError) in
      do throws(BatchError) {
        try reader.readContent(write)
      } catch {
        do throws(BatchError) { try rethrow(error) } catch { fatal = error }
        throw error
      }
    }
    // Held until the next member, the folder would be one descriptor that nobody counts.
    lane.closeFolder()
    if let fatal { throw fatal }
    return verdict
  }

  private func problem(_ error: BatchError) -> ExtractionItem {
    stopIfDamaged(error)
    return ExtractionItem(step: .problem(error.path == nil ? error.at(extraction.archive.path) : error))
  }

  private func stopIfDamaged(_ error: BatchError) {
    if error.code == .malformed, !extraction.options.keepsGoing { extraction.endEarly() }
  }

  /// Limits and a run that is stopped end everything; what else is wrong with one member does not.
  private func rethrow(_ error: BatchError) throws(BatchError) {
    if error.code == .exhausted || error.code == .cancelled { throw error }
    try extraction.archive.cancellation.check()
  }
}
