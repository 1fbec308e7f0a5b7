import BatchEngine

/// Writes the contents of members to a stream, in the order of the archive.
package final class MemberPrinting {
  /// What it came to.
  package struct Result: Sendable {
    package var written = 0
    package var failed = 0
    /// Whether reading ended before the archive did.
    package var isCutShort = false
    /// Whether a part of the archive is damaged.
    package var isDamaged = false
    /// What is odd about the archive, and did not keep a member from being read.
    package var remarks: [String] = []
    /// Whether the file was recognised as an archive.
    fileprivate var hasBegun = false
  }

  private static let pieceSize = 256 << 10

  private let archive: ArchiveFile
  private let planner: ExtractionPlanner
  private let limits: ArchiveLimits
  private let memory: Int
  private let stream: any ResultStream
  private let right: ReadingRight

  /// - Parameter memory: what the index of the archive may take, in bytes.
  /// - Throws: `invalid` for a pattern that can never match.
  package init(
    _ archive: ArchiveFile, globs: [PathBytes], filter: PathFilter? = nil, limits: ArchiveLimits,
    memory: Int = BatchOptions().memory, to stream: any ResultStream, by right: ReadingRight
  ) throws(BatchError) {
    self.archive = archive
    self.limits = limits
    self.memory = memory
    self.stream = stream
    self.right = right
    planner = ExtractionPlanner(try MemberSelection(globs: globs, filter: filter), globs: globs)
  }

  /// Patterns that no member matched.
  package var unmatched: [PathBytes] { planner.unmatched }

  /// - Parameter problem: takes what cannot be read.
  /// - Throws: what the stream throws, and the reason of a run that is stopped.
  package func run(problem: (BatchError) -> Void) throws(BatchError) -> Result {
    var result = Result()
    do throws(BatchError) {
      let open = try OpenArchive(archive, checks: false, memory: memory, by: right)
      if let indexed = open.index {
        try printSegments(of: indexed, &result)
      } else {
        try printMembers(of: open, &result, problem)
      }
    } catch {
      try archive.cancellation.check()
      if error.code == .closedOutput || error.code == .unwritable { throw error }
      result.isCutShort = true
      result.isDamaged = result.hasBegun && error.code == .malformed
      problem(error)
    }
    return result
  }

  private func printSegments(of indexed: IndexedArchive, _ result: inout Result) throws(BatchError) {
    result.hasBegun = true
    var plans = try SegmentPlanner(indexed, planner: planner, limits: limits, claims: false)
    var segment = SegmentReader(
      archive: indexed, loader: try FrameLoader(indexed.file, indexed.format, by: right))
    while let plan = try plans.next() {
      var choices = plan.choices[...]
      try segment.read(plan.group, plan.members, limits: limits) {
        (number, _, entry, reader) throws(BatchError) in
        guard choices.first?.number == number else { return }
        choices = choices.dropFirst()
        if entry.kind == .file {
          try write(entry, reader)
          result.written += 1
        }
      }
    }
  }

  private func printMembers(
    of open: OpenArchive, _ result: inout Result, _ problem: (BatchError) -> Void
  ) throws(BatchError) {
    let reader = try open.reader(limits: limits)
    result.hasBegun = true
    while let member = try reader.next() {
      switch member {
      case .unusable(let error):
        result.failed += 1
        problem(error.path == nil ? error.at(archive.path) : error)
        if error.code == .malformed { result.isCutShort = true }
      case .entry(let entry):
        guard planner.chooses(entry.path, isDirectory: entry.kind == .directory), entry.kind == .file else {
          continue
        }
        do throws(BatchError) {
          try write(entry, reader)
          result.written += 1
        } catch {
          guard error.code == .unsupported else { throw error }
          result.failed += 1
          problem(error.at(entry.path))
        }
      }
    }
    try reader.drain()
    result.remarks += reader.remarks
  }

  private func write(_ entry: ArchiveEntry, _ reader: any MemberReader) throws(BatchError) {
    var end: UInt64 = 0
    try reader.readContent { (piece, offset) throws(BatchError) in
      try writeZeros(offset - end)
      try stream.write(Array(piece))
      end = offset + UInt64(piece.count)
    }
    if end < entry.size { try writeZeros(entry.size - end) }
  }

  private func writeZeros(_ count: UInt64) throws(BatchError) {
    var rest = count
    while rest > 0 {
      try archive.cancellation.check()
      let piece = Int(min(rest, UInt64(Self.pieceSize)))
      try stream.write([UInt8](repeating: 0, count: piece))
      rest -= UInt64(piece)
    }
  }
}
