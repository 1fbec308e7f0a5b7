import BatchCore
import BatchEngine
import BatchOutputs

/// Where the report of a run goes, and what goes into it.
struct RunReport: Sendable {
  let recorder: RunRecorder
  private let file: OutputFile
  private let path: PathBytes
  private let replaced: FileIdentity?
  /// Whether only a page of batchproc may be replaced.
  private let replacesPageAlone: Bool

  /// Opens the file, which appears when the run has ended, and begins to take samples.
  ///
  /// - Throws: `invalid` when the name is taken, `unwritable` when the folder takes no file.
  init(_ choice: ReportChoice, _ recorder: RunRecorder, isSynced: Bool, in run: RunContext) throws(BatchError)
  {
    self.recorder = recorder
    path = choice.path
    replaced = StandardStreams.identity(of: choice.path)
    replacesPageAlone = !choice.isReplacing
    file = try OutputFile(
      choice.path, isReplacing: choice.isReplacing || ReportPage.isOne(choice.path), isSynced: isSynced,
      // A page is written of a run that was stopped, too.
      in: RunContext(options: run.options))
    recorder.follow(run)
    recorder.begin()
  }

  /// Files that are not part of what the run processes.
  var ownFiles: Set<FileIdentity> { Set([file.identity, replaced].compactMap { $0 }) }

  /// - Throws: `unwritable` when there is no report.
  func write(_ ending: Ending, _ run: RunContext, _ times: FileTimes?) throws(BatchError) {
    // Another file may have got the name since.
    if replacesPageAlone, StandardStreams.identity(of: path) != replaced, !OutputFile.isDevice(path) {
      file.discard()
      throw BatchError(.invalid, "another file got this name during the run", path: path)
    }
    try file.write(RunPage(facts: recorder.finish(ending, run, times)).html())
    try file.finish()
  }
}
