import BatchEngine
import CLinux
import Glibc

/// Makes what members describe, on one thread: workers make folders and staged files, the collector all names.
final class ExtractionLane {
  /// Writes content to a file, by pieces at their places.
  typealias Fill = ((UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void) throws(BatchError) -> Void

  /// In bytes; as much as is not worth a look at the name.
  private static let smallFile: UInt64 = 64 << 10

  let folder: ExtractionFolder
  let options: ExtractionOptions
  let cancellation: Cancellation
  /// Made for the first file whose digest is known before.
  private var digests: DigestStream?
  private let owners = OwnerNumbers()
  // Members of one folder mostly come together.
  private var current: (path: ArraySlice<UInt8>, descriptor: Int32)?
  /// Hashes of the places that were given up for later members in a dry run.
  var freed: Set<Int> = []
  /// What a new file in that folder gets that is asked for with these permissions.
  private var given: (permissions: UInt32, status: FileStatus)?

  init(_ folder: ExtractionFolder, _ options: ExtractionOptions, _ cancellation: Cancellation) {
    self.folder = folder
    self.options = options
    self.cancellation = cancellation
  }

  deinit { closeFolder() }

  /// Lets go of the folder that is open.
  func closeFolder() {
    if let current { _ = Glibc.close(current.descriptor) }
    current = nil
    given = nil
  }

  /// Opens the folder of a place; valid until the next call.
  func parent(of place: RelativePath) throws(BatchError) -> Int32 {
    if let current, current.path == place.parent { return current.descriptor }
    closeFolder()
    let number = try folder.open(place.parent, creating: true).release()
    current = (place.parent, number)
    if options.isSynced { folder.registerFileSystem(of: number) }
    // Where files may be replaced, a run may be there to finish the work of one that was killed.
    if options.overwriting != .never { folder.clear(number, place.parent) }
    return number
  }

  /// The inode that has a name, nil for none.
  func status(of name: PathBytes, in folder: Int32) -> FileStatus? {
    var raw = stat()
    let result = name.withCString { fstatat(folder, $0, &raw, AT_SYMLINK_NOFOLLOW) }
    return result == 0 ? FileStatus(raw) : nil
  }

  /// What is to be done about what has the name of a member.
  enum Standing {
    /// Nothing has it.
    case free
    case replaced
    /// It is as new, or equal.
    case kept
  }

  /// - Throws: `invalid` when the name is taken for good.
  func standing(of order: ExtractionOrder, in folder: Int32) throws(BatchError) -> Standing {
    guard let status = status(of: order.place.name, in: folder) else { return .free }
    guard status.kind != .directory else { throw ExtractedFile.failure(EISDIR) }
    switch options.overwriting {
    case .never:
      guard options.acceptsEqual, try isEqual(status, to: order, in: folder) else {
        throw ExtractedFile.failure(EEXIST)
      }
      return .kept
    case .always: return .replaced
    case .newer:
      let new = order.entry.modified
      let old = status.modified
      return (new.seconds, new.nanoseconds) > (old.seconds, old.nanoseconds) ? .replaced : .kept
    }
  }

  /// - Returns: whether to go on; false when what is there is as new.
  /// - Throws: `invalid` when the name is taken for good.
  func mayTake(_ order: ExtractionOrder, in folder: Int32) throws(BatchError) -> Bool {
    try standing(of: order, in: folder) != .kept
  }

  // MARK: Folders and files

  /// Makes the folder that a member describes; it gets its metadata when all that is in it is there.
  func makeFolder(_ order: ExtractionOrder) throws(BatchError) {
    // Two folders are open on the way to a deep one, and the lane has descriptors for two.
    if order.place.bytes.count > ExtractionFolder.shortHop { closeFolder() }
    guard !options.isDryRun else {
      _ = try folder.openIfThere(order.place.bytes[...])
      return
    }
    if !order.place.bytes.isEmpty { _ = try folder.open(order.place.bytes[...], creating: true) }
  }

  /// A file with content and metadata.
  enum Made {
    /// It is new, and has its name.
    case named(MadeFile)
    case staged(StagedFile)
  }

  /// Makes a file with content and metadata in the folder that it goes to.
  ///
  /// Where nothing has its name, it gets that at once: a temporary one and a rename take a fifth more CPU time, and what
  /// is new can be removed when it turns out to lie behind damage. What would replace another file waits under a temporary
  /// name, unless damage does not end the extraction.
  ///
  /// - Returns: nil where what is there is as new.
  /// - Throws: what `fill` throws; `unwritable`; `invalid` when the name is taken.
  func make(
    _ order: ExtractionOrder, among files: () -> StagedFiles, _ fill: Fill
  ) throws(BatchError) -> Made? {
    guard !options.isDryRun else { return try rehearse(order, fill) }
    let parent = try parent(of: order.place)
    // A name that is taken shows when the file is to get it; looking before is for what takes time to make.
    let isSmall = order.entry.size <= Self.smallFile
    let isLooked = options.overwriting != .never || options.acceptsEqual || !isSmall
    let standing = isLooked ? try standing(of: order, in: parent) : .free
    if standing == .kept { return nil }
    let metadata = metadata(of: order)
    var permissions = metadata.permissions
    if standing == .free, order.entry.kind == .file,
      let file = try ExtractedFile.unnamed(in: parent, permissions: permissions)
    {
      let losses = try self.fill(file, order, metadata, permissions, fill)
      guard let name = try link(file, order, in: parent, among: files) else {
        return .named(MadeFile(order, losses: losses))
      }
      return try publishEarly(
        StagedFile(name: name, folder: order.place.parent, losses: losses), as: order)
    }
    // Until it has its owner, a file that others see is its owner's alone.
    if !metadata.isOwned(like: given?.status) { permissions = 0o600 }
    let file = try ExtractedFile(
      in: parent, order.place.parent, permissions: permissions, isLocked: !isSmall, among: files())
    let losses = try self.fill(file, order, metadata, permissions, fill)
    return try publishEarly(try file.stage(in: order.place.parent, losses: losses), as: order)
  }

  /// Gives a file its name where no row decides about it.
  ///
  /// - Returns: nil where what is there is as new.
  private func publishEarly(_ file: StagedFile, as order: ExtractionOrder) throws(BatchError) -> Made? {
    guard options.keepsGoing, order.entry.kind == .file else { return .staged(file) }
    guard case .made = try publish(file, as: order) else { return nil }
    return .named(MadeFile(order, losses: file.losses))
  }

  private func fill(
    _ file: borrowing ExtractedFile, _ order: ExtractionOrder, _ metadata: EntryMetadata,
    _ permissions: UInt32, _ fill: Fill
  ) throws(BatchError) -> EntryMetadata.Losses {
    let end = try self.fill(file, order, fill)
    try checkSize(of: file, order, end: end)
    return metadata.apply(to: file.descriptor, having: given(file.descriptor, permissions))
  }

  /// - Returns: the temporary name of a file that would replace what came meanwhile; nil for one that has its name.
  private func link(
    _ file: consuming ExtractedFile, _ order: ExtractionOrder, in parent: Int32,
    among files: () -> StagedFiles
  ) throws(BatchError) -> TemporaryName? {
    let isReplacing = options.overwriting != .never
    do throws(BatchError) {
      return try file.link(
        as: order.place.name, in: parent, order.place.parent, among: isReplacing ? files() : nil)
    } catch {
      // Says so where it is a folder that has the name.
      if error.errno == 0 { _ = try mayTake(order, in: parent) }
      throw error
    }
  }

  private func fill(
    _ file: borrowing ExtractedFile, _ order: ExtractionOrder, _ fill: Fill
  ) throws(BatchError) -> UInt64 {
    var end: UInt64 = 0
    let content = try expectedContent(of: order, reusing: true)
    try fill { (bytes, offset) throws(BatchError) in
      try content?.add(bytes, at: offset)
      try file.write(bytes, at: offset)
      end = offset + UInt64(bytes.count)
    }
    try content?.check(size: order.entry.size)
    return end
  }

  /// Nil where the archive alone says what the content is.
  func expectedContent(
    of order: ExtractionOrder, reusing isReused: Bool
  ) throws(BatchError) -> ExpectedContent? {
    guard let digest = order.digest else { return nil }
    if isReused, let digests { return ExpectedContent(digest, digests, cancellation) }
    let stream = try DigestStream(.sha256)
    if isReused { digests = stream }
    return ExpectedContent(digest, stream, cancellation)
  }

  /// Makes a file that waits for members before it.
  ///
  /// - Throws: what `fill` throws; `unwritable`.
  func stageWaiting(
    _ order: ExtractionOrder, among files: StagedFiles, _ fill: Fill
  ) throws(BatchError) -> StagedFile {
    guard !options.isDryRun else {
      try check(order, fill)
      return rehearsed(order)
    }
    var file = try beginWaiting(order, among: files)
    try fill { (bytes, offset) throws(BatchError) in try file.write(bytes, at: offset) }
    return try end(file, order)
  }

  /// Begins a file whose content comes piece by piece.
  ///
  /// - Returns: nil where what is there is as new.
  func begin(_ order: ExtractionOrder, among files: StagedFiles) throws(BatchError) -> GrowingFile? {
    guard !options.isDryRun else {
      if order.turn == .any, try !mayTake(order) { return nil }
      return GrowingFile(
        file: try ExtractedFile(discardedIn: folder.rootDescriptor), folder: nil, path: [],
        content: try expectedContent(of: order, reusing: false))
    }
    guard order.turn == .any else { return try beginWaiting(order, among: files) }
    guard try mayTake(order, in: try parent(of: order.place)) else { return nil }
    return try begin(order, in: order.place.parent, among: files)
  }

  private func beginWaiting(
    _ order: ExtractionOrder, among files: StagedFiles
  ) throws(BatchError) -> GrowingFile {
    // One of the members before it may have the name of a folder above; a file gets from its folder what new files get.
    try begin(order, in: folder.isFolder(order.place.parent) ? order.place.parent : [], among: files)
  }

  private func begin(
    _ order: ExtractionOrder, in path: ArraySlice<UInt8>, among files: StagedFiles
  ) throws(BatchError) -> GrowingFile {
    let parent = try folder.open(path, creating: false)
    let file = try ExtractedFile(in: parent.raw, path, among: files)
    return GrowingFile(
      file: file, folder: parent, path: path, content: try expectedContent(of: order, reusing: false))
  }

  /// Ends a file whose content is complete.
  func end(_ file: consuming GrowingFile, _ order: ExtractionOrder) throws(BatchError) -> StagedFile {
    try checkSize(of: file.file, order, end: file.end)
    try file.content?.check(size: order.entry.size)
    guard !options.isDryRun else { return rehearsed(order) }
    let losses = metadata(of: order).apply(to: file.file.descriptor)
    return try file.stage(losses: losses)
  }

  /// Gives a sparse file its size; any other has it.
  private func checkSize(
    of file: borrowing ExtractedFile, _ order: ExtractionOrder, end: UInt64
  ) throws(BatchError) {
    try checkSize(order, end: end)
    if end < order.entry.size { try file.setSize(order.entry.size) }
  }

  /// - Throws: `malformed` where the content ends elsewhere than it is to end.
  func checkSize(_ order: ExtractionOrder, end: UInt64) throws(BatchError) {
    guard end <= order.entry.size else {
      throw BatchError(.malformed, "damaged: there is more content than its size says")
    }
    guard end == order.entry.size || order.entry.dataMap != nil else {
      throw BatchError(.malformed, "damaged: there is less content than its size says")
    }
  }

  /// Owner and mode of a new file, which those of the folder, its lists and the umask make; the same for each
  /// file of the folder that is asked for with the same permissions.
  private func given(_ file: Int32, _ permissions: UInt32) -> FileStatus? {
    if let given, given.permissions == permissions { return given.status }
    var raw = stat()
    guard fstat(file, &raw) == 0 else { return nil }
    let status = FileStatus(raw)
    given = (permissions, status)
    return status
  }

  /// Gives a file its name that was made before.
  func publish(_ file: StagedFile, as order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    guard !options.isDryRun else {
      if order.turn != .any, try !mayTake(order) { return .kept }
      return order.entry.kind == .hardLink
        ? .deferred(.contentOfLink(order), file.losses) : .made(file.losses)
    }
    let parent = try parent(of: order.place)
    // Another member of the run may have made what is there now.
    if order.turn != .any, try !mayTake(order, in: parent) { return .kept }
    if file.folder == order.place.parent {
      try rename(file.name, in: parent, to: order, in: parent)
    } else {
      let staging = try folder.open(file.folder, creating: false)
      try rename(file.name, in: staging.raw, to: order, in: parent)
    }
    guard order.entry.kind == .hardLink else { return .made(file.losses) }
    return .deferred(.contentOfLink(order), file.losses)
  }

  private func rename(
    _ name: TemporaryName, in folder: Int32, to order: ExtractionOrder, in parent: Int32
  ) throws(BatchError) {
    let isReplacing = options.overwriting != .never
    do throws(BatchError) {
      try ExtractedFile.rename(name, in: folder, to: order.place.name, in: parent, replacing: isReplacing)
    } catch {
      // Says so where it is a folder that has the name.
      if error.errno == 0 { _ = try mayTake(order, in: parent) }
      throw error
    }
  }

  /// Removes a file that was made in this run, unless something else has its name by now.
  func remove(_ file: MadeFile) {
    guard !options.isDryRun, let parent = try? folder.open(file.place.parent, creating: false),
      let status = status(of: file.place.name, in: parent.raw), file.isPossibly(status)
    else { return }
    _ = file.place.name.withCString { unlinkat(parent.raw, $0, 0) }
  }

  /// Removes what this run made at a place.
  ///
  /// - Returns: whether it is gone; a folder that holds something stays.
  func remove(_ place: RelativePath, isFolder: Bool) -> Bool {
    guard !options.isDryRun else {
      guard !isFolder, !folder.hasMade(place) else { return false }
      freed.insert(place.bytes.hashValue)
      return true
    }
    do throws(BatchError) {
      let parent = try folder.open(place.parent, creating: false)
      return place.name.withCString { unlinkat(parent.raw, $0, isFolder ? AT_REMOVEDIR : 0) == 0 }
    } catch {
      return false
    }
  }

  /// Makes a FIFO or a device.
  func makeNode(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    let kind: mode_t
    switch order.entry.kind {
    case .fifo: kind = S_IFIFO
    case .blockDevice where options.makesDevices: kind = S_IFBLK
    case .characterDevice where options.makesDevices: kind = S_IFCHR
    default: throw BatchError(.special, "refused: a device", remedy: .makeDevices)
    }
    guard !options.isDryRun else { return try rehearse(order) }
    let parent = try parent(of: order.place)
    guard try mayTake(order, in: parent) else { return .kept }
    let name = order.place.name
    let failed = replacing(name, in: parent) { pointer in
      clinux_mknodat(parent, pointer, kind | 0o600, order.entry.deviceMajor, order.entry.deviceMinor)
    }
    guard failed == 0 else { throw ExtractedFile.failure(failed) }
    return .made(try metadata(of: order).apply(toMade: name, in: parent))
  }

  /// Makes something under a name, or under another one and then in place of what has the name.
  ///
  /// - Returns: 0 or the error number.
  func replacing(_ name: PathBytes, in folder: Int32, _ make: (UnsafePointer<CChar>) -> Int32) -> Int32 {
    let failed = name.withCString { make($0) == 0 ? 0 : errno }
    guard failed == EEXIST, options.overwriting != .never else { return failed }
    return Self.replace(name, in: folder, make)
  }

  /// Makes something under a temporary name, and gives it the name of what is there.
  ///
  /// - Returns: 0 or the error number.
  static func replace(
    _ name: PathBytes, in folder: Int32, registry: AtomicFileRegistry = .shared,
    _ make: (UnsafePointer<CChar>) -> Int32
  ) -> Int32 {
    let step = TemporaryName()
    let made = registry.add(step, in: folder) {
      PathBytes(step.bytes).withCString { make($0) == 0 ? 0 : -Int(errno) }
    }
    guard made >= 0 else { return Int32(truncatingIfNeeded: -made) }
    // Where both are names of one inode already, the rename leaves both.
    defer { registry.remove(step, unlinking: true) }
    return PathBytes(step.bytes).withCString { old in
      name.withCString { renameat(folder, old, folder, $0) == 0 ? 0 : errno }
    }
  }

  func metadata(of order: ExtractionOrder) -> EntryMetadata {
    EntryMetadata(entry: order.entry, options: options, owners: owners)
  }
}
