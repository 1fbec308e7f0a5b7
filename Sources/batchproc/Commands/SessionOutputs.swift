import BatchEngine
import var Glibc.STDERR_FILENO

/// Where a command reports: standard output, standard error and the record for a page.
struct SessionOutputs {
  let diagnostics: Diagnostics
  let progressMode: ProgressMode
  /// Standard output, for results.
  let output: StandardOutput
  let recorder: RunRecorder?
  /// How long files take, if needed.
  let fileTimes: FileTimes?
  /// The reporter, if results are events of `--json`; nil for text.
  let events: JSONReporter?
  let reporter: any Reporter

  init(_ common: CommonOptions, _ cancellation: Cancellation, environment: Environment) {
    let traits = TerminalTraits(isTerminal: StandardStreams.isTerminal(.error), environment: environment)
    diagnostics = Diagnostics(
      descriptor: STDERR_FILENO, usesColor: traits.usesColor(common.color),
      usesPriorities: StandardStreams.isJournal(environment("JOURNAL_STREAM")))
    progressMode = traits.progress(common.progress, quiet: common.quiet)
    output = StandardOutput(
      cancellation: cancellation,
      filter: StandardStreams.isTerminal(.output) ? TerminalText.escapeControls : nil)
    recorder = common.report.map { RunRecorder(Invocation($0.command)) }
    let measures = (common.verbose || common.report != nil) && !common.dryRun
    fileTimes = measures ? FileTimes() : nil
    let slowest = common.verbose ? fileTimes : nil
    events =
      common.json
      ? JSONReporter(
        stream: output, cancellation: cancellation, diagnostics: diagnostics, recorder: recorder,
        slowest: slowest) : nil
    reporter =
      events
      ?? TextReporter(
        diagnostics: diagnostics, isQuiet: common.quiet, isVerbose: common.verbose, recorder: recorder,
        slowest: slowest)
  }
}
