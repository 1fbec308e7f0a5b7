import BatchEngine
import var Glibc.ECANCELED
import var Glibc.EEXIST
import var Glibc.EISDIR
import var Glibc.ENOENT
import var Glibc.ENOTEMPTY

/// Creates members, on one thread: workers create folders and staged files, the collector does everything that needs final names.
final class MemberWriter {
  /// Writes content to a file, as pieces with their offsets.
  typealias Fill = ((UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void) throws(BatchError) -> Void

  /// In bytes. For smaller files it is not worth checking the name before writing.
  private static let smallFile: UInt64 = 64 << 10

  let folder: ContainedFolder
  let options: ExtractionOptions
  let cancellation: Cancellation
  private let names = EarlyNames()
  /// Created for the first file with an expected digest.
  private var digests: DigestStream?
  /// While a segment is read: digests of its members that were computed in advance.
  var ahead: DigestsAhead?
  private let owners = OwnerNumbers()
  // Members of one folder usually follow each other, and come behind it.
  private var current: ContainedFolder.Place?
  /// Hashes of the places that later members would replace in a dry run.
  var freed: Set<Int> = []

  init(
    _ folder: ContainedFolder, _ options: ExtractionOptions, _ cancellation: Cancellation
  ) {
    self.folder = folder
    self.options = options
    self.cancellation = cancellation
  }

  func closeFolder() { current = nil }

  func parent(of place: RelativePath) throws(BatchError) -> OpenFolder {
    var entered = try enter(place.parent)
    guard !entered.isPrepared else { return entered.folder }
    if options.isSynced { folder.registerFileSystem(of: entered.folder) }
    // If files may be replaced, this run may continue one that was killed, so its temporary files are removed.
    if options.replacing != .never { folder.clear(entered.folder, place.parent) }
    entered.isPrepared = true
    current = entered
    return entered.folder
  }

  private func enter(_ path: ArraySlice<UInt8>) throws(BatchError) -> ContainedFolder.Place {
    try folder.enter(path, after: &current)
  }

  /// How to treat an existing file with the name of a member.
  enum Standing {
    case free
    case replaced
    /// The existing file is as new, or equal.
    case kept
  }

  /// - Throws: `invalid` if the existing file may not be replaced.
  func standing(of order: ExtractionOrder, in folder: OpenFolder) throws(BatchError) -> Standing {
    guard let status = try? folder.look(at: order.place.name) else { return .free }
    guard status.kind != .directory else { throw Self.failure(EISDIR) }
    switch options.replacing {
    case .never:
      guard options.acceptsEqual else { throw Self.failure(EEXIST) }
      if try isEqual(status, to: order, in: folder) { return .kept }
      // A file with the same content as its first name becomes a further name of it again.
      guard try isCopyOfFirst(status, order, in: folder) else { throw Self.failure(EEXIST) }
      return .replaced
    case .always:
      guard options.acceptsEqual, hasMetadata(status, of: order, in: folder),
        try isEqual(status, to: order, in: folder)
      else { return .replaced }
      return .kept
    case .older:
      let new = order.entry.modified
      let old = status.modified
      return (new.seconds, new.nanoseconds) > (old.seconds, old.nanoseconds) ? .replaced : .kept
    }
  }

  /// - Returns: whether to continue; false if the existing file is as new.
  /// - Throws: `invalid` if the existing file may not be replaced.
  func mayTake(_ order: ExtractionOrder, in folder: OpenFolder) throws(BatchError) -> Bool {
    try standing(of: order, in: folder) != .kept
  }

  // MARK: Folders and files

  /// The step that creates a link, or describes a folder after its contents; creates the folder. Nil for other members.
  func deferredStep(for order: ExtractionOrder) throws(BatchError) -> DeferredStep? {
    switch order.entry.kind {
    case .directory:
      try makeFolder(order)
      return DeferredStep(.folder, order)
    case .symbolicLink: return DeferredStep(.symbolicLink, order)
    case .hardLink where order.entry.size == 0: return DeferredStep(.hardLink, order)
    case .file, .hardLink, .fifo, .characterDevice, .blockDevice: return nil
    }
  }

  func makeFolder(_ order: ExtractionOrder) throws(BatchError) {
    guard !options.isDryRun else {
      _ = try folder.openIfThere(order.place.bytes[...])
      return
    }
    guard !order.place.bytes.isEmpty else { return }
    var parent = try enter(order.place.parent)
    try folder.makeFolder(order.place, in: &parent)
    current = parent
  }

  /// A file with content and metadata.
  enum Made {
    /// It is new and has its final name, and can be removed again.
    case undoable(MadeFile)
    case staged(StagedFile)
  }

  /// Creates a file with content and metadata in its folder.
  ///
  /// If the name is free, the file gets it at once: a temporary name and a rename take a fifth more CPU time, and a new file
  /// can be removed if damage is found before it. A file that would replace another one waits under a temporary name, unless
  /// damage does not end the extraction.
  ///
  /// - Returns: nil if the existing file is as new.
  /// - Throws: the error of `fill`; `unwritable`; `invalid` when the name is taken.
  func make(
    _ order: ExtractionOrder, _ fill: Fill
  ) throws(BatchError) -> Made? {
    guard !options.isDryRun else { return try rehearse(order, fill) }
    let parent = try parent(of: order.place)
    // The final link detects a name that is taken. The check before saves the work for a large file.
    let isSmall = order.entry.size <= Self.smallFile
    let isLooked = options.replacing != .never || options.acceptsEqual || !isSmall
    let standing = isLooked ? try standing(of: order, in: parent) : .free
    if standing == .kept { return nil }
    let metadata = metadata(of: order)
    var permissions = metadata.permissions
    if standing == .free, order.entry.kind == .file,
      var file = try create({ () throws(BatchError) in
        try TemporaryFile.unnamed(in: parent, permissions: permissions, area: folder.area)
      })
    {
      let losses = try self.fill(file, for: order, metadata: metadata, with: fill)
      if try link(&file, order, in: parent) { return .undoable(MadeFile(order, losses: losses)) }
      return try publishEarly(stage(file, in: order.place.parent, losses), as: order)
    }
    // Until a visible file has its final owner and lists, only its creator may read it.
    let isFinal = metadata.isOwned(like: parent.knownStatusOfNew) && parent.listsOfNewFiles != .inherited
    if !isFinal { permissions = 0o600 }
    let file = try create { () throws(BatchError) in
      try TemporaryFile(in: parent, permissions: permissions, isLocked: !isSmall, area: folder.area)
    }
    let losses = try self.fill(file, for: order, metadata: metadata, with: fill)
    return try publishEarly(stage(file, in: order.place.parent, losses), as: order)
  }

  /// Any error of creating the file means that the target cannot be written.
  private func create<File: ~Copyable>(_ make: () throws(BatchError) -> File) throws(BatchError) -> File {
    do throws(BatchError) {
      return try make()
    } catch {
      throw error.code == .cancelled ? error : error.recoded(.unwritable)
    }
  }

  /// Closes a file that waits for its name.
  private func stage(
    _ file: consuming TemporaryFile, in path: ArraySlice<UInt8>, _ losses: EntryMetadata.Losses
  ) throws(BatchError) -> StagedFile {
    StagedFile(
      name: try file.stage(in: StagedFolder(path, below: folder)), folder: path, losses: losses)
  }

  /// Gives a file its final name if the collector need not decide about it.
  ///
  /// - Returns: nil if the existing file is as new.
  private func publishEarly(_ file: StagedFile, as order: ExtractionOrder) throws(BatchError) -> Made? {
    guard options.keepsGoing, order.entry.kind == .file else { return .staged(file) }
    guard case .made = try names.publish(file, as: order, by: self) else { return nil }
    return .undoable(MadeFile(order, losses: file.losses))
  }

  private func fill(
    _ file: borrowing TemporaryFile, for order: ExtractionOrder, metadata: EntryMetadata, with fill: Fill
  ) throws(BatchError) -> EntryMetadata.Losses {
    var end: UInt64 = 0
    let content = try expectedContent(of: order, reusing: true)
    try fill { (bytes, offset) throws(BatchError) in
      if !order.isJoined { try content?.add(bytes, at: offset) }
      try file.write(bytes, at: offset)
      end = max(end, offset + UInt64(bytes.count))
    }
    if order.isJoined { try readBack(file, upTo: end, to: content) }
    try content?.check(size: order.entry.size)
    try order.entry.checkSize(end: end)
    // A sparse file may end in a hole.
    if end < order.entry.size { try file.setSize(order.entry.size) }
    return metadata.apply(to: file.raw, having: file.given, lists: .ofFile(in: file.folder))
  }

  /// Reads a file whose pieces came in any order.
  private func readBack(
    _ file: borrowing TemporaryFile, upTo end: UInt64, to content: ContentDigest?
  ) throws(BatchError) {
    guard let content else { return }
    let buffer = try ScratchBuffer(capacity: 1 << 20)
    var position: UInt64 = 0
    while position < end {
      try cancellation.check()
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.room[..<Int(min(UInt64(buffer.room.count), end - position))])
      let count = folder.root.calls.read(file.raw, into: room, at: Int(clamping: position))
      guard count > 0 else { throw BatchError(.unwritable, "cannot be read back") }
      try content.add(UnsafeRawBufferPointer(rebasing: room[..<count]), at: position)
      position += UInt64(count)
    }
  }

