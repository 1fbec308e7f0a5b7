import BatchCore
import BatchEngine
import BatchOutputs

/// The file for the report of a run, and the recorder of its content.
struct RunReport: Sendable {
  let recorder: RunRecorder
  private let file: OutputFile
  let path: PathBytes
  private let replaced: FileIdentity?
  /// Whether only a page written by batchproc may be replaced.
  private let replacesPageAlone: Bool

  /// Opens the file, which appears after the run, and begins to take samples.
  ///
  /// - Throws: `invalid` when the name is taken, `unwritable` when no file can be created in the folder.
  init(_ choice: ReportChoice, _ recorder: RunRecorder, isSynced: Bool, in run: RunContext) throws(BatchError)
  {
    self.recorder = recorder
    path = choice.path
    replaced = StandardStreams.identity(of: choice.path)
    replacesPageAlone = !choice.isReplacing
    file = try OutputFile(
      choice.path, isReplacing: choice.isReplacing || ReportPage.isOne(choice.path), isSynced: isSynced,
      // Without the run's cancellation, because a page is also written for a run that was stopped.
      in: RunContext(options: run.options))
    recorder.follow(run)
    recorder.begin()
  }

  /// Files that the run must not process.
  var ownFiles: Set<FileIdentity> { Set([file.identity, replaced].compactMap { $0 }) }

  /// - Throws: `unwritable` when there is no report.
  func write(_ ending: Ending, _ run: RunContext, _ times: FileTimes?) throws(BatchError) {
    // Another file may have this name now.
    if replacesPageAlone, StandardStreams.identity(of: path) != replaced, !OutputFile.isDevice(path) {
      file.discard()
      throw BatchError(.invalid, "another file got this name during the run", path: path)
    }
    try file.write(RunPage(facts: recorder.finish(ending, run, times)).html())
    try file.finish()
  }
}
