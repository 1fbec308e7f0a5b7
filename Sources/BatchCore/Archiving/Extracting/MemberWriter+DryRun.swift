import BatchEngine
import var Glibc.EISDIR

/// The work of a lane in a dry run: it reads and decides as in other runs, but creates nothing.
extension MemberWriter {
  /// - Returns: nil if the existing file is as new.
  func rehearse(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) -> Made? {
    guard try mayTake(order) else { return nil }
    try check(order, fill)
    guard order.entry.kind == .file else { return .staged(rehearsed(order)) }
    return .undoable(MadeFile(order, losses: metadata(of: order).foreseenLosses))
  }

  /// The result of a member without content.
  func rehearse(_ order: ExtractionOrder) throws(BatchError) -> ExtractionResult {
    try mayTake(order) ? .made(metadata(of: order).foreseenLosses) : .kept
  }

  /// The staged file that a run would have made.
  func rehearsed(_ order: ExtractionOrder) -> StagedFile {
    StagedFile(name: TemporaryName(), folder: [], losses: metadata(of: order).foreseenLosses)
  }

  /// Reads content to its end.
  ///
  /// - Throws: the error of `fill`; `malformed` if size or digest differ from the expected ones.
  func check(_ order: ExtractionOrder, _ fill: Fill) throws(BatchError) {
    var end: UInt64 = 0
    // The pieces of a joined file come in any order.
    let content = order.isJoined ? nil : try expectedContent(of: order, reusing: true)
    try fill { (bytes, offset) throws(BatchError) in
      try content?.add(bytes, at: offset)
      end = max(end, offset + UInt64(bytes.count))
    }
    try content?.check(size: order.entry.size)
    try order.entry.checkSize(end: end)
  }

  /// Whether a member would get its name; false if the existing file is as new.
  ///
  /// - Throws: `invalid` if the existing file may not be replaced; `unwritable` if no file can be created in the folder.
  func mayTake(_ order: ExtractionOrder) throws(BatchError) -> Bool {
    let isFree = freed.contains(order.place.bytes.hashValue)
    let isMadeFolder = !isFree && folder.hasMade(order.place)
    let parent = try folder.openIfThere(order.place.parent)
    if isMadeFolder { throw Self.failure(EISDIR) }
    guard let parent, !isFree else { return true }
    guard try mayTake(order, in: parent) else { return false }
    let failed = parent.writeAccess()
    guard failed == 0 else { throw Self.failure(failed) }
    return true
  }

  /// Whether something exists at the place: a folder if `isFolder` is true, otherwise anything else.
  func hasSomething(at place: RelativePath, isFolder: Bool) -> Bool {
    guard let parent = try? folder.openIfThere(place.parent),
      let status = try? parent.look(at: place.name.isEmpty ? "." : place.name)
    else { return false }
    return (status.kind == .directory) == isFolder
  }
}
