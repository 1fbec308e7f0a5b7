import Glibc

/// Opens one folder, checks that it is the one that was listed, and reads its entries.
struct FolderScanner: Sendable {
  /// How many files have their status read with the listing, and with each later block.
  package static let blockSize = 512
  private static let itemsOfFolder = 256

  package let calls: any FileSystemCalls
  package let options: WalkOptions
  package let descriptors: DescriptorBudget

  /// Everything that the walk needs from a folder; problems are among the items.
  ///
  /// A folder that exceeds the limits of the walk is not opened.
  package func scan(_ directory: DirectoryPath) -> ScannedFolder {
    if let excess = directory.excess(over: options.limits) {
      return Self.failed(directory, excess.error(at: directory.shownPath))
    }
    return descriptors.withDescriptors(DescriptorBudget.tokensToList) {
      do throws(BatchError) {
        let folder = try open(directory)
        return scan(
          folder.descriptor, of: folder.directory.anchored(in: descriptors.heldFolders), status: folder.status
        )
      } catch {
        return Self.failed(directory, error)
      }
    }
  }

  /// Scans a folder, and the first folders that a walk reaches below it.
  ///
  /// It does not enter another file system or a folder that may be skipped: the walk decides about those.
  ///
  /// - Parameter folders: the most folders to scan; lowered by those that were scanned, where 256 files count as one more. It
  ///   also limits the depth of the recursion.
  package func scan(_ directory: DirectoryPath, andBelow folders: inout Int) -> ScannedFolder {
    var folder = scan(directory)
    folders -= 1 + folder.items.count / Self.itemsOfFolder
    guard folders > 0, !options.followsLinks, folder.rest.isEmpty, let identity = folder.directory.identity,
      directory.identity.map({ $0.device == identity.device }) ?? false, !options.excluded.contains(identity)
    else { return folder }
    for entry in folder.subdirectories where folders > 0 {
      let below = folder.directory.subdirectory(of: entry, names: folder.names, device: identity.device)
      folder.scanned.append(scan(below, andBelow: &folders))
    }
    return folder
  }

  /// The next files of a folder that has more than one block of them, and how many of them the options leave out.
  package func block(
    _ entries: ArraySlice<DirectoryEntry>, of folder: ScannedFolder
  ) -> (items: [Walked], filteredCount: Int) {
    descriptors.withDescriptors(DescriptorBudget.tokensToList) {
      do throws(BatchError) {
        let opened = try open(folder.directory)
        let items = entries.compactMap {
          item(for: $0, in: folder.directory, names: folder.names, at: opened.descriptor)
        }
        return (items, entries.count - items.count)
      } catch {
        return (Self.failed(folder.directory, error).items, 0)
      }
    }
  }

  // MARK: Opening

  private struct OpenFolder: ~Copyable {
    let descriptor: Descriptor
    let directory: DirectoryPath
    let status: FileStatus

    init(_ descriptor: consuming Descriptor, _ listed: DirectoryPath, _ calls: any FileSystemCalls)
      throws(BatchError)
    {
      status = try calls.status(of: descriptor)
      directory = listed.identified(as: status.identity)
      self.descriptor = descriptor
    }
  }

  private func open(_ directory: DirectoryPath) throws(BatchError) -> OpenFolder {
    let opener = FolderOpener(calls: calls)
    let mayFollow = options.followsLinks || directory.depth == 0
    do throws(BatchError) {
      let folder = try OpenFolder(opener.open(directory, followingLast: mayFollow), directory, calls)
      if mayFollow || folder.status.identity == directory.identity { return folder }
    } catch {
      throw classify(error, of: directory)
    }
    do throws(BatchError) {
      // Either a mount point, or a name on the way that was replaced by a link: opening name by name distinguishes them.
      return try OpenFolder(opener.openBelowOperand(directory), directory, calls)
    } catch {
      throw classify(error, of: directory)
    }
  }

  private func classify(_ error: BatchError, of directory: DirectoryPath) -> BatchError {
    let located = error.at(directory.shownPath)
    guard directory.depth > 0 else { return located }
    return switch error.errno {
    case ENOENT, ENOTDIR, ELOOP: located.recoded(.vanished)
    default: located
    }
  }

  private static func failed(_ directory: DirectoryPath, _ error: BatchError) -> ScannedFolder {
    ScannedFolder(
      directory: directory, status: nil, names: NameArena([]), items: [.problem(Problem(error))], rest: [],
      subdirectories: [])
  }

