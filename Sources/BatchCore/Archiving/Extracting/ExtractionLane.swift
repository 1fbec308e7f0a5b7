import BatchEngine
import CLinux
import Glibc

/// Makes files of members, on one thread.
final class ExtractionLane {
  /// Writes content to a file, by pieces at their places.
  typealias Fill = ((UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void) throws(BatchError) -> Void

  /// In bytes; as much as is not worth a look at the name.
  private static let smallFile: UInt64 = 64 << 10

  private let folder: ExtractionFolder
  private let options: ExtractionOptions
  private let owners: OwnerNumbers
  // Members of one folder mostly come together.
  private var current: (path: ArraySlice<UInt8>, descriptor: Int32)?
  /// What a new file in that folder gets that is asked for with these permissions.
  private var given: (permissions: UInt32, status: FileStatus)?

  init(_ folder: ExtractionFolder, _ options: ExtractionOptions, _ owners: OwnerNumbers) {
    self.folder = folder
    self.options = options
    self.owners = owners
  }

  deinit { closeFolder() }

  /// Lets go of the folder that is open.
  func closeFolder() {
    if let current { _ = Glibc.close(current.descriptor) }
    current = nil
    given = nil
  }

  /// Makes what a member describes, or says what is to be made of it later.
  func extract(_ order: ExtractionOrder, _ fill: Fill) -> ExtractionVerdict {
    do throws(BatchError) {
      return try make(order, fill)
    } catch {
      return .failed(error.at(order.entry.path))
    }
  }

  /// Opens the folder of a place; valid until the next call.
  func parent(of place: MemberPath) throws(BatchError) -> Int32 {
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

  /// - Returns: whether to go on; false when what is there is as new.
  /// - Throws: `invalid` when the name is taken for good.
  func mayTake(_ order: ExtractionOrder, in folder: Int32) throws(BatchError) -> Bool {
    guard let status = status(of: order.place.name, in: folder) else { return true }
    guard status.kind != .directory else { throw ExtractedFile.failure(EISDIR) }
    switch options.overwriting {
    case .never: throw ExtractedFile.failure(EEXIST)
    case .always: return true
    case .newer:
      let new = order.entry.modified
      let old = status.modified
      return (new.seconds, new.nanoseconds) > (old.seconds, old.nanoseconds)
    }
  }

  private func make(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> ExtractionVerdict {
    switch order.entry.kind {
    case .directory:
      // Two folders are open on the way to a deep one, and the lane has descriptors for two.
      if order.place.bytes.count > ExtractionFolder.shortHop { closeFolder() }
      if !order.place.bytes.isEmpty { _ = try folder.open(order.place.bytes[...], creating: true) }
      return .deferred(.folder(order))
    case .file: return try makeFile(order, fill)
    case .symbolicLink: return .deferred(.symbolicLink(order))
    case .hardLink:
      guard order.entry.size > 0 else { return .deferred(.hardLink(order)) }
      let verdict = try makeFile(order, fill)
      guard case .made(let losses) = verdict else { return verdict }
      return .deferred(.contentOfLink(order), losses)
    case .fifo: return try makeNode(order, S_IFIFO)
    case .characterDevice, .blockDevice:
      guard options.makesDevices else {
        throw BatchError(.special, "refused: a device", remedy: "see --devices")
      }
      return try makeNode(order, order.entry.kind == .blockDevice ? S_IFBLK : S_IFCHR)
    }
  }

  private func makeFile(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> ExtractionVerdict {
    let parent = try parent(of: order.place)
    // A name that is taken shows when the file is to get it; looking before is for what takes time to make.
    let looksBefore = options.overwriting != .never || order.entry.size > Self.smallFile
    if looksBefore, try !mayTake(order, in: parent) { return .kept }
    let file = try ExtractedFile(in: parent, permissions: metadata(of: order).permissions)
    let losses = try self.fill(file, order, isInCurrentFolder: true, fill)
    try publish(file, order, in: parent)
    return .made(losses)
  }

  /// Makes a file that gets its name later.
  ///
  /// - Throws: what `fill` throws; `unwritable`.
  func stage(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> StagedFile {
    let folder = try stagingFolder(of: order.place)
    let file = try ExtractedFile(in: folder.raw, permissions: metadata(of: order).permissions)
    let losses = try self.fill(file, order, isInCurrentFolder: false, fill)
    return StagedFile(file, losses: losses, folder: folder)
  }

  /// The folder of a place where it is there, so that a file gets from it what new files get; else the target folder.
  private func stagingFolder(of place: MemberPath) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      return try folder.open(place.parent, creating: false)
    } catch {
      return try folder.open([], creating: false)
    }
  }

  /// Gives a file its name that was made before.
  func publish(_ file: StagedFile, as order: ExtractionOrder) -> ExtractionVerdict {
    do throws(BatchError) {
      let parent = try parent(of: order.place)
      guard try mayTake(order, in: parent) else { return .kept }
      try file.publish(as: order.place.name, in: parent, replacing: options.overwriting != .never)
      guard order.entry.kind == .hardLink else { return .made(file.losses) }
      return .deferred(.contentOfLink(order), file.losses)
    } catch {
      return .failed(error.at(order.entry.path))
    }
  }

  /// Removes what this run made at a place.
  ///
  /// - Returns: whether it is gone; a folder that holds something stays.
  func remove(_ place: MemberPath, isFolder: Bool) -> Bool {
    do throws(BatchError) {
      let parent = try folder.open(place.parent, creating: false)
      return place.name.withCString { unlinkat(parent.raw, $0, isFolder ? AT_REMOVEDIR : 0) == 0 }
    } catch {
      return false
    }
  }

  private func fill(
    _ file: borrowing ExtractedFile, _ order: ExtractionOrder, isInCurrentFolder: Bool, _ fill: Fill
  ) throws(BatchError) -> EntryMetadata.Losses {
    let metadata = metadata(of: order)
    let descriptor = file.descriptor
    var end: UInt64 = 0
    try fill { (bytes, offset) throws(BatchError) in
      try file.write(bytes, at: offset)
      end = offset + UInt64(bytes.count)
    }
    guard end <= order.entry.size else {
      throw BatchError(.malformed, "damaged: there is more content than its size says")
    }
    if end < order.entry.size {
      guard order.entry.dataMap != nil else {
        throw BatchError(.malformed, "damaged: there is less content than its size says")
      }
      try file.setSize(order.entry.size)
    }
    let hasGiven = isInCurrentFolder && !file.isNamed
    return metadata.apply(
      to: descriptor, having: hasGiven ? given(descriptor, metadata.permissions) : nil)
  }

  private func publish(
    _ file: consuming ExtractedFile, _ order: ExtractionOrder, in parent: Int32
  ) throws(BatchError) {
    do throws(BatchError) {
      try file.publish(as: order.place.name, replacing: options.overwriting != .never)
    } catch {
      // Says so where it is a folder that has the name.
      if error.errno == 0 { _ = try mayTake(order, in: parent) }
      throw error
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

  private func makeNode(_ order: ExtractionOrder, _ kind: mode_t) throws(BatchError) -> ExtractionVerdict {
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
