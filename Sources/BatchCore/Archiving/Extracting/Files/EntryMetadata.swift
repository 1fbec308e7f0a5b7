import BatchEngine
import BatchOutputs
import var Glibc.ENODATA

/// Sets owner, mode, attributes and time of an extracted file, through its descriptor.
struct EntryMetadata {
  /// Metadata that could not be set, or was not set on purpose.
  struct Losses: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let owner = Losses(rawValue: 1)
    static let mode = Losses(rawValue: 2)
    static let attributes = Losses(rawValue: 4)
    static let time = Losses(rawValue: 8)
    /// Setuid, setgid, capabilities: left out unless requested.
    static let privileges = Losses(rawValue: 16)
    /// The archive has an impossible owner number.
    static let ownerNumber = Losses(rawValue: 32)
    /// The time in the archive is not valid.
    static let timeRange = Losses(rawValue: 64)
    /// The file system cannot store the time.
    static let timeLimit = Losses(rawValue: 128)
  }

  /// The access control lists that a file or folder may have before its metadata is set.
  enum GivenLists {
    case none
    /// A new file in a folder with a default list.
    case ofFile
    case ofNewFolder
    case ofFolder

    /// Those of a new file in a folder.
    static func ofFile(in folder: OpenFolder) -> GivenLists {
      folder.listsOfNewFiles == .inherited ? .ofFile : .none
    }
  }

  private static let privilegeBits: UInt32 = 0o6000
  private static let userNamespace = Array("user.".utf8)

  let entry: ArchiveEntry
  let options: ExtractionOptions
  private let calls: any FileSystemCalls
  /// The numbers to set; nil if owners are not restored, or if the numbers are impossible.
  private let owner: (user: UInt32, group: UInt32)?

  init(
    entry: ArchiveEntry, options: ExtractionOptions, owners: OwnerNumbers, calls: any FileSystemCalls
  ) {
    self.entry = entry
    self.options = options
    self.calls = calls
    owner = options.restoresOwner ? owners.owner(of: entry, numeric: options.usesNumericOwner) : nil
  }

  /// Sets all metadata of an open file or folder: the owner first, because changing it clears bits of the mode; attributes
  /// before the mode, which may prevent writing them; and the time last.
  ///
  /// - Parameters:
  ///   - given: the current status, if known; equal values are not set again.
  ///   - lists: the access control lists that it may have already; those that the entry does not have are removed.
  func apply(to descriptor: Int32, having given: FileStatus? = nil, lists: GivenLists) -> Losses {
    var losses = Losses()
    if let (user, group) = owner(&losses) {
      let isGiven = given?.owner == user && given?.group == group
      if !isGiven, calls.setOwner(of: descriptor, user: user, group: group) != 0 { losses.insert(.owner) }
    }
    if options.restoresAttributes {
      applyAttributes(to: descriptor, &losses)
      removeLists(lists, from: descriptor, &losses)
    }
    let mode = mode(&losses)
    // An access control list may have changed the mode.
    let isAsGiven = entry.attributes.isEmpty && (lists == .none || !options.restoresAttributes)
    let hasMode = isAsGiven && given.map { $0.mode & 0o7777 } == mode
    if !hasMode, calls.setMode(of: descriptor, to: mode) != 0 { losses.insert(.mode) }
    setTime(of: descriptor, &losses) {
      calls.setTimes(of: descriptor, accessed: nil, modified: entry.modified)
    }
    return losses
  }

  /// The losses that are known from the archive and the options alone.
  var foreseenLosses: Losses {
    var losses = Losses()
    _ = owner(&losses)
    if entry.kind != .symbolicLink { _ = mode(&losses) }
    if !entry.hasTime { losses.insert(.timeRange) }
    let isWhole = options.restoresPrivileges || !options.restoresAttributes
    if !isWhole, entry.kind != .symbolicLink, entry.kind != .hardLink,
      entry.attributes.contains(where: { !isHarmless($0) })
    {
      losses.insert(.privileges)
    }
    return losses
  }

  /// Whether a file has this owner, mode and time. Attributes are not compared.
  func isThat(of status: FileStatus) -> Bool {
    guard let losses = lossesIfOwnerAndMode(are: status) else { return false }
    return losses.isEmpty && entry.hasTime && status.modified == entry.modified
  }

  /// Compares owner and mode, as they would be set, with those of a file.
  ///
  /// - Returns: what setting them would lose; nil if they differ.
  func lossesIfOwnerAndMode(are status: FileStatus) -> Losses? {
    var losses = Losses()
    if let (user, group) = owner(&losses), status.owner != user || status.group != group { return nil }
    if entry.kind != .symbolicLink, status.mode & 0o7777 != mode(&losses) { return nil }
    return losses
  }

  private func isHarmless(_ attribute: ExtendedAttribute) -> Bool {
    attribute.name.starts(with: Self.userNamespace) || attribute.isList
  }

  /// Sets the metadata of a symbolic link, a FIFO or a device that this run has just created, and that cannot be opened for writing.
  ///
  /// - Throws: `changed` if something else has the name now.
  func apply(toMade name: PathBytes, in folder: OpenFolder) throws(BatchError) -> Losses {
    guard let file = try? folder.openPlace(name) else { throw Self.replacedMeanwhile }
    guard isMade(file.raw) else { throw Self.replacedMeanwhile }
    var losses = Losses()
    if options.restoresAttributes, entry.kind != .symbolicLink, folder.listsOfNewFiles == .inherited {
      let removed = calls.removeAttribute(AccessList.accessName, of: file.raw, isPlace: true)
      if removed != 0, removed != -ENODATA { losses.insert(.attributes) }
    }
    if let (user, group) = owner(&losses),
      calls.setOwner(of: file.raw, user: user, group: group, isPlace: true) != 0
    {
      losses.insert(.owner)
    }
    if entry.kind != .symbolicLink {
      if options.restoresAttributes { applyAttributes(to: file.raw, isPlace: true, &losses) }
      if calls.setMode(of: file.raw, to: mode(&losses), isPlace: true) != 0 { losses.insert(.mode) }
    }
    setTime(of: file.raw, &losses) { calls.setTime(ofPlace: file.raw, modified: entry.modified) }
    return losses
  }

  private static let replacedMeanwhile = BatchError(
    .changed, "cannot be given its owner, mode and time: another process replaced it")

  /// Whether an inode matches the entry, belongs to this process's user and has one name, as one that was just created: a user
  /// who may write to the folder could have replaced it.
  private func isMade(_ file: Int32) -> Bool {
    guard let status = try? calls.status(of: file), status.linkCount == 1, status.isOwn else { return false }
    guard entry.kind == .symbolicLink else { return entry.isNode(of: status) }
    return status.kind == .symbolicLink && (try? LinkTarget.read("", in: file)) == entry.linkTarget
  }

  /// The permissions for creating the file, with which its attributes can still be set.
  var permissions: UInt32 { entry.attributes.isEmpty ? recordedMode & 0o777 : 0o600 }

  /// The mode in the archive; without one the mode of a new file.
  private var recordedMode: UInt32 {
    entry.hasMode ? entry.mode : entry.mode & AtomicFile.folderPermissions
  }

  /// Whether a new file has its final owner from the beginning, given the status of new files in its folder.
  func isOwned(like given: FileStatus?) -> Bool {
    guard options.restoresOwner else { return true }
    guard let owner, let given else { return false }
    return given.owner == owner.user && given.group == owner.group
  }

  private func owner(_ losses: inout Losses) -> (user: UInt32, group: UInt32)? {
    if options.restoresOwner, owner == nil { losses.insert(.ownerNumber) }
    return owner
  }

  private func mode(_ losses: inout Losses) -> UInt32 {
    // The bits would give away the rights of the extracting user.
    guard !losses.contains(.ownerNumber) else { return recordedMode & 0o1777 }
    guard !options.restoresPrivileges else { return recordedMode & 0o7777 }
    if entry.mode & Self.privilegeBits != 0 { losses.insert(.privileges) }
    return recordedMode & 0o1777
  }

  /// Sets the time of modification. Checks unusual times afterwards, because a file system replaces a time that it cannot store
  /// by the nearest one.
  private func setTime(of file: Int32, _ losses: inout Losses, _ set: () -> Int32) {
    guard entry.hasTime else {
      losses.insert(.timeRange)
      return
    }
    let isOrdinary = Int32(exactly: entry.modified.seconds) != nil
    guard set() == 0 else {
      losses.insert(isOrdinary ? .time : .timeLimit)
      return
    }
    guard !isOrdinary else { return }
    if (try? calls.status(of: file))?.modified.seconds != entry.modified.seconds {
      losses.insert(.timeLimit)
    }
  }

  /// Removes lists that came from the default list of a parent folder, or that an existing folder had.
  private func removeLists(_ lists: GivenLists, from descriptor: Int32, _ losses: inout Losses) {
    func remove(_ name: [UInt8]) -> Bool {
      guard !entry.attributes.contains(where: { $0.name == name }) else { return true }
      let (isRemoved, failed) = AccessList.remove(name, from: descriptor, calls)
      if failed != 0 { losses.insert(.attributes) }
      return isRemoved || failed != 0
    }
    switch lists {
    case .none: break
    case .ofFile: _ = remove(AccessList.accessName)
    // A new folder has both or none.
    case .ofNewFolder: if remove(AccessList.defaultName) { _ = remove(AccessList.accessName) }
    case .ofFolder: for name in [AccessList.defaultName, AccessList.accessName] { _ = remove(name) }
    }
  }

  /// - Parameter isPlace: whether the file was opened with `O_PATH`.
  private func applyAttributes(to descriptor: Int32, isPlace: Bool = false, _ losses: inout Losses) {
    for attribute in entry.attributes.listsLast where !attribute.isOfKernel {
      guard isHarmless(attribute) || options.restoresPrivileges else {
        losses.insert(.privileges)
        continue
      }
      guard !attribute.name.contains(0) else { continue }
      if calls.setAttribute(attribute.name, of: descriptor, to: attribute.value, isPlace: isPlace) != 0 {
        losses.insert(.attributes)
      }
    }
  }
}

extension ArchiveEntry {
  /// Whether this is a FIFO or a device, and the status belongs to the same one.
  func isNode(of status: FileStatus) -> Bool {
    guard kind != .fifo else { return status.kind == .fifo }
    return (kind == .characterDevice || kind == .blockDevice) && status.kind == kind.fileKind
      && DeviceNumber(status.device) == DeviceNumber(major: deviceMajor, minor: deviceMinor)
  }
}
