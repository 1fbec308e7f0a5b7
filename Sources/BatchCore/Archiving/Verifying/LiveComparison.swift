import BatchEngine
import Glibc

/// Compares members with what lies in a folder, on one lane. No symbolic link is followed below the folder.
final class LiveComparison {
  /// What lies under the name of a member.
  private struct Found {
    let status: FileStatus
    let target: PathBytes?
    /// Of a file or directory, where they are compared.
    var attributes: [ExtendedAttribute]?
    let folder: FileIdentity
  }

  private let live: LiveTree
  private let calls: any FileSystemCalls
  private let owners = OwnerNames()
  private let digests: DigestStream
  /// The folder of the last member: one object for neighbours lets the reader keep it open.
  private var home: DirectoryPath?

  init(_ live: LiveTree, calls: any FileSystemCalls) throws(BatchError) {
    self.live = live
    self.calls = calls
    digests = try DigestStream(.sha256)
  }

  /// What came of a comparison.
  enum Outcome {
    case compared(LiveDifference?)
    /// A further name that is a file of its own, with this content. Whether that is the content of the member that it
    /// leads to is decided where all members before it are known.
    case separate(LiveDifference.Aspect, target: MemberPath, content: Digest)
    /// It could not be made, which has been reported and counted.
    case reported
  }

  /// - Throws: what ends the run.
  func compare(_ member: ComparedMember, in context: ChunkContext) throws(BatchError) -> Outcome {
    let place: MemberPath
    let found: Found?
    do throws(BatchError) {
      place = try MemberPath(member.path)
      found = try look(at: place, withAttributes: member.tellsAttributes)
    } catch {
      context.report(Problem(.unreadable, error))
      return .reported
    }
    guard let found else { return .compared(LiveDifference(.missing)) }
    if member.kind == .hardLink { return try compareLink(member, place, found, context) }
    guard let kind = ArchiveEntry.Kind(found.status.kind), kind == member.kind else {
      let aspect = LiveDifference.Aspect(.kind, member.kind.word, found.status.kind.word)
      return .compared(LiveDifference(.type, [aspect]))
    }
    var status = found.status
    var content = [LiveDifference.Aspect]()
    if kind == .file {
      if member.size != UInt64(clamping: status.size) {
        content.append(LiveDifference.Aspect(.size, "\(member.size)", "\(status.size)"))
      } else if let digest = member.digest {
        guard let (now, outcome) = try read(place, found, context) else { return .reported }
        status = outcome
        if now != digest { content.append(LiveDifference.Aspect(.sha256, digest.hex, now.hex)) }
      }
    }
    var others = metadata(of: member, status, found)
    let hasTime = member.hasTime(status.modified)
    if !hasTime {
      others.append(
        LiveDifference.Aspect(.mtime, archived: .time(member.modified), live: .time(status.modified)))
    }
    if !content.isEmpty { return .compared(LiveDifference(.modified, content + others)) }
    guard !others.isEmpty else { return .compared(nil) }
    let isTouched = kind == .file && others.count == 1 && !hasTime
    return .compared(LiveDifference(isTouched ? .touched : .metadata, others))
  }

  // MARK: Looking

  /// - Returns: nil for what is not there, or only behind a link.
  private func look(at place: MemberPath, withAttributes: Bool = false) throws(BatchError) -> Found? {
    do throws(BatchError) {
      let folder = try live.folder.open(place.parent, creating: false)
      let home = try calls.status(of: folder)
      guard !place.bytes.isEmpty else { return Found(status: home, target: nil, folder: home.identity) }
      var raw = stat()
      let number = folder.raw
      let result = place.name.withCString {
        calls.status(of: $0, at: number, followingLinks: false, into: &raw)
      }
      if result == -ENOENT { return nil }
      guard result == 0 else { throw .syscall("find", errno: -result) }
      let status = FileStatus(raw)
      let target =
        status.kind == .symbolicLink ? try LinkTarget.read(place.name, in: number) : nil
      var attributes: [ExtendedAttribute]?
      if withAttributes, status.kind == .regular || status.kind == .directory {
        attributes = place.name.withCString {
          AttributeReader.attributes(of: $0, in: number, followingLinks: false)
        }
      }
      return Found(status: status, target: target, attributes: attributes, folder: home.identity)
    } catch {
      // A link or a file in the place of a folder: what was below it is not there.
      if error.code == .invalid || error.errno == ENOENT { return nil }
      throw error.recoded(.unreadable).at(live.path(of: place))
    }
  }

  /// - Returns: nil when it could not be read, which has been reported.
  private func read(
    _ place: MemberPath, _ found: Found, _ context: ChunkContext
  ) throws(BatchError) -> (Digest, FileStatus)? {
    let start = live.path.appending([])
    let prefix = place.parent.isEmpty ? start : PathBytes(start.bytes + place.parent + [UInt8(ascii: "/")])
    if home?.prefix != prefix || home?.identity != found.folder {
      home = DirectoryPath(
        prefix: prefix.bytes, operandLength: start.bytes.count, identity: found.folder, depth: 1)
    }
    guard let home else { return nil }
    let record = FileRecord(
      directory: home, names: NameArena(name: place.name.bytes), nameOffset: 0, status: found.status,
      followsLinks: false)
    let outcome = try context.read(record, isCounted: false) {
      digests.reset()
    } consume: { (piece) throws(BatchError) in
      try digests.update(piece)
    }
    guard let outcome else { return nil }
    return (try digests.finish(), outcome.status)
  }

