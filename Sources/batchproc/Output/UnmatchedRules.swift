import BatchEngine

/// Reports which rules of `--exclude` and related options matched nothing: a line for each rule, and one for each file of rules.
enum UnmatchedRules {
  /// How many rules of a file are named: in a list for many trees most rules may match nothing.
  private static let mostNamed = 5

  static func texts(_ rules: [GivenRule]) -> [String] {
    var texts: [String] = []
    var files: Set<PathBytes> = []
    for rule in rules {
      guard let file = rule.file else {
        texts.append("--\(rule.option.rawValue) \(quoted(rule.pattern)) matched nothing")
        continue
      }
      guard files.insert(file).inserted else { continue }
      let lines = rules.filter { $0.file == file }
      let named = lines.prefix(mostNamed).map { quoted($0.pattern) }.joined(separator: ", ")
      let more = lines.count > mostNamed ? " and \(ByteCount.grouped(lines.count - mostNamed)) more" : ""
      texts.append("--exclude-from \(quoted(file)): these rules matched nothing: \(named)\(more)")
    }
    return texts
  }

  private static func quoted(_ bytes: PathBytes) -> String { "'\(TerminalText.string(bytes.bytes))'" }
}
