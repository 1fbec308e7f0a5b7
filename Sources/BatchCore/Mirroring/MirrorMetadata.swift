import BatchEngine

/// Describes the files of a source in terms of what can be set in the target, and compares them with those of the target.
struct MirrorMetadata: Sendable {
  private static let namespaces = ["user.", "trusted.", "security."].map { Array($0.utf8) }

  private let isRoot = StandardStreams.isRoot
  private let user = Accounts.ownUser
  private let groups = Accounts.ownGroups
  private let owners = OwnerNumbers()
  let calls: any FileSystemCalls

  init(calls: any FileSystemCalls) { self.calls = calls }

  func entry(
    _ status: FileStatus, _ attributes: [ExtendedAttribute] = [], linkTarget: PathBytes? = nil
  ) -> ArchiveEntry {
    var entry = ArchiveEntry(path: "", kind: ArchiveEntry.Kind(status.kind) ?? .file)
    entry.mode = status.mode & 0o7777
    entry.modified = status.modified
    entry.group = status.group
    // A user who is not root may change the group alone.
    entry.owner = isRoot ? status.owner : user
    entry.attributes = attributes
    entry.linkTarget = linkTarget
    if status.kind == .characterDevice || status.kind == .blockDevice {
      let number = DeviceNumber(status.device)
      (entry.deviceMajor, entry.deviceMinor) = (number.major, number.minor)
    }
    return entry
  }

  /// Sets an entry as far as this user may: setuid and setgid only with the right owner and group.
  ///
  /// - Parameter owner: of the source.
  func setter(of entry: ArchiveEntry, from owner: UInt32) -> EntryMetadata {
    var options = ExtractionOptions()
    options.restoresOwner = isRoot || groups.contains(entry.group)
    options.restoresPrivileges = isRoot || options.restoresOwner && owner == user
    options.usesNumericOwner = true
    return EntryMetadata(entry: entry, options: options, owners: owners, calls: calls)
  }

  /// The losses of a file whose owner or group this user cannot set.
  func foreignOwner(_ status: FileStatus) -> EntryMetadata.Losses {
    isRoot || status.owner == user && groups.contains(status.group) ? [] : .owner
  }

  /// The attributes that a copy gets: those of programs, capabilities, labels and access control lists.
  static func copied(_ attributes: [ExtendedAttribute]) -> [ExtendedAttribute] {
    guard !attributes.isEmpty else { return [] }
    return attributes.filter { attribute in
      attribute.isList || namespaces.contains { attribute.name.starts(with: $0) }
    }
  }

  /// Whether the target has the same owner, mode and time.
  ///
  /// - Parameters:
  ///   - owner: of the source.
  ///   - hasTime: whether the times are equal.
  func isEqual(_ entry: ArchiveEntry, from owner: UInt32, to found: FileStatus, hasTime: Bool) -> Bool {
    setter(of: entry, from: owner).lossesIfOwnerAndMode(are: found) != nil && hasTime
  }

  /// Removes attributes of an open file that its source does not have.
  ///
  /// - Returns: whether all were removed.
  func removeOthers(_ found: [ExtendedAttribute], than wanted: [ExtendedAttribute], from file: Int32) -> Bool
  {
    var areRemoved = true
    for attribute in found where !attribute.isList && !wanted.contains(where: { $0.name == attribute.name }) {
      areRemoved = calls.removeAttribute(attribute.name, of: file) == 0 && areRemoved
    }
    return areRemoved
  }
}

extension EntryMetadata.Losses {
  /// A sentence for each kind, with "N paths" in front.
  static let texts: [(loss: EntryMetadata.Losses, text: String)] = [
    (.owner, "without their owner or group"), (.mode, "without their mode"),
    (.attributes, "without some of their attributes or access control lists"), (.time, "without their time"),
    (.privileges, "without setuid, setgid or capabilities"),
    (.timeLimit, "with another time: the file system cannot store theirs"),
    (.ownerNumber, "without their owner"), (.timeRange, "without their time"),
  ]
}
