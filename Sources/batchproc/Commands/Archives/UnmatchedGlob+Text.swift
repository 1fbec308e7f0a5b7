import BatchCore
import BatchEngine

extension UnmatchedGlob {
  /// The problem for the user, with a suggestion.
  func problem(_ text: String) -> Problem {
    let names = suggestions.map { TerminalText.string($0.bytes) }
    let isPlain = zip(names, suggestions).allSatisfy { $0.utf8.elementsEqual($1.bytes) }
    let remedy: Remedy? =
      names.isEmpty
      ? nil
      : .advice("did you mean \(isPlain ? "" : "--escaped ")\(names.map { "'\($0)'" }.list("or"))?")
    return Problem(.missing, BatchError(.missing, text, path: glob, remedy: remedy ?? habit))
  }

  /// The advice if a word of restic was given instead of a path.
  private var habit: Remedy? {
    if glob == "latest" { return .advice("the newest snapshot is the default; use --at ID for another one") }
    if (try? SnapshotPlace(glob)) != nil { return .advice("a snapshot is chosen by --at \(glob)") }
    return nil
  }
}

extension Session {
  /// Reports patterns that nothing matched.
  func report(unmatched globs: [UnmatchedGlob], _ text: String) {
    for glob in globs { reporter.met(glob.problem(text), severity: .failure) }
  }
}
