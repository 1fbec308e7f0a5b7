import BatchEngine

/// Where the report of a run goes, as its options say.
struct ReportChoice: Sendable {
  let path: PathBytes
  let isReplacing: Bool
  /// The command that it is about.
  let command: ParsedCommand

  /// - Throws: for standard output, which is for results.
  init?(_ parsed: ParsedCommand) throws(UsageError) {
    guard let path = parsed.bytes(.report) else { return nil }
    guard path != "-" else {
      throw UsageError(
        "The report of a run needs a file: standard output is for the results.", in: parsed.command)
    }
    self.path = path
    isReplacing = parsed.flag(.force)
    command = parsed
  }
}
