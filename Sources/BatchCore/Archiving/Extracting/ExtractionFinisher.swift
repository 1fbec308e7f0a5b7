import BatchEngine
import CLinux
import Glibc

/// What is left to do when all files are there: symbolic links, further names, and the metadata of folders.
struct ExtractionFinisher {
  private static let slash = UInt8(ascii: "/")

  let folder: ExtractionFolder
  let options: ExtractionOptions
  let lane: ExtractionLane
  /// Whether this run made a file at a place.
  let hasMade: (RelativePath) -> Bool

  /// Takes what became of a member.
  typealias Report = (ExtractionOrder, ExtractionVerdict) throws(BatchError) -> Void

  /// Makes the links of some steps, kind by kind, each kind in the order of the archive.
  ///
  /// - Throws: what `report` throws.
  func makeLinks(_ steps: [DeferredStep], report: Report) throws(BatchError) {
    defer { lane.closeFolder() }
    for case .contentOfLink(let order) in steps { try report(order, attempt(order, shareContent)) }
    for case .symbolicLink(let order) in steps { try report(order, attempt(order, makeSymbolicLink)) }
    for case .hardLink(let order) in steps { try report(order, attempt(order, makeHardLink)) }
  }

  /// Gives folders their metadata, from the leaves up; to be called when all links are there.
  ///
  /// - Throws: what `report` throws.
  func describeFolders(_ steps: [DeferredStep], report: Report) throws(BatchError) {
    var folders = [(order: ExtractionOrder, index: Int)]()
    for (index, step) in steps.enumerated() {
      if case .folder(let order) = step { folders.append((order, index)) }
    }
    // What is below comes first; of two descriptions of one folder, the later one holds.
    folders.sort { left, right in
      let (first, second) = (
        FolderPath(left.order.place.bytes[...]), FolderPath(right.order.place.bytes[...])
      )
      return first == second ? left.index < right.index : first.isBelowOrBehind(second)
    }
    let made = folder.madeFolders
    let plain = made.subtracting(folders.map { FolderPath($0.order.place.bytes[...]) })
    for path in plain.sorted(by: { $0.isBelowOrBehind($1) }) {
      _ = attempt { () throws(BatchError) in
        let opened = try folder.openForMetadata(path.bytes)
        return fchmod(opened.raw, Self.plainMode) == 0 ? .made([]) : .made(.mode)
      }
    }
    for (order, _) in folders {
      // One that was there stays as it is where nothing is to be overwritten, and so does the target folder.
      let place = FolderPath(order.place.bytes[...])
      let describes = made.contains(place) || (options.overwriting != .never && !place.bytes.isEmpty)
      let isEqual = options.acceptsEqual && options.overwriting == .never
      try report(order, describes ? attempt(order, describeFolder) : isEqual ? .kept : .made([]))
    }
  }

  /// What a folder gets that the archive does not describe: what a new file gets, and to be entered by whoever
  /// may read it.
  private static var plainMode: mode_t {
    let mode = AtomicFile.defaultPermissions
    return mode_t(mode | (mode >> 2) & 0o111)
  }

  private func attempt(
    _ order: ExtractionOrder, _ body: (ExtractionOrder) throws(BatchError) -> ExtractionVerdict
  ) -> ExtractionVerdict {
    switch attempt({ () throws(BatchError) in try body(order) }) {
    case .failed(let error): .failed(error.at(order.entry.path))
    case let verdict: verdict
    }
  }

  private func attempt(_ body: () throws(BatchError) -> ExtractionVerdict) -> ExtractionVerdict {
    do throws(BatchError) {
      return try body()
    } catch {
      return .failed(error)
    }
  }

  // MARK: Links

