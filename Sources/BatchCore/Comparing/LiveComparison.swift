import BatchEngine
import BatchOutputs

/// Compares what a record holds of paths with what lies in a folder, on one lane.
final class LiveComparison {
  private let live: LiveTree
  private let reportsRot: Bool
  private let owners = OwnerNames()
  /// One for each algorithm that was met.
  private var streams: [DigestAlgorithm: DigestStream] = [:]
  /// The folder of the last file: one object for neighbours lets the reader keep it open.
  private var home: DirectoryPath?

  /// - Parameter reportsRot: whether other bytes under the recorded size and time are `rot`, and not `modified`.
  init(_ live: LiveTree, reportsRot: Bool = false) {
    self.live = live
    self.reportsRot = reportsRot
  }

  /// What came of a comparison.
  enum Outcome {
    case compared(Difference?)
    /// A further name that is a file of its own, with this SHA-256. Whether that is the content of the file that it was a
    /// name of is decided where all that was recorded before it is known: ``RecordedDigests``.
    case separate(Difference.Aspect, target: RelativePath, content: Digest)
    /// It could not be made, which has been reported and counted.
    case reported
  }

  /// Compares what is recorded of one path. A regular file is read where a digest is recorded and the size is the same.
  ///
  /// - Throws: what ends the run.
  func compare(_ record: RecordedPath, in context: WorkerContext) throws(BatchError) -> Outcome {
    let place: RelativePath
    let found: LiveTree.Found?
    do throws(BatchError) {
      place = try RelativePath(record.path)
      found = try live.look(at: place, withAttributes: record.attributes != nil && !record.isHardLink)
    } catch {
      context.report(Problem(.unreadable, error))
      return .reported
    }
    guard let found else { return .compared(Difference(.missing)) }
    if record.isHardLink { return try compareLink(record, place, found, context) }
    guard found.status.kind == record.kind else {
      let aspect = Difference.Aspect(.kind, record.kind.word, found.status.kind.word)
      return .compared(Difference(.type, [aspect]))
    }
    var status = found.status
    var content = [Difference.Aspect]()
    if record.kind == .regular {
      let size = UInt64(clamping: status.size)
      if let recorded = record.size, recorded != size {
        content.append(Difference.Aspect(.size, .number(recorded), .number(size)))
      } else if let digest = record.digest {
        guard let (now, outcome) = try read(place, found, digest.algorithm, context) else {
          return .reported
        }
        status = outcome
        if now != digest { content.append(Difference.Aspect(.content, .digest(digest), .digest(now))) }
      }
    }
    var others = metadata(of: record, status, found)
    if let first = record.firstName, !isLink(found, of: first) {
      others.append(Difference.Aspect(.target, .text(first.bytes), .text([])))
    }
    let hasTime = record.hasTime(status.modified)
    if let modified = record.modified, !hasTime {
      others.append(Difference.Aspect(.mtime, .time(modified), .time(status.modified)))
    }
    if !content.isEmpty {
      let isRot =
        reportsRot && record.modified != nil && hasTime && content.allSatisfy { $0.name == .content }
      return .compared(Difference(isRot ? .rot : .modified, content + others))
    }
    guard !others.isEmpty else { return .compared(nil) }
    let isTouched = record.kind == .regular && others.count == 1 && !hasTime
    return .compared(Difference(isTouched ? .touched : .metadata, others))
  }

  /// Whether a file is still the one of another name; true where nothing has that name, which is told of it.
  private func isLink(_ found: LiveTree.Found, of name: PathBytes) -> Bool {
    guard let place = try? RelativePath(name), let first = try? live.look(at: place) else { return true }
    return first.status.identity == found.status.identity
  }

  /// - Returns: nil when it could not be read, which has been reported.
  private func read(
    _ place: RelativePath, _ found: LiveTree.Found, _ algorithm: DigestAlgorithm, _ context: WorkerContext
  ) throws(BatchError) -> (Digest, FileStatus)? {
    let start = live.path.appending([])
    let prefix = place.parent.isEmpty ? start : PathBytes(start.bytes + place.parent + [UInt8(ascii: "/")])
    if home?.prefix != prefix || home?.identity != found.folder {
      home = DirectoryPath(
        prefix: prefix.bytes, operandLength: start.bytes.count, identity: found.folder, depth: 1)
    }
    guard let home else { return nil }
    let file = FileRecord(
      directory: home, names: NameArena(name: place.name.bytes), nameOffset: 0, status: found.status,
      followsLinks: false)
    let digests = try stream(algorithm)
    let outcome = try context.read(file, isCounted: false) {
      digests.reset()
    } consume: { (piece) throws(BatchError) in
      try digests.update(piece)
    }
    guard let outcome else { return nil }
    return (try digests.finish(), outcome.status)
  }

