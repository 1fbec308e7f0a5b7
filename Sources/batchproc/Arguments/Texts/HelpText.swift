/// Help in the layout of swift-argument-parser, at most 80 columns wide.
struct HelpText {
  let table: CommandTable

  var overview: String {
    var page = HelpPage()
    page.paragraph("OVERVIEW: \(table.abstract)")
    page.paragraph("USAGE: \(table.usage)")
    page.section("OPTIONS", rows: table.rootOptions.map { ($0.label, $0.fullHelp) })
    page.section("SUBCOMMANDS", rows: table.commands.map { ($0.name, $0.abstract) })
    page.section("EXIT CODES", rows: HelpText.exitCodes)
    page.indented("See 'batchproc help <subcommand>' for detailed help.")
    return page.text
  }

  func text(of command: CommandSpec) -> String {
    var page = HelpPage()
    page.paragraph("OVERVIEW: \(command.abstract)")
    command.discussion.forEach { page.paragraph($0) }
    page.paragraph("USAGE: \(command.usage)")
    page.section("ARGUMENTS", rows: command.operands.map { ("<\($0.name)>", $0.help) })
    for group in command.groups {
      page.section(group.title, rows: group.options.map { ($0.label, $0.fullHelp) })
    }
    page.section("EXAMPLES", blocks: command.examples.map { ($0.command, $0.meaning) })
    page.section("EXIT CODES", rows: HelpText.exitCodes)
    return page.text
  }

  private static let exitCodes = ExitStatus.allCases.map { (String($0.rawValue), $0.meaning) }
}

/// Wraps paragraphs and two-column sections.
private struct HelpPage {
  private static let width = 80
  private static let helpColumn = 26
  private var blocks: [String] = []

  var text: String { blocks.joined(separator: "\n\n") + "\n" }

  mutating func paragraph(_ text: String) {
    blocks.append(wrapped(text, width: HelpPage.width).joined(separator: "\n"))
  }

  mutating func indented(_ text: String) {
    blocks.append("  " + text)
  }

  mutating func section(_ title: String, rows: [(label: String, help: String)]) {
    guard !rows.isEmpty else { return }
    let lines = rows.flatMap { row in HelpPage.lines(of: row.label, row.help) }
    blocks.append((["\(title):"] + lines).joined(separator: "\n"))
  }

  mutating func section(_ title: String, blocks pairs: [(code: String, meaning: String)]) {
    guard !pairs.isEmpty else { return }
    let lines = pairs.flatMap { pair in
      ["  \(pair.code)"] + wrapped(pair.meaning, width: HelpPage.width - 6).map { "      \($0)" }
    }
    blocks.append((["\(title):"] + lines).joined(separator: "\n"))
  }

  private static func lines(of label: String, _ help: String) -> [String] {
    let margin = String(repeating: " ", count: helpColumn)
    var lines = wrapped(help, width: width - helpColumn).map { margin + $0 }
    let start = "  " + label
    guard start.count < helpColumn, let first = lines.first else { return [start] + lines }
    lines[0] = start + first.dropFirst(start.count)
    return lines
  }
}

/// Lines of at most `width` columns; a longer word gets a separate line.
func wrapped(_ text: String, width: Int) -> [String] {
  var lines: [String] = []
  for word in text.split(separator: " ") {
    if let last = lines.last, last.count + 1 + word.count <= width {
      lines[lines.count - 1] = "\(last) \(word)"
    } else {
      lines.append(String(word))
    }
  }
  return lines
}
