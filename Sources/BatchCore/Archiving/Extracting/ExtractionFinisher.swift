import BatchEngine
import BatchOutputs

/// Does the last steps after all files are created: symbolic links, hard links, and the metadata of folders.
struct ExtractionFinisher {
  private static let slash = UInt8(ascii: "/")

  let folder: ContainedFolder
  let options: ExtractionOptions
  let writer: MemberWriter
  let calls: any FileSystemCalls
  let right: CommitRight
  /// Whether this run created a file at a place that may share its content with a later name.
  let hasMade: (RelativePath) -> Bool
  /// Whether this dry run would have created something at a place.
  var hasRehearsed: (RelativePath) -> Bool = { _ in false }

  /// Receives the result of a member.
  typealias Report = (ExtractionOrder, ExtractionResult) throws(BatchError) -> Void

  /// Creates the links of the steps, kind by kind, each kind in the order of the archive.
  func makeLinks(_ steps: DeferredSteps, report: Report) throws(BatchError) {
    defer { writer.closeFolder() }
    try make(.contentOfLink, of: steps, report, shareContent)
    try make(.symbolicLink, of: steps, report, makeSymbolicLink)
    try make(.hardLink, of: steps, report, makeHardLink)
  }

  private func make(
    _ kind: DeferredStep.Kind, of steps: DeferredSteps, _ report: Report,
    _ make: (ExtractionOrder) throws(BatchError) -> ExtractionResult
  ) throws(BatchError) {
    try steps.forEach(kind) { (order) throws(BatchError) in
      try report(order, ExtractionResult(of: order) { () throws(BatchError) in try make(order) })
    }
  }

  /// Sets the metadata of folders, deepest first. Called after all links are created.
  ///
  /// - Parameter removesEmpty: whether empty folders that the run created and that no member describes are removed.
  /// - Throws: the error of `report`.
  func describeFolders(
    _ steps: DeferredSteps, removingEmpty removesEmpty: Bool = false, report: Report
  ) throws(BatchError) {
    writer.closeFolder()
    guard !options.isDryRun else { return try rehearseFolders(steps, report: report) }
    var tree = steps.folders
    let made = madeFolders(in: &tree, all: removesEmpty)
    let numbers = steps.numbersOfFolders
    let opener = folder.opener
    let descent = FolderDescent(tree, below: folder.root, holding: opener.giveUpHeld(), opener: opener)
    try descent.visit { (visit) throws(BatchError) in
      let isMade = made[visit.node] != nil
      guard let described = numbers[visit.node] else {
        guard isMade, !(removesEmpty && remove(tree.name(of: visit.node), in: visit.parent)) else { return }
        if case .success(let opened) = visit.folder, made[visit.node] != .final {
          describe(undescribed: opened)
        }
        return
      }
      // An existing folder is not changed if nothing may be overwritten, and neither is the target folder.
      let describes = isMade || (options.replacing != .never && visit.node != FolderTree.root)
      let isEqual = options.acceptsEqual && options.replacing == .never
      // A folder in a shelter has inherited nothing.
      let lists: EntryMetadata.GivenLists =
        made[visit.node] == .final ? .none : isMade ? .ofNewFolder : .ofFolder
      // If two members describe one folder, the later one wins.
      for (place, number) in described.enumerated() {
        guard let order = steps.step(number)?.order, isMade || !order.isOnWay else { continue }
        let verdict =
          describes
          ? describe(visit.folder, order, lists, isAsOpened: isMade && place == 0)
          : isEqual ? .kept : .made([])
        try report(order, verdict)
      }
    }
  }

  private func rehearseFolders(_ steps: DeferredSteps, report: Report) throws(BatchError) {
    try steps.forEach(.folder) { (order) throws(BatchError) in
      guard !order.isOnWay else { return }
      let describes =
        folder.hasMade(order.place) || (options.replacing != .never && !order.place.bytes.isEmpty)
      let isEqual = options.acceptsEqual && options.replacing == .never
      try report(
        order, describes ? .made(writer.metadata(of: order).foreseenLosses) : isEqual ? .kept : .made([]))
    }
  }

