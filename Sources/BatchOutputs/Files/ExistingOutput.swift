import BatchEngine
import var Glibc.EACCES

/// An output of an earlier run that is held open while it is compared with its source, and until that source is removed.
package final class ExistingOutput: Sendable {
  private static let pieceSize = 256 << 10

  package let target: PathBytes
  /// The status before it was read.
  package let status: FileStatus
  private let isMarked: Bool
  private let folder: OpenFolder
  private let file: Descriptor

  /// Opens the output in its folder.
  ///
  /// - Parameters:
  ///   - identity: of the file that was found there.
  ///   - isMarked: whether outputs of this kind have marks.
  /// - Throws: `changed` if another file has the name now, or the error of opening it.
  package init(_ target: PathBytes, in folder: OpenFolder, _ identity: FileIdentity, isMarked: Bool)
    throws(BatchError)
  {
    self.target = target
    self.isMarked = isMarked
    self.folder = folder
    do throws(BatchError) {
      let opened = try folder.openFile(PathBytes(target.lastComponent))
      let status = try folder.calls.status(of: opened)
      guard status.identity == identity, status.kind == .regular else { throw Self.exchanged }
      self.status = status
      file = opened
    } catch {
      throw error.at(target)
    }
  }

  private static let exchanged = BatchError(.changed, "was replaced by another file during the run")

  /// Reads the content from the beginning.
  ///
  /// - Throws: the error of reading, or of `body`.
  func read(_ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void) throws(BatchError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: UInt64 = 0
    while true {
      let count = try folder.calls.fill(buffer, from: file.raw, at: offset, path: target)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += UInt64(count)
    }
  }

  /// Whether it has the content that was read, and still its name.
  func requireUnchanged() throws(BatchError) {
    guard let named = try folder.look(at: PathBytes(target.lastComponent)), named.hasSameContent(as: status)
    else { throw Self.exchanged.at(target) }
  }

  /// Records that its source will be removed. Without a mark it is not replaced either, so only the mark that the source was
  /// kept must go.
  ///
  /// - Throws: the error of the call, if that mark remains, or may remain.
  package func markRemoved(by right: CommitRight) throws(BatchError) {
    guard isMarked else { return }
    let found = OutputMark.find(on: file.raw)
    guard found != .unsupported, found != .mark(.removed) else { return }
    let calls = folder.calls
    var failed = -calls.setAttribute(OutputMark.attribute, of: file.raw, to: OutputMark.removed.value)
    let mode = status.mode & 0o7777
    if failed == EACCES, calls.setMode(of: file.raw, to: mode | 0o200) == 0 {
      // The mode of a file applies to its attributes too.
      failed = -calls.setAttribute(OutputMark.attribute, of: file.raw, to: OutputMark.removed.value)
      _ = calls.setMode(of: file.raw, to: mode)
    }
    guard failed != 0, found != .none else { return }
    // A removal needs no space.
    guard calls.removeAttribute(OutputMark.attribute, of: file.raw) != 0 else { return }
    throw .output("change the mark of", errno: failed, path: target)
  }

  /// Syncs content and mark to the disk.
  package func sync() throws(BatchError) {
    let failed = -folder.calls.sync(file.raw)
    guard failed == 0 else { throw .output("sync", errno: failed, path: target) }
  }
}
