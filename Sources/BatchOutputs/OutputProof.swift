import BatchEngine

/// Takes the bytes of an output that is read back, and determines their content.
package protocol OutputContent: AnyObject {
  associatedtype Found: Equatable

  /// Starts another output.
  func restart()

  /// - Throws: `unwritable` when an output cannot have these bytes.
  func take(_ piece: UnsafeRawBufferPointer) throws(BatchError)

  /// Takes the end of the output.
  ///
  /// - Throws: `unwritable` when an output cannot end here.
  func end() throws(BatchError)

  /// The content found so far.
  func found() throws(BatchError) -> Found
}

/// Verifies that outputs contain the content of their sources, by reading them back.
package final class OutputProof<Content: OutputContent> {
  package let content: Content
  /// What a failed output differs from, for messages.
  private let expectation: String
  private let calls: any FileSystemCalls
  private let right: ReadingRight
  private let probe: LaneProbe

  /// - Parameters:
  ///   - expectation: what an output is compared with, as text for messages: "its source".
  ///   - calls: the calls that read.
  ///   - probe: the lane's cancellation check; pauses and cancels the reading.
  package init(
    _ content: Content, comparedWith expectation: String, _ calls: any FileSystemCalls, _ probe: LaneProbe,
    by right: ReadingRight
  ) {
    self.content = content
    self.expectation = expectation
    self.calls = calls
    self.probe = probe
    self.right = right
  }

  /// Reads a file in a folder, and checks the cancellation of the lane between two pieces.
  package func read(
    _ record: FileRecord, in folder: OpenFolder, restart: () throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome {
    let reader = FileReader(calls: calls, by: right)
    reader.useFolder(folder.raw, for: record.directory, of: folder)
    return try reader.read(record, restart: restart) { (piece) throws(BatchError) in
      try probe.check()
      try consume(piece)
    }
  }

  /// - Throws: `unwritable` when the content read back is not the expected one.
  package func prove(_ file: AtomicFile, has expected: Content.Found) throws(BatchError) {
    content.restart()
    do throws(BatchError) {
      try file.readBack { (piece) throws(BatchError) in
        try probe.check()
        try content.take(piece)
      }
      try content.end()
      guard try content.found() == expected else {
        throw BatchError(
          .unwritable, "the output that was read back differs from \(expectation)", path: file.target)
      }
    } catch {
      throw error.path == nil ? error.at(file.target) : error
    }
  }

  /// Compares an existing output with the expected content.
  ///
  /// - Throws: `invalid` when it has other content.
  package func proveExisting(
    _ output: ExistingOutput, has expected: Content.Found
  ) throws(BatchError) {
    content.restart()
    var isDamaged = false
    do throws(BatchError) {
      try output.read { (piece) throws(BatchError) in
        try probe.check()
        try content.take(piece)
      }
      try content.end()
    } catch {
      guard error.code == .unwritable else { throw error }
      isDamaged = true
    }
    let found = try content.found()
    guard !isDamaged, found == expected else {
      throw BatchError(
        .invalid, "has the time of its source and not its content: both stay", path: output.target,
        remedy: .replaceOutput)
    }
    try output.requireUnchanged()
  }
}