  /// Adds the folders that the run created, and that need a visit, to another tree.
  ///
  /// - Parameter isAll: whether those need a visit that have their mode already.
  /// - Returns: how the folders in that tree were created.
  private func madeFolders(
    in tree: inout FolderTree, all isAll: Bool
  ) -> [FolderTree.Node: MadeFolder] {
    let made = folder.madeFolders
    let nodes = 1..<max(1, FolderTree.Node(truncatingIfNeeded: made.tree.count))
    // A parent folder always comes before its subfolders.
    var isVisited = [Bool](repeating: false, count: made.tree.count)
    for node in nodes.reversed() {
      let state = made.state(of: node)
      if state != nil, isAll || state != .final { isVisited[Int(node)] = true }
      if isVisited[Int(node)] { isVisited[Int(made.tree.parent(of: node))] = true }
    }
    var numbers: [FolderTree.Node?] = [FolderTree.root]
    var states: [FolderTree.Node: MadeFolder] = [:]
    for node in nodes {
      let name = made.tree.name(of: node)
      let number = numbers[Int(made.tree.parent(of: node))].flatMap { parent in
        isVisited[Int(node)] ? tree.insert(name, in: parent) : tree.find(name, in: parent)
      }
      numbers.append(number)
      if let number { states[number] = made.state(of: node) }
    }
    return states
  }

  private func remove(_ name: [UInt8], in parent: OpenFolder?) -> Bool {
    parent?.remove(PathBytes(name), isFolder: true, by: right) == 0
  }

  private func describe(
    _ folder: Result<OpenFolder, BatchError>, _ order: ExtractionOrder, _ lists: EntryMetadata.GivenLists,
    isAsOpened: Bool
  ) -> ExtractionResult {
    switch folder {
    case .success(let opened):
      .made(
        writer.metadata(of: order).apply(
          to: opened.raw, having: isAsOpened ? opened.status : nil, lists: lists))
    case .failure(let error): .failed(error.at(order.entry.path))
    }
  }

  /// Sets the mode of a new folder that no member describes.
  private func describe(undescribed folder: OpenFolder) {
    if options.restoresAttributes {
      for list in [AccessList.accessName, AccessList.defaultName] {
        _ = AccessList.remove(list, from: folder.raw, calls)
      }
    }
    _ = calls.setMode(of: folder.raw, to: options.folderPermissions)
  }

  // MARK: Links

  private func makeSymbolicLink(_ order: ExtractionOrder) throws(BatchError) -> ExtractionResult {
    let target = order.entry.linkTarget ?? ""
    guard !target.isEmpty, !target.containsNUL else {
      throw BatchError(.malformed, "damaged: a symbolic link that leads nowhere")
    }
    guard !options.refusesUnsafeLinks || staysInside(target, from: order.place) else {
      throw BatchError(
        .invalid, "refused: a symbolic link that leads outside", remedy: .allowUnsafeLinks)
    }
    guard !options.isDryRun else { return try writer.rehearse(order) }
    let parent = try writer.parent(of: order.place)
    guard try writer.mayTake(order, in: parent) else { return .kept }
    let name = order.place.name
    let failed = writer.replacing(name, in: parent, by: right) {
      calls.makeSymbolicLink($0, in: parent.raw, to: target)
    }
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    return .made(try writer.metadata(of: order).apply(toMade: name, in: parent))
  }

  /// Whether a link can only lead below the target folder.
  ///
  /// A `..` at its start leads through the real folders of the link. A `..` after a name may lead through another link, so that
  /// name must be a folder.
  private func staysInside(_ target: PathBytes, from place: RelativePath) -> Bool {
    guard !target.isAbsolute else { return false }
    var path = place.parent.split(separator: Self.slash).map { Array($0) }
    var isBehindName = false
    for name in target.bytes.split(separator: Self.slash) {
      if name.elementsEqual(".".utf8) { continue }
      guard name.elementsEqual("..".utf8) else {
        path.append(Array(name))
        isBehindName = true
        continue
      }
      guard !path.isEmpty else { return false }
      if isBehindName, !folder.isFolder(Array(path.joined(separator: [Self.slash]))[...]) { return false }
      path.removeLast()
    }
    return true
  }