  private func stream(_ algorithm: DigestAlgorithm) throws(BatchError) -> DigestStream {
    if let known = streams[algorithm] { return known }
    let made = try DigestStream(algorithm)
    streams[algorithm] = made
    return made
  }

  /// A further name of a file: the file is compared under its first one.
  private func compareLink(
    _ record: RecordedPath, _ place: RelativePath, _ found: LiveTree.Found, _ context: WorkerContext
  ) throws(BatchError) -> Outcome {
    // The index of an archive does not tell what a damaged one led to.
    guard let name = record.linkTarget, let target = try? RelativePath(name) else { return .compared(nil) }
    let first: LiveTree.Found?
    do throws(BatchError) {
      first = try live.look(at: target)
    } catch {
      context.report(Problem(.unreadable, error))
      return .reported
    }
    if first?.status.identity == found.status.identity { return .compared(nil) }
    guard found.status.kind == .regular else {
      let aspect = Difference.Aspect(.kind, FileStatus.Kind.hardLinkWord, found.status.kind.word)
      return .compared(Difference(.type, [aspect]))
    }
    guard let (now, _) = try read(place, found, .sha256, context) else { return .reported }
    return .separate(
      Difference.Aspect(.target, .text(name.bytes), .text([])), target: target, content: now)
  }

  // MARK: Metadata

  private func metadata(
    of record: RecordedPath, _ status: FileStatus, _ found: LiveTree.Found
  ) -> [Difference.Aspect] {
    var aspects = [Difference.Aspect]()
    let mode = status.mode & 0o7777
    if let recorded = record.mode, record.kind != .symbolicLink, recorded != mode {
      aspects.append(Difference.Aspect(.mode, Self.octal(recorded), Self.octal(mode)))
    }
    add(.owner, record.owner, status.owner, owners.user, to: &aspects)
    add(.group, record.group, status.group, owners.group, to: &aspects)
    if let recorded = record.attributes, let live = found.attributes,
      let aspect = Self.aspect(of: recorded, live)
    {
      aspects.append(aspect)
    }
    if record.kind == .symbolicLink, let recorded = record.linkTarget, recorded != found.target {
      aspects.append(
        Difference.Aspect(.target, .text(recorded.bytes), .text(found.target?.bytes ?? [])))
    }
    if let recorded = record.device, recorded != DeviceNumber(status.device) {
      let live = DeviceNumber(status.device)
      aspects.append(
        Difference.Aspect(.device, "\(recorded.major),\(recorded.minor)", "\(live.major),\(live.minor)"))
    }
    return aspects
  }

  /// An owner is the same by number, or by name where this system has other numbers.
  private func add(
    _ aspect: Difference.Aspect.Name, _ recorded: RecordedPath.Owner?, _ now: UInt32,
    _ name: (UInt32) -> [UInt8], to aspects: inout [Difference.Aspect]
  ) {
    guard let recorded, recorded.number != now else { return }
    let known = name(now)
    guard recorded.name.isEmpty || recorded.name != known else { return }
    func text(_ name: [UInt8], _ number: UInt32) -> Difference.Aspect.Value {
      .text(name.isEmpty ? Array("\(number)".utf8) : name)
    }
    aspects.append(Difference.Aspect(aspect, text(recorded.name, recorded.number), text(known, now)))
  }

  /// The names of attributes that only one side has, or each side with another value; nil for none.
  private static func aspect(
    of recorded: [ExtendedAttribute], _ live: [ExtendedAttribute]
  ) -> Difference.Aspect? {
    // Those of the superuser are seen by the superuser alone.
    func visible(_ attributes: [ExtendedAttribute]) -> Set<ExtendedAttribute> {
      Set(attributes.filter { StandardStreams.isRoot || !$0.name.starts(with: "trusted.".utf8) })
    }
    func names(_ attributes: Set<ExtendedAttribute>) -> Difference.Aspect.Value {
      let names = attributes.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
      return .text(Array(names.joined(separator: [UInt8(ascii: " ")])))
    }
    let (old, new) = (visible(recorded), visible(live))
    guard old != new else { return nil }
    return Difference.Aspect(.xattrs, names(old.subtracting(new)), names(new.subtracting(old)))
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }
}

extension FileStatus.Kind {
  /// What a further name of a file is called in results.
  static let hardLinkWord = "hard_link"

  /// What the kind is called in results.
  package var word: String {
    switch self {
    case .regular: "file"
    case .directory: "directory"
    case .symbolicLink: "symbolic_link"
    case .fifo: "fifo"
    case .characterDevice: "character_device"
    case .blockDevice: "block_device"
    case .socket: "socket"
    case .unknown: "unknown"
    }
  }
}
