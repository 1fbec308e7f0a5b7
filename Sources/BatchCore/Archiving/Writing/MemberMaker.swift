import BatchEngine

/// Creates the entries of members from the files of a walk: names, owners, attributes, targets of links.
struct MemberMaker {
  let options: ArchiveOptions
  private let owners = OwnerNames()
  private let names: NameTransformer

  /// - Throws: `invalid` for a name transformation that cannot be compiled.
  init(_ options: ArchiveOptions) throws(BatchError) {
    self.options = options
    names = try NameTransformer(options.changes.names)
  }

  /// An entry with all values, including those that must be read from the file.
  ///
  /// - Throws: when the file does not exist any more, or cannot be examined.
  func entry(for record: FileRecord, in context: WorkerContext) throws(BatchError) -> ArchiveEntry {
    var entry = try bareEntry(for: record)
    let details = try context.withFolder(of: record) { (folder) throws(BatchError) in
      let target = try entry.kind == .symbolicLink ? record.linkTarget(in: folder) : nil
      let attributes = record.withName {
        AttributeReader.attributes(of: $0, in: folder, followingLinks: record.followsLinks)
      }
      return (target: target, attributes: attributes)
    }
    if let target = details.target { entry.linkTarget = try name(target, as: .symbolicLink, of: record) }
    entry.attributes = details.attributes
    return entry
  }

  /// An entry with the values of the walk only: without attributes and link target.
  ///
  /// - Throws: `special` for a kind of file that archives cannot store, and `invalid` when the new name is empty.
  func bareEntry(for record: FileRecord) throws(BatchError) -> ArchiveEntry {
    let status = record.status
    guard let kind = ArchiveEntry.Kind(status.kind) else {
      throw BatchError(.special, "is \(status.kind.text), passed over", path: record.path)
    }
    let name = try name(MemberNaming.name(of: record.path), as: .member, of: record)
    var entry = ArchiveEntry(path: name, kind: kind)
    describe(status, in: &entry)
    if kind == .characterDevice || kind == .blockDevice {
      let number = DeviceNumber(status.device)
      (entry.deviceMajor, entry.deviceMinor) = (number.major, number.minor)
    }
    return entry
  }

  /// The entry for a further name of a file; nil if it has the name of the first one, because a path was given twice.
  ///
  /// - Throws: `invalid` when a new name is empty.
  func link(for record: FileRecord, to first: PathBytes) throws(BatchError) -> ArchiveEntry? {
    var entry = ArchiveEntry(
      path: try name(MemberNaming.name(of: record.path), as: .member, of: record), kind: .hardLink,
      linkTarget: try name(MemberNaming.name(of: first), as: .hardLink, of: record))
    guard entry.linkTarget != entry.path else { return nil }
    describe(record.status, in: &entry)
    entry.size = 0
    return entry
  }

  private func name(
    _ name: PathBytes, as use: NameTransform.Use, of record: FileRecord
  ) throws(BatchError) -> PathBytes {
    do throws(BatchError) { return try names.name(name, as: use) } catch { throw error.at(record.path) }
  }

  /// Sets the values of `stat(2)`.
  func describe(_ status: FileStatus, in entry: inout ArchiveEntry) {
    entry.size = entry.kind == .file ? UInt64(clamping: status.size) : 0
    entry.mode = status.mode & 0o7777
    entry.modified = options.time(of: status)
    if !options.isReproducible {
      entry.owner = status.owner
      entry.group = status.group
      entry.ownerName = owners.user(status.owner)
      entry.groupName = owners.group(status.group)
    }
    options.changes.apply(to: &entry)
  }
}
