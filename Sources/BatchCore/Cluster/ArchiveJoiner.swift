import BatchEngine

/// Makes one archive of the parts that shards made: frames are copied as they are, and the index, the seek table and the end are made
/// anew.
///
/// A frame is decoded only where a hard link in it refers to a file that another shard could not archive.
package final class ArchiveJoiner {
  private let options: ArchiveOptions
  private let archive: ArchiveAssembler
  private let cancellation: Cancellation
  private let report: ([ArchivedMember]) -> Void
  private let refused: (Problem) -> Void
  /// Files that are not in the archive under their first names, as the plan knows them.
  private var missing: Set<FileIdentity> = []
  /// A frame whose members may follow.
  private var held: ArchiveFrame?
  /// What became of the frames of the shard; nil where nothing is left of one.
  private var numbers: [UInt32?] = []

  /// - Parameters:
  ///   - report: told of the members.
  ///   - refused: told of a link that cannot be made.
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

  /// Takes the part of the next shard.
  ///
  /// - Parameter problem: takes what the shard reported.
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
          held = try frame(try result.read(place.content))
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

  /// Writes the end of the archive.
  package func finish() throws(BatchError) { _ = try archive.finish() }

  private func frame(_ piece: [UInt8]) throws(BatchError) -> ArchiveFrame {
    var reader = LittleEndianReader(piece[...])
    guard let plainSize = reader.number(UInt64.self), let bytes = reader.take(reader.rest) else {
      throw BatchError(.malformed, "has a frame that is not valid")
    }
    return ArchiveFrame(bytes: Array(bytes), plainSize: plainSize)
  }

  /// Appends a frame without members of its own.
  private func release() throws(BatchError) {
    guard let frame = held.take() else { return }
    numbers.append(try archive.adopt(frame))
  }

  private func append(_ members: [ArchivedMember], frame number: UInt32) throws(BatchError) {
    if var frame = held, Int(number) == numbers.count {
      held = nil
      var kept = members
      let unusable = missing.isEmpty ? [] : members.indices.filter { isDangling(members[$0]) }
      if !unusable.isEmpty {
        for index in unusable { refuse(members[index].path) }
        let (rest, left) = try SegmentCut(options).removing(unusable, from: frame, members)
        guard let rest else { return numbers.append(nil) }
        (frame, kept) = (rest, left)
      }
      let place = try archive.adopt(frame)
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

  private func isDangling(_ member: ArchivedMember) -> Bool {
    guard member.kind == .hardLink, let identity = member.identity else { return false }
    return missing.contains(identity)
  }

  private func refuse(_ path: PathBytes) {
    refused(
      Problem(
        .unreadable,
        BatchError(
          .unreadable, "is one more name of a file that could not be archived under its first one",
          path: path
        )))
  }
}