  private func makeHardLink(_ order: ExtractionOrder) throws(BatchError) -> ExtractionResult {
    guard let first = order.linkPlace, !first.bytes.isEmpty else {
      throw BatchError(.malformed, "damaged: a hard link that leads nowhere")
    }
    guard !options.isDryRun else {
      guard hasRehearsed(first) || writer.hasSomething(at: first, isFolder: false) else {
        _ = try open(first.parent)
        throw Self.noFirstName
      }
      return try writer.mayTake(order) ? .made([]) : .kept
    }
    let source = try open(first.parent)
    let parent = try writer.parent(of: order.place)
    let standing = try writer.standing(of: order, in: parent)
    guard standing != .kept else { return .kept }
    guard let status = try source.look(at: first.name), status.kind != .directory else {
      throw Self.noFirstName
    }
    // While the link has a temporary name, other runs would treat an unlocked inode as left by a dead run.
    let lock = standing == .free ? nil : Self.lock(first.name, in: source)
    defer { withExtendedLifetime(lock) {} }
    let link = { [calls] (name: PathBytes) in calls.link(first.name, in: source.raw, as: name, in: parent.raw)
    }
    let failed =
      standing == .replaced
      ? parent.replace(order.place.name, by: right, link)
      : writer.replacing(order.place.name, in: parent, by: right, link)
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    return .made([])
  }

  /// Opens a regular file and locks it, if possible.
  ///
  /// - Returns: nil if it cannot be opened.
  static func lock(_ name: PathBytes, in folder: OpenFolder) -> Descriptor? {
    guard let file = try? folder.openFile(name) else { return nil }
    // A lock of another run protects the file too.
    _ = folder.calls.lock(file.raw, isShared: true)
    return file
  }

  /// Opens the folder of the first name of a hard link.
  private func open(_ parent: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    do throws(BatchError) {
      return try folder.open(parent, creating: false)
    } catch {
      guard error.isNotFound else { throw error }
      throw Self.noFirstName
    }
  }

  static let noFirstName = BatchError(
    .invalid, "cannot be made: the file that it is a hard link to is missing")

  private func shareContent(_ order: ExtractionOrder) throws(BatchError) -> ExtractionResult {
    guard let first = order.linkPlace, !first.bytes.isEmpty else {
      throw BatchError(.malformed, "damaged: a hard link that leads nowhere")
    }
    guard !options.isDryRun else { return .made([]) }
    // The first name must be an empty file that this run created.
    guard hasMade(first) else { return .made([]) }
    let target = try folder.open(first.parent, creating: false)
    let parent = try writer.parent(of: order.place)
    guard let status = try target.look(at: first.name), status.kind == .regular else { return .made([]) }
    guard status.size == 0 else { return try linkEqual(order, to: first, status, in: target, parent) }
    let lock = Self.lock(order.place.name, in: parent)
    defer { withExtendedLifetime(lock) {} }
    let failed = target.replace(first.name, by: right) {
      calls.link(order.place.name, in: parent.raw, as: $0, in: target.raw)
    }
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    return .made([])
  }

  /// Makes one file of two names that both have the content, as in the older forms of cpio.
  private func linkEqual(
    _ order: ExtractionOrder, to first: RelativePath, _ status: FileStatus, in target: OpenFolder,
    _ parent: OpenFolder
  ) throws(BatchError) -> ExtractionResult {
    let name = order.place.name
    guard let own = try parent.look(at: name), own.kind == .regular, own.size == status.size,
      own.identity != status.identity, let digest = try writer.content(of: first.name, in: target),
      try writer.content(of: name, in: parent) == digest
    else { return .made([]) }
    let lock = Self.lock(first.name, in: target)
    defer { withExtendedLifetime(lock) {} }
    let failed = parent.replace(name, by: right) {
      calls.link(first.name, in: target.raw, as: $0, in: parent.raw)
    }
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    return .made([])
  }
}
