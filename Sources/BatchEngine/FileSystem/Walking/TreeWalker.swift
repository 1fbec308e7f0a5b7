import Glibc

/// Walks operands in a fixed order: the files of a folder by the bytes of their names, then its subfolders by their names, each
/// with its contents.
///
/// The order depends on names alone. The next folders are read ahead in parallel. Depth needs neither stack nor descriptors: a
/// folder is open only while it is read.
package struct TreeWalker {
  /// A folder on the way from the operand to the current folder.
  private struct Level {
    let folder: ScannedFolder
    var position = 0
    var block: [Walked]
    var rest: ArraySlice<DirectoryEntry>
    var unoffered: ArraySlice<DirectoryEntry>
    /// The next subfolders that were scanned with this folder.
    var scanned: ArraySlice<ScannedFolder>
    /// The next tasks: blocks of the files of this folder, then its subfolders.
    var ahead: [(task: FolderTask, isBlock: Bool, isReadAhead: Bool)] = []

    init(_ folder: ScannedFolder) {
      var own = folder
      own.scanned = []
      self.folder = own
      block = folder.items
      rest = folder.rest
      scanned = folder.scanned[...]
      unoffered = folder.subdirectories.dropFirst(scanned.count)
    }
  }

  private let scanner: FolderScanner
  private let readAhead: FolderReadAhead
  private let pace: ScanPace
  private let concurrency: ConcurrencyLimit
  private var operands: AnyIterator<PathBytes>
  private var levels: [Level] = []
  private var ancestors: Set<FileIdentity> = []
  private var rootDevice: UInt64 = 0
  /// How many paths the options left out so far; a folder that is left out counts as one.
  package private(set) var filteredCount = 0

  /// - Parameter operands: the paths to walk; `-` is standard input. The next one is requested when the walk reaches it.
  init(
    operands: some Sequence<PathBytes>, options: WalkOptions, descriptors: DescriptorBudget,
    calls: any FileSystemCalls, concurrency: ConcurrencyLimit = ConcurrencyLimit(4)
  ) {
    self.concurrency = concurrency
    scanner = FolderScanner(calls: calls, options: options, descriptors: descriptors)
    readAhead = FolderReadAhead(
      width: options.readAhead ?? WalkOptions.readAhead(concurrency: concurrency.current))
    pace = ScanPace(options.readAheadThreshold * 2 / concurrency.current)
    self.operands = AnyIterator(operands.makeIterator())
  }

  /// The next item, or nil at the end.
  package mutating func next() -> Walked? {
    while true {
      if let item = nextInTree() { return item }
      guard let operand = operands.next() else {
        readAhead.close()
        return nil
      }
      if let item = begin(operand) { return item }
    }
  }

  /// The status of the folder of the last item, as it was when it was listed; nil for an operand.
  var folderStatus: FileStatus? { levels.last?.folder.status }

  package var calls: any FileSystemCalls { scanner.calls }

  package var descriptors: DescriptorBudget { scanner.descriptors }

  // MARK: Operands

  private mutating func begin(_ operand: PathBytes) -> Walked? {
    if operand == "-" { return .item(.standardInput) }
    guard !operand.isEmpty, !operand.containsNUL else {
      let message = operand.isEmpty ? "an operand is the empty name" : "an operand holds a NUL byte"
      return .problem(Problem(.missing, BatchError(.missing, message, path: operand)))
    }
    if let link = linkOperand(operand) { return link }
    let status: FileStatus
    do throws(BatchError) {
      status = try FolderOpener(calls: scanner.calls).status(of: operand)
    } catch {
      return .problem(Problem(error))
    }
    if status.kind != .directory { return fileOperand(operand, status, followsLinks: true) }
    let folder = scanner.scan(DirectoryPath(operand: operand))
    rootDevice = folder.directory.identity?.device ?? 0
    descend(into: folder)
    return itself(folder)
  }

  /// An operand that is a symbolic link, if links are yielded as links.
  private mutating func linkOperand(_ operand: PathBytes) -> Walked? {
    guard scanner.options.takesEverything, !scanner.options.followsLinks, !scanner.options.followsOperands,
      let status = try? scanner.calls.status(of: operand), status.kind == .symbolicLink
    else { return nil }
    return fileOperand(operand, status, followsLinks: false)
  }

  private mutating func fileOperand(
    _ operand: PathBytes, _ status: FileStatus, followsLinks: Bool
  ) -> Walked? {
    guard scanner.options.yields(status.kind) else {
      return .problem(
        Problem(
          .unreadable,
          BatchError(
            .special, "is \(status.kind.text), not a file", path: operand,
            remedy: .readStandardInput)))
    }
    let directory = DirectoryPath(ofFileOperand: operand)
    if let excess = directory.excess(over: scanner.options.limits) {
      return .problem(Problem(.unreadable, excess.error(at: operand)))
    }
    let names = NameArena(name: operand.lastComponent)
    var chooser = EntryChooser(
      directory: directory, names: names, filter: scanner.options.filter, isCache: false)
    let entry = DirectoryEntry(nameOffset: 0, kind: .regular, inode: status.identity.inode)
    guard chooser?.takes(entry, isDirectory: false) ?? true,
      status.kind != .regular || scanner.options.takes(status)
    else {
      filteredCount += 1
      return nil
    }
    return .item(
      .file(
        FileRecord(
          directory: directory, names: names, nameOffset: 0, status: status, followsLinks: followsLinks)))
  }

  /// The folder as an item, if folders are yielded.
  private func itself(_ folder: ScannedFolder) -> Walked? {
    guard scanner.options.takesEverything, let status = folder.status else { return nil }
    return .item(
      .file(
        FileRecord(
          directory: folder.directory, names: NameArena([]), nameOffset: 0, status: status,
          followsLinks: scanner.options.followsLinks)))
  }

  // MARK: Folders

  private mutating func nextInTree() -> Walked? {
    while let top = levels.indices.last {
      if levels[top].position < levels[top].block.count {
        defer { levels[top].position += 1 }
        return levels[top].block[levels[top].position]
      }
      levels[top].block = []
      levels[top].position = 0
      guard let (folder, isBlock) = nextFolder(of: top) else {
        if let identity = levels[top].folder.directory.identity { ancestors.remove(identity) }
        levels.removeLast()
        continue
      }
      if isBlock {
        levels[top].block = folder.items
        filteredCount += folder.filteredCount
        continue
      }
      if let problem = refusal(of: folder) { return .problem(problem) }
      if scanner.options.staysOnFileSystem, let identity = folder.directory.identity,
        identity.device != rootDevice
      {
        // The mount point belongs to the tree; the file system mounted there does not.
        if let item = itself(folder) { return item }
        continue
      }
      if let identity = folder.directory.identity, scanner.options.excluded.contains(identity) { continue }
      descend(into: folder)
      if let item = itself(folder) { return item }
    }
    return nil
  }

  private func refusal(of folder: ScannedFolder) -> Problem? {
    guard let identity = folder.directory.identity, ancestors.contains(identity) else { return nil }
    return Problem(
      .unreadable,
      BatchError(
        .unreadable, "leads back to a folder that it lies in, passed over",
        path: folder.directory.shownPath, errno: ELOOP))
  }

  private mutating func descend(into folder: ScannedFolder) {
    if let identity = folder.directory.identity { ancestors.insert(identity) }
    filteredCount += folder.filteredCount
    levels.append(Level(folder))
    offerAhead(levels.count - 1)
  }

  /// The next files or the next folder of a level; the following ones are offered for read-ahead.
  private mutating func nextFolder(of level: Int) -> (ScannedFolder, isBlock: Bool)? {
    if let folder = levels[level].scanned.popFirst() { return (folder, false) }
    offerAhead(level)
    guard !levels[level].ahead.isEmpty else { return nil }
    let next = levels[level].ahead.removeFirst()
    if next.isReadAhead { readAhead.retire() }
    offerAhead(level)
    return (next.task.value(), next.isBlock)
  }

  private mutating func offerAhead(_ level: Int) {
    let operations = concurrency.current
    let width = max(1, (scanner.options.readAhead ?? WalkOptions.readAhead(concurrency: operations)) * 2)
    let threshold = scanner.options.readAheadThreshold / operations
    while levels[level].ahead.count < width, let (task, isBlock) = nextTask(of: level) {
      let isWorthIt = pace.recent >= threshold
      levels[level].ahead.append((task, isBlock, isWorthIt && readAhead.offer(task)))
    }
  }

  private mutating func nextTask(of level: Int) -> (FolderTask, isBlock: Bool)? {
    let folder = levels[level].folder
    let files = levels[level].rest.prefix(FolderScanner.blockSize)
    levels[level].rest = levels[level].rest.dropFirst(files.count)
    guard files.isEmpty else {
      return (FolderTask(files, of: folder, scanner: scanner, pace: pace), true)
    }
    guard let entry = levels[level].unoffered.popFirst() else { return nil }
    let directory = folder.directory.subdirectory(
      of: entry, names: folder.names, device: folder.directory.identity?.device ?? 0)
    return (FolderTask(directory, scanner: scanner, pace: pace), false)
  }
}
