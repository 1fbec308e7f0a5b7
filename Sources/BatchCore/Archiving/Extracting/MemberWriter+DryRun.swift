import BatchEngine
import var Glibc.EISDIR

/// What a lane does in a dry run: it reads and decides as in any other, and makes nothing.
extension MemberWriter {
  /// - Returns: nil where what is there is as new.
  func rehearse(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> Made? {
    guard try mayTake(order) else { return nil }
    try check(order, fill)
    guard order.entry.kind == .file else { return .staged(rehearsed(order)) }
    return .undoable(MadeFile(order, losses: metadata(of: order).foreseenLosses))
  }

  /// The same for what has no content.
  func rehearse(_ order: ExtractionOrder) throws(BatchError) -> ExtractionResult {
    try mayTake(order) ? .made(metadata(of: order).foreseenLosses) : .kept
  }

  /// A file as it would be staged.
  func rehearsed(_ order: ExtractionOrder) -> StagedFile {
    StagedFile(name: TemporaryName(), folder: [], losses: metadata(of: order).foreseenLosses)
  }

  /// Reads a content to its end.
  ///
  /// - Throws: what `fill` throws; `malformed` where it has another size or digest than it is to have.
  func check(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) {
    var end: UInt64 = 0
    let content = try expectedContent(of: order, reusing: true)
    try fill { (bytes, offset) throws(BatchError) in
      try content?.add(bytes, at: offset)
      end = offset + UInt64(bytes.count)
    }
    try content?.check(size: order.entry.size)
    try checkSize(order, end: end)
  }

  /// Whether a member would get its name; false when what is there is as new.
  ///
  /// - Throws: `invalid` when the name is taken for good; `unwritable` where the folder takes no files.
  func mayTake(_ order: ExtractionOrder) throws(BatchError) -> Bool {
    let isFree = freed.contains(order.place.bytes.hashValue)
    let isMadeFolder = !isFree && folder.hasMade(order.place)
    guard let parent = try folder.openIfThere(order.place.parent) else {
      if isMadeFolder { throw Self.failure(EISDIR) }
      return true
    }
    if isMadeFolder { throw Self.failure(EISDIR) }
    if isFree { return true }
    guard try mayTake(order, in: parent) else { return false }
    let failed = parent.writeAccess()
    guard failed == 0 else { throw Self.failure(failed) }
    return true
  }

  /// Whether something is there that is no folder, or that is one.
  func hasSomething(at place: RelativePath, isFolder: Bool) -> Bool {
    do throws(BatchError) {
      guard let parent = try folder.openIfThere(place.parent),
        let status = try parent.look(at: place.name.isEmpty ? "." : place.name)
      else { return false }
      return (status.kind == .directory) == isFolder
    } catch {
      return false
    }
  }
}