  private func makeSymbolicLink(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    let target = order.entry.linkTarget ?? ""
    guard !target.isEmpty, !target.containsNUL else {
      throw BatchError(.malformed, "damaged: a symbolic link that leads nowhere")
    }
    guard !options.refusesUnsafeLinks || staysInside(target, from: order.place) else {
      throw BatchError(
        .invalid, "refused: a symbolic link that leads outside", remedy: .allowUnsafeLinks)
    }
    let parent = try lane.parent(of: order.place)
    guard try lane.mayTake(order, in: parent) else { return .kept }
    let name = order.place.name
    let failed = target.withCString { target in
      lane.replacing(name, in: parent) { symlinkat(target, parent, $0) }
    }
    guard failed == 0 else { throw ExtractedFile.failure(failed) }
    return .made(try lane.metadata(of: order).apply(toMade: name, in: parent))
  }

  /// Whether a link can lead nowhere but below the target folder.
  ///
  /// `..` at its start goes through the real folders that the link is in. Behind a name it may go through
  /// another link, so the name has to be that of a folder.
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

  private func makeHardLink(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    guard let first = order.linkPlace, !first.bytes.isEmpty else {
      throw BatchError(.malformed, "damaged: a hard link that leads nowhere")
    }
    let source = try open(first.parent)
    let parent = try lane.parent(of: order.place)
    guard try lane.mayTake(order, in: parent) else { return .kept }
    guard let status = lane.status(of: first.name, in: source.raw), status.kind != .directory else {
      throw Self.noFirstName
    }
    let from = source.raw
    // While the link has a temporary name, other runs would take an inode without a lock for that of a dead run.
    let lock = options.overwriting == .never ? -1 : Self.lock(first.name, in: from)
    defer { if lock >= 0 { _ = Glibc.close(lock) } }
    let failed = first.name.withCString { old in
      lane.replacing(order.place.name, in: parent) { linkat(from, old, parent, $0, 0) }
    }
    guard failed == 0 else { throw ExtractedFile.failure(failed) }
    return .made([])
  }

  /// Opens a regular file and locks it, where it can be.
  ///
  /// - Returns: a descriptor, or a negative number.
  private static func lock(_ name: PathBytes, in folder: Int32) -> Int32 {
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let opened = name.withCString { name in retrying { Int(clinux_openat(folder, name, flags, 0)) } }
    // A lock that somebody else has keeps other runs away as well.
    if opened >= 0 { _ = flock(Int32(opened), LOCK_SH | LOCK_NB) }
    return Int32(truncatingIfNeeded: opened)
  }

  /// Opens the folder of what a hard link is one more name of.
  private func open(_ parent: ArraySlice<UInt8>) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      return try folder.open(parent, creating: false)
    } catch {
      guard error.errno == ENOENT else { throw error }
      throw Self.noFirstName
    }
  }

  static let noFirstName = BatchError(
    .invalid, "cannot be made: what it is one more name of is not there")

  private func shareContent(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    guard let first = order.linkPlace, !first.bytes.isEmpty else {
      throw BatchError(.malformed, "damaged: a hard link that leads nowhere")
    }
    // The name that waits for this content is that of an empty file which this run made.
    guard hasMade(first) else { return .made([]) }
    let target = try folder.open(first.parent, creating: false)
    let parent = try lane.parent(of: order.place)
    guard let status = lane.status(of: first.name, in: target.raw), status.kind == .regular, status.size == 0
    else { return .made([]) }
    let to = target.raw
    let lock = Self.lock(order.place.name, in: parent)
    defer { if lock >= 0 { _ = Glibc.close(lock) } }
    let failed = order.place.name.withCString { old in
      ExtractionLane.replace(first.name, in: to) { linkat(parent, old, to, $0, 0) }
    }
    guard failed == 0 else { throw ExtractedFile.failure(failed) }
    return .made([])
  }

  // MARK: Folders

  private func describeFolder(_ order: ExtractionOrder) throws(BatchError) -> ExtractionVerdict {
    let opened = try folder.openForMetadata(order.place.bytes[...])
    return .made(lane.metadata(of: order).apply(to: opened.raw))
  }
}