  // MARK: Comparing

  /// A further name of a file: the file is compared under its first one.
  private func compareLink(
    _ member: ComparedMember, _ place: MemberPath, _ found: Found, _ context: ChunkContext
  ) throws(BatchError) -> Outcome {
    // The index does not tell what a damaged one led to.
    guard let name = member.entry?.linkTarget, let target = try? MemberPath(name) else {
      return .compared(nil)
    }
    let first: Found?
    do throws(BatchError) {
      first = try look(at: target)
    } catch {
      context.report(Problem(.unreadable, error))
      return .reported
    }
    if first?.status.identity == found.status.identity { return .compared(nil) }
    guard found.status.kind == .regular else {
      let aspect = LiveDifference.Aspect(.kind, member.kind.word, found.status.kind.word)
      return .compared(LiveDifference(.type, [aspect]))
    }
    guard let (now, _) = try read(place, found, context) else { return .reported }
    let aspect = LiveDifference.Aspect(
      .target, archived: .text(name.bytes), live: .text([]))
    return .separate(aspect, target: target, content: now)
  }

  private func metadata(
    of member: ComparedMember, _ status: FileStatus, _ found: Found
  ) -> [LiveDifference.Aspect] {
    guard let entry = member.entry else { return [] }
    var aspects = [LiveDifference.Aspect]()
    let mode = status.mode & 0o7777
    if entry.kind != .symbolicLink, entry.mode != mode {
      aspects.append(LiveDifference.Aspect(.mode, Self.octal(entry.mode), Self.octal(mode)))
    }
    if member.tellsOwner {
      add(.owner, entry.owner, entry.ownerName, status.owner, owners.user, to: &aspects)
      add(.group, entry.group, entry.groupName, status.group, owners.group, to: &aspects)
    }
    if let live = found.attributes, let aspect = Self.aspect(of: entry.attributes, live) {
      aspects.append(aspect)
    }
    if entry.kind == .symbolicLink, let archived = entry.linkTarget, archived != found.target {
      aspects.append(
        LiveDifference.Aspect(
          .target, archived: .text(archived.bytes), live: .text(found.target?.bytes ?? [])))
    }
    let device = (DeviceNumber.major(status.device), DeviceNumber.minor(status.device))
    if entry.kind == .characterDevice || entry.kind == .blockDevice,
      (entry.deviceMajor, entry.deviceMinor) != device
    {
      aspects.append(
        LiveDifference.Aspect(
          .device, "\(entry.deviceMajor),\(entry.deviceMinor)", "\(device.0),\(device.1)"))
    }
    return aspects
  }

  /// An owner is the same by number, or by name where this system has other numbers.
  private func add(
    _ aspect: LiveDifference.Aspect.Name, _ archived: UInt32, _ archivedName: [UInt8], _ now: UInt32,
    _ name: (UInt32) -> [UInt8], to aspects: inout [LiveDifference.Aspect]
  ) {
    guard archived != now, archived != .max else { return }
    let known = name(now)
    guard archivedName.isEmpty || archivedName != known else { return }
    func text(_ name: [UInt8], _ number: UInt32) -> LiveDifference.Aspect.Value {
      .text(name.isEmpty ? Array("\(number)".utf8) : name)
    }
    aspects.append(
      LiveDifference.Aspect(aspect, archived: text(archivedName, archived), live: text(known, now)))
  }

  /// The names of attributes that only one side has, or each side with another value; nil for none.
  private static func aspect(
    of archived: [ExtendedAttribute], _ live: [ExtendedAttribute]
  ) -> LiveDifference.Aspect? {
    // Those of the superuser are seen by the superuser alone.
    func visible(_ attributes: [ExtendedAttribute]) -> Set<ExtendedAttribute> {
      Set(attributes.filter { StandardStreams.isRoot || !$0.name.starts(with: "trusted.".utf8) })
    }
    func names(_ attributes: Set<ExtendedAttribute>) -> LiveDifference.Aspect.Value {
      let names = attributes.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
      return .text(Array(names.joined(separator: [UInt8(ascii: " ")])))
    }
    let (old, new) = (visible(archived), visible(live))
    guard old != new else { return nil }
    return LiveDifference.Aspect(
      .xattrs, archived: names(old.subtracting(new)), live: names(new.subtracting(old)))
  }

  private static func octal(_ mode: UInt32) -> String {
    let digits = String(mode, radix: 8)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }
}

extension ArchiveEntry.Kind {
  /// The kind of member that something becomes; nil for what no archive takes.
  init?(_ kind: FileStatus.Kind) {
    switch kind {
    case .regular: self = .file
    case .directory: self = .directory
    case .symbolicLink: self = .symbolicLink
    case .fifo: self = .fifo
    case .characterDevice: self = .characterDevice
    case .blockDevice: self = .blockDevice
    case .socket, .unknown: return nil
    }
  }
}

extension FileStatus.Kind {
  /// What programs know the kind by.
  fileprivate var word: String {
    ArchiveEntry.Kind(self)?.word ?? (self == .socket ? "socket" : "unknown")
  }
}