  /// - Returns: false if a file that may be replaced was created meanwhile.
  private func link(
    _ file: inout TemporaryFile, _ order: ExtractionOrder, in parent: OpenFolder
  ) throws(BatchError) -> Bool {
    let failed = try names.link(&file, as: order.place.name)
    if failed == 0 { return true }
    if failed == EEXIST, options.replacing != .never { return false }
    try check(failed, order, in: parent)
    return true
  }

  /// - Throws: the error of giving a file its final name.
  private func check(_ failed: Int32, _ order: ExtractionOrder, in parent: OpenFolder) throws(BatchError) {
    guard failed != 0 else { return }
    if failed == ECANCELED { throw .output("create", errno: failed) }
    let error = Self.failure(failed)
    // Throws a clearer error if a folder has the name.
    if error.errno == 0 { _ = try mayTake(order, in: parent) }
    throw error
  }

  static func failure(_ number: Int32) -> BatchError {
    switch number {
    case EEXIST: BatchError(.invalid, "exists already", remedy: .overwriteFiles)
    case EISDIR, ENOTEMPTY: BatchError(.invalid, "a folder has its name")
    default: BatchError.syscall("create", errno: number).recoded(.unwritable)
    }
  }

  /// The expected content; nil if no digest is known.
  func expectedContent(
    of order: ExtractionOrder, reusing isReused: Bool
  ) throws(BatchError) -> ContentDigest? {
    guard let digest = order.digest else { return nil }
    let stream = if isReused, let digests { digests } else { try DigestStream(.sha256) }
    if isReused { digests = stream }
    return ContentDigest(stream, ahead: ahead, expecting: digest, cancellation: cancellation)
  }

