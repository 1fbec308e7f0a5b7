import BatchEngine
import BatchOutputs

/// Compares records with the files of a folder, on one lane.
final class LiveComparison {
  private let live: LiveTree
  private let reportsRot: Bool
  private let countsBytes: Bool
  private let owners = OwnerNames()
  /// One stream for each algorithm so far.
  private var streams: [DigestAlgorithm: DigestStream] = [:]
  /// The folder of the last file: files in one folder share the object, so that the reader can keep the folder open.
  private var home: DirectoryPath?

  /// - Parameters:
  ///   - reportsRot: whether changed content with the recorded size and time is `rot`, not `modified`.
  ///   - countsBytes: whether bytes read from the folder are counted, in addition to those of the record.
  init(_ live: LiveTree, reportsRot: Bool = false, countsBytes: Bool = true) {
    self.live = live
    self.reportsRot = reportsRot
    self.countsBytes = countsBytes
  }

  enum Outcome {
    case compared(Difference?)
    /// A recorded hard link that is a separate file with this SHA-256. Whether that is the content of its recorded target is
    /// decided later, when all earlier records are known: ``RecordedDigests``.
    case separate(Difference.Aspect, target: RelativePath, content: Digest)
    /// The comparison failed, which has been reported and counted.
    case reported
  }

  /// Compares the record of one path. A regular file is read if a digest is recorded and the size is equal.
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
    if record.isHardLink { return try compareLink(record, at: place, found: found, in: context) }
    guard found.status.kind == record.kind else {
      let aspect = Difference.Aspect(.kind, record.kind.word, found.status.kind.word)
      return .compared(Difference(.type, [aspect]))
    }
    var now = RecordedPath(record.path, found)
    if record.kind == .regular, let digest = record.digest, record.size == nil || record.size == now.size {
      guard let (digest, outcome) = try read(place, found: found, algorithm: digest.algorithm, in: context)
      else {
        return .reported
      }
      now.take(outcome)
      now.digest = digest
    }
    let isSeparate = record.firstName.map { !isLink(found, of: $0) } ?? false
    return .compared(
      record.difference(to: now, isSeparate: isSeparate, reportsRot: reportsRot, owners: owners))
  }

  /// Creates a record of the file at a place. If the file cannot be read, that is reported and the record has no digest.
  ///
  /// - Returns: nil if the path is gone or cannot be examined, which has been reported, and for a kind that no archive can contain.
  func record(
    at place: RelativePath, _ algorithm: DigestAlgorithm, in context: WorkerContext
  ) throws(BatchError) -> (record: RecordedPath, identity: FileIdentity, linkCount: UInt64)? {
    let found: LiveTree.Found?
    do throws(BatchError) {
      found = try live.look(at: place)
    } catch {
      context.report(Problem(.unreadable, error))
      return nil
    }
    guard let found, found.status.kind != .socket, found.status.kind != .unknown else { return nil }
    var record = RecordedPath(PathBytes(place.bytes.isEmpty ? Array(".".utf8) : place.bytes), found)
    if record.kind == .regular,
      let (digest, status) = try read(place, found: found, algorithm: algorithm, in: context)
    {
      record.take(status)
      record.digest = digest
    }
    return (record, found.status.identity, found.status.linkCount)
  }

  /// Whether the file is still a hard link to `name`; true if `name` does not exist, which is reported separately.
  private func isLink(_ found: LiveTree.Found, of name: PathBytes) -> Bool {
    guard let place = try? RelativePath(name), let first = try? live.look(at: place) else { return true }
    return first.status.identity == found.status.identity
  }

  /// - Returns: nil when it could not be read, which has been reported.
  private func read(
    _ place: RelativePath, found: LiveTree.Found, algorithm: DigestAlgorithm, in context: WorkerContext
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
      followsLinks: live.isSource(place))
    guard let found = try stream(algorithm).digest(of: file, in: context) else { return nil }
    if !countsBytes { context.count(bytes: -Int(clamping: found.status.size)) }
    return found
  }

  private func stream(_ algorithm: DigestAlgorithm) throws(BatchError) -> DigestStream {
    if let known = streams[algorithm] { return known }
    let made = try DigestStream(algorithm)
    streams[algorithm] = made
    return made
  }

  /// Compares a further name of a file: the content is compared under its first name.
  private func compareLink(
    _ record: RecordedPath, at place: RelativePath, found: LiveTree.Found, in context: WorkerContext
  ) throws(BatchError) -> Outcome {
    // The index does not store the target of a damaged link.
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
    guard let (now, _) = try read(place, found: found, algorithm: .sha256, in: context) else {
      return .reported
    }
    return .separate(
      Difference.Aspect(.target, .text(name.bytes), .text([])), target: target, content: now)
  }
}

extension RecordedPath {
  /// A record of the file at a path, without its content.
  fileprivate init(_ path: PathBytes, _ found: LiveTree.Found) {
    self.init(path, found.status.kind)
    take(found.status)
    owner = Owner(number: found.status.owner)
    group = Owner(number: found.status.group)
    linkTarget = found.target
    attributes = found.attributes
    if kind == .characterDevice || kind == .blockDevice { device = DeviceNumber(found.status.device) }
  }

  fileprivate mutating func take(_ status: FileStatus) {
    if kind == .regular { size = UInt64(clamping: status.size) }
    mode = status.mode & 0o7777
    modified = status.modified
  }
}

extension FileStatus.Kind {
  /// The name of a hard link in results.
  static let hardLinkWord = "hard_link"

  /// The name of the kind in results.
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
