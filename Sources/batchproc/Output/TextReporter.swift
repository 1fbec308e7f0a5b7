import BatchCore

/// Messages for people, on standard error.
struct TextReporter: Reporter {
  let diagnostics: Diagnostics
  /// Only failures.
  let isQuiet: Bool
  /// Notes too.
  let isVerbose: Bool

  func met(_ problem: Problem, severity: Severity) {
    switch severity {
    case .failure: diagnostics.report(problem.error)
    case .warning: if !isQuiet { diagnostics.report(problem.error, as: .warning) }
    case .note: if isVerbose { diagnostics.report(problem.error, as: .note) }
    }
  }

  func fatal(_ error: BatchError) {
    diagnostics.report(error)
  }

  func summary(_ summary: RunSummary, text: SummaryText) {
    if !isQuiet { diagnostics.print(text.line) }
  }
}