  /// Creates a file that waits for earlier members.
  ///
  /// - Throws: the error of `fill`; `unwritable`.
  func stageWaiting(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> StagedFile {
    guard !options.isDryRun else {
      try check(order, fill)
      return rehearsed(order)
    }
    var file = try beginWaiting(order)
    try fill { (bytes, offset) throws(BatchError) in try file.write(bytes, at: offset) }
    return try end(file, order)
  }

  /// Begins a file whose content comes piece by piece.
  ///
  /// - Returns: nil if the existing file is as new.
  func begin(_ order: ExtractionOrder) throws(BatchError) -> GrowingFile? {
    guard !options.isDryRun else {
      if order.wait == .nothing, try !mayTake(order) { return nil }
      return GrowingFile(file: nil, path: [], content: try expectedContent(of: order, reusing: false))
    }
    guard order.wait == .nothing else { return try beginWaiting(order) }
    guard try mayTake(order, in: try parent(of: order.place)) else { return nil }
    return try begin(order, in: order.place.parent)
  }

  private func beginWaiting(_ order: ExtractionOrder) throws(BatchError) -> GrowingFile {
    // An earlier member may still have the name of a parent folder. A file inherits attributes from its folder, so it is created there if
    // possible.
    try begin(order, in: folder.isFolder(order.place.parent) ? order.place.parent : [])
  }

  private func begin(
    _ order: ExtractionOrder, in path: ArraySlice<UInt8>
  ) throws(BatchError) -> GrowingFile {
    let parent = try folder.open(path, creating: false)
    let file = try create { () throws(BatchError) in try TemporaryFile(in: parent, area: folder.area) }
    return GrowingFile(file: file, path: path, content: try expectedContent(of: order, reusing: false))
  }

  func end(_ file: consuming GrowingFile, _ order: ExtractionOrder) throws(BatchError) -> StagedFile {
    var growing = file
    try order.entry.checkSize(end: growing.end)
    try growing.content?.check(size: order.entry.size)
    let path = growing.path
    guard let file = growing.take() else { return rehearsed(order) }
    if growing.end < order.entry.size { try file.setSize(order.entry.size) }
    let losses = metadata(of: order).apply(to: file.raw, lists: .ofFile(in: file.folder))
    return try stage(file, in: path, losses)
  }

  /// Gives a staged file its final name.
  func publish(
    _ file: StagedFile, as order: ExtractionOrder, by right: CommitRight
  ) throws(BatchError) -> ExtractionResult {
    guard !options.isDryRun else {
      if order.wait != .nothing, try !mayTake(order) { return .kept }
      return order.entry.kind == .hardLink
        ? .deferred(DeferredStep(.contentOfLink, order), file.losses) : .made(file.losses)
    }
    // A file that gets no name is removed at once.
    var isNamed = false
    defer { if !isNamed { folder.area.remove(file.name, unlinking: true) } }
    let parent = try parent(of: order.place)
    // An earlier member of this run may have created the existing file.
    if order.wait != .nothing, try !mayTake(order, in: parent) { return .kept }
    let staging = file.folder == order.place.parent ? parent : try folder.open(file.folder, creating: false)
    let failed = TemporaryFile.rename(
      file.name, in: staging, to: order.place.name, in: parent, replacing: options.replacing != .never,
      area: folder.area, by: right)
    guard failed != ENOENT else {
      throw BatchError(.unwritable, "its temporary file is gone: another run or program removed it")
    }
    try check(failed, order, in: parent)
    isNamed = true
    guard order.entry.kind == .hardLink else { return .made(file.losses) }
    return .deferred(DeferredStep(.contentOfLink, order), file.losses)
  }

  /// Removes a file that this run created, unless another file has its name now.
  func remove(_ file: MadeFile, by right: CommitRight) {
    guard !options.isDryRun, let parent = try? folder.open(file.place.parent, creating: false),
      let status = try? parent.look(at: file.place.name), file.isPossibly(status)
    else { return }
    parent.remove(file.place.name, by: right)
  }

  /// Removes what this run created at a place.
  ///
  /// - Returns: whether it was removed; a folder that is not empty stays.
  func remove(_ place: RelativePath, isFolder: Bool, by right: CommitRight) -> Bool {
    guard !options.isDryRun else {
      guard !isFolder, !folder.hasMade(place) else { return false }
      freed.insert(place.bytes.hashValue)
      return true
    }
    let parent = try? folder.open(place.parent, creating: false)
    return parent?.remove(place.name, isFolder: isFolder, by: right) == 0
  }

  /// Creates a FIFO or a device.
  func makeNode(
    _ order: ExtractionOrder, by right: CommitRight
  ) throws(BatchError) -> ExtractionResult {
    let kind: FileStatus.Kind
    switch order.entry.kind {
    case .fifo: kind = .fifo
    case .blockDevice where options.makesDevices: kind = .blockDevice
    case .characterDevice where options.makesDevices: kind = .characterDevice
    default: throw BatchError(.special, "refused: a device", remedy: .makeDevices)
    }
    guard !options.isDryRun else { return try rehearse(order) }
    let parent = try parent(of: order.place)
    guard try mayTake(order, in: parent) else { return .kept }
    let name = order.place.name
    let failed = replacing(name, in: parent, by: right) { name in
      parent.calls.makeNode(
        name, in: parent.raw, kind: kind, permissions: 0o600, major: order.entry.deviceMajor,
        minor: order.entry.deviceMinor)
    }
    guard failed == 0 else { throw Self.failure(failed) }
    return .made(try metadata(of: order).apply(toMade: name, in: parent))
  }

  /// Creates an entry; if the name is taken, creates it under a temporary name and renames it over the existing file.
  ///
  /// - Parameter make: returns 0 or the negative error number.
  /// - Returns: 0 or the error number.
  func replacing(
    _ name: PathBytes, in folder: OpenFolder, by right: CommitRight, _ make: (PathBytes) -> Int32
  ) -> Int32 {
    let failed = -make(name)
    guard failed == EEXIST, options.replacing != .never else { return failed }
    return folder.replace(name, by: right, make)
  }

  func metadata(of order: ExtractionOrder) -> EntryMetadata {
    EntryMetadata(
      entry: order.entry, options: options, owners: owners, calls: folder.root.calls)
  }
}
