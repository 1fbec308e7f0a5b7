import BatchCore
import BatchEngine

/// Names and globs that choose members of an archive or paths of a snapshot.
struct ChosenNames: Sendable {
  let texts: [PathBytes]
  /// Whether they are names only, because of `--escaped`.
  let areNames: Bool

  /// - Throws: `UsageError` for a text of `--escaped` that no name is printed as.
  init(_ texts: some Sequence<PathBytes>, _ parsed: ParsedCommand) throws(UsageError) {
    areNames = parsed.flag(.escaped)
    guard areNames else {
      self.texts = Array(texts)
      return
    }
    var names = [PathBytes]()
    for text in texts {
      guard let name = TerminalText.unescape(text.bytes) else {
        throw UsageError(
          "\(quote(text)) is not a name as it is printed with --escaped: after a backslash comes n, r, t, another backslash, or x and two digits.",
          in: parsed.command)
      }
      names.append(PathBytes(name))
    }
    self.texts = names
  }

  func selection(strip: Int = 0, filter: PathFilter? = nil) -> MemberSelection {
    MemberSelection(globs: texts, areNames: areNames, strip: strip, filter: filter)
  }
}