  // MARK: Reading

  private func scan(
    _ folder: borrowing Descriptor, of opened: DirectoryPath, status: FileStatus
  ) -> ScannedFolder {
    let markers = FolderMarkers(calls: calls)
    let directory = options.readsIgnoreFiles ? opened.scoped(markers.scope(of: opened, at: folder)) : opened
    let isCache = options.skipsCaches && markers.hasCacheTag(at: folder.raw)
    let listing = calls.entries(of: folder)
    let names = NameArena(listing.names)
    var chooser = EntryChooser(directory: directory, names: names, filter: options.filter, isCache: isCache)
    var subdirectories = [DirectoryEntry]()
    var files = [DirectoryEntry]()
    var filteredCount = 0
    for entry in listing.entries {
      let isFolder = kind(of: entry, names: names, at: folder) == .directory
      guard chooser?.takes(entry, isDirectory: isFolder) ?? true else {
        filteredCount += 1
        continue
      }
      if options.skipsTemporaries, names.withName(at: entry.nameOffset, { TemporaryName($0) != nil }) {
        continue
      }
      if isFolder { subdirectories.append(entry) } else { files.append(entry) }
    }
    var items = files.prefix(Self.blockSize).compactMap {
      item(for: $0, in: directory, names: names, at: folder)
    }
    filteredCount += min(files.count, Self.blockSize) - items.count
    if let error = listing.error {
      items.append(.problem(Problem(classify(error, of: directory))))
    }
    return ScannedFolder(
      directory: directory, status: status, names: names, items: items, rest: files.dropFirst(Self.blockSize),
      subdirectories: subdirectories, filteredCount: filteredCount)
  }

  private func kind(
    of entry: DirectoryEntry, names: NameArena, at folder: borrowing Descriptor
  ) -> FileStatus.Kind? {
    let isLink = entry.kind == .symbolicLink
    guard entry.kind == nil || (isLink && options.followsLinks) else { return entry.kind }
    var raw = stat()
    let result = status(of: entry, names: names, at: folder, into: &raw)
    return result == 0 ? FileStatus(raw).kind : entry.kind
  }

  private func item(
    for entry: DirectoryEntry, in directory: DirectoryPath, names: NameArena,
    at folder: borrowing Descriptor
  ) -> Walked? {
    if let kind = entry.kind, kind != .regular, !(kind == .symbolicLink && options.followsLinks),
      !options.takesEverything || kind == .socket
    {
      return .problem(.special(kind, at: directory.path(of: entry, names: names)))
    }
    var raw = stat()
    var followsLinks = options.followsLinks
    var result = status(of: entry, names: names, at: folder, into: &raw)
    if result != 0, followsLinks, options.takesEverything, entry.kind != .regular {
      // A dangling link is treated as a link.
      followsLinks = false
      let descriptor = folder.raw
      result = names.withCString(at: entry.nameOffset) {
        calls.status(of: $0, at: descriptor, followingLinks: false, into: &raw)
      }
    }
    guard result == 0 else {
      let path = directory.path(of: entry, names: names)
      if entry.kind == .symbolicLink { return .problem(.special(.symbolicLink, at: path)) }
      let error = BatchError.syscall("read the status", errno: -result, path: path)
      return .problem(Problem(result == -ENOENT ? error.recoded(.vanished) : error))
    }
    let status = FileStatus(raw)
    guard options.yields(status.kind) else {
      return .problem(.special(status.kind, at: directory.path(of: entry, names: names)))
    }
    guard status.kind != .regular || options.takes(status) else { return nil }
    return .item(
      .file(
        FileRecord(
          directory: directory, names: names, nameOffset: entry.nameOffset, status: status,
          followsLinks: followsLinks)))
  }

  private func status(
    of entry: DirectoryEntry, names: NameArena, at folder: borrowing Descriptor, into raw: inout stat
  ) -> Int32 {
    let descriptor = folder.raw
    return names.withCString(at: entry.nameOffset) {
      calls.status(of: $0, at: descriptor, followingLinks: options.followsLinks, into: &raw)
    }
  }
}

extension Problem {
  /// The problem of a path that is skipped because it has no content to read.
  package static func special(_ kind: FileStatus.Kind, at path: PathBytes) -> Problem {
    Problem(.special, BatchError(.special, "is \(kind.text), passed over", path: path), kind: kind)
  }
}
