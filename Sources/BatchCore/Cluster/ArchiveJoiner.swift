import BatchEngine

/// Joins the archive parts of shards to one archive: frames are copied unchanged; the index, the seek table and the end are written
/// new.
///
/// A frame is decoded only where a hard link in it refers to a file that another shard could not archive.
package final class ArchiveJoiner {
  private let options: ArchiveOptions
  private let archive: ArchiveAssembler
  private let cancellation: Cancellation
  private let report: ([ArchivedMember]) -> Void
  private let refused: (Problem) -> Void
  /// Files of the plan whose first names are not in the archive.
  private var missing: Set<FileIdentity> = []
  /// A frame whose members may follow.
  private var held: StoredFrame?
  /// The new number of each frame of the shard; nil for a frame that has become empty.
  private var numbers: [UInt32?] = []

  /// - Parameter refused: receives a link that cannot be created.
  package init(
    _ options: ArchiveOptions, output: any ResultStream, _ run: RunContext,
    report: @escaping ([ArchivedMember]) -> Void, refused: @escaping (Problem) -> Void
  ) throws(BatchError) {
    self.options = options
    archive = try ArchiveAssembler(
      options, stream: output, buffers: FrameBuffers(), run.concurrency)
    cancellation = run.cancellation
    self.report = report
    self.refused = refused
  }

  /// Appends the part of the next shard.
  ///
  /// - Parameter problem: receives the problems that the shard reported.
  package func append(
    _ result: ShardResultReader, problem: (Problem, Severity) throws(BatchError) -> Void
  ) throws(BatchError) {
    numbers = []
    try result.forEach { (place) throws(BatchError) in
      try cancellation.check()
      do throws(BatchError) {
        switch place.kind {
        case .frame:
          try release()
          held = try frame(place.content, of: result)
        case .members:
          let (number, members) = try ShardMembers.read(try result.read(place.content))
          try append(members, frame: number)
        case .lost:
          var reader = LittleEndianReader(try result.read(place.content)[...])
          guard let device = reader.number(UInt64.self), let inode = reader.number(UInt64.self)
          else {
            throw BatchError(.malformed, "has a piece that is not valid")
          }
          missing.insert(FileIdentity(device: device, inode: inode))
        case .problem:
          let (found, severity) = try result.problem(place)
          try problem(found, severity)
        case .rows, .end: break
        }
      } catch {
        throw error.path == nil ? error.at(result.path) : error
      }
    }
    try release()
  }

  package func finish() throws(BatchError) { _ = try archive.finish() }

  private func frame(
    _ piece: Range<UInt64>, of result: ShardResultReader
  ) throws(BatchError) -> StoredFrame {
    guard piece.count >= StoredFrame.headSize else { throw Self.invalidFrame }
    let content = (piece.lowerBound + UInt64(StoredFrame.headSize))..<piece.upperBound
    var head = LittleEndianReader(try result.read(piece.lowerBound..<content.lowerBound)[...])
    guard let plainSize = head.number(UInt64.self), let check = head.number(UInt32.self) else {
      throw Self.invalidFrame
    }
    return StoredFrame(file: result, content: content, plainSize: plainSize, check: check)
  }

  private static var invalidFrame: BatchError {
    BatchError(.malformed, "has a frame that is not valid")
  }

  /// Appends a frame in which no member begins.
  private func release() throws(BatchError) {
    guard let frame = held.take() else { return }
    numbers.append(try adopt(frame))
  }

  private func adopt(_ frame: StoredFrame) throws(BatchError) -> UInt32 {
    try archive.adopt(
      frame.content, of: frame.file.raw, plainSize: frame.plainSize, check: frame.check
    ) { (range) throws(BatchError) in try frame.file.read(range) }
  }

  private func append(_ members: [ArchivedMember], frame number: UInt32) throws(BatchError) {
    if let frame = held, Int(number) == numbers.count {
      held = nil
      var (kept, made) = (members, ArchiveFrame?.none)
      let unusable = members.danglingLinks(to: missing)
      if !unusable.isEmpty {
        for index in unusable { refused(.dangling(members[index].path)) }
        let whole = ArchiveFrame(
          bytes: try frame.file.read(frame.content), plainSize: frame.plainSize)
        guard whole.check == frame.check else { throw Self.invalidFrame }
        let (rest, left) = try SegmentRewriter(options: options).removing(unusable, from: whole, members)
        guard let rest else { return numbers.append(nil) }
        (made, kept) = (rest, left)
      }
      let place = if let made { try archive.adopt(made) } else { try adopt(frame) }
      numbers.append(place)
      for member in kept { try archive.adopt(member, frame: place) }
      return report(kept)
    }
    try release()
    guard Int(number) < numbers.count, let place = numbers[Int(number)] else {
      throw BatchError(.malformed, "has members of a frame that is not there")
    }
    for member in members { try archive.adopt(member, frame: place) }
    report(members)
  }
}

/// A frame in the result of a shard.
struct StoredFrame {
  /// The size of the head before the bytes: the decoded size, and the CRC-32 of the bytes.
  static let headSize = 12

  let file: ShardResultReader
  let content: Range<UInt64>
  let plainSize: UInt64
  let check: UInt32
}
