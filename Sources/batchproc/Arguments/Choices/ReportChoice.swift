import BatchEngine

/// The file for the report of a run, from its options.
struct ReportChoice: Sendable {
  let path: PathBytes
  let isReplacing: Bool
  let command: ParsedCommand

  /// - Throws: for standard output, which is reserved for results.
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
