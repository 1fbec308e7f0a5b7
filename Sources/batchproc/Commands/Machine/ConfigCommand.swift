import BatchCore
import BatchEngine

struct ConfigCommand {
  private let parsed: ParsedCommand
  private let environment: Environment
  private let output: StandardOutput
  private let events: JSONReporter?

  init(_ parsed: ParsedCommand, environment: @escaping Environment) {
    self.parsed = parsed
    self.environment = environment
    let filter = StandardStreams.isTerminal(.output) ? TerminalText.escapeControls : nil
    output = StandardOutput(cancellation: Cancellation(), filter: filter)
    events = parsed.flag(.json) ? JSONReporter.onStandardOutput() : nil
  }

  func execute() throws -> Ending {
    let rows = try rows()
    if let events {
      for row in rows { try events.write("setting") { row.fill(&$0) } }
      try events.writeSummary { $0.add("done", rows.count) }
    } else {
      var bytes: [UInt8] = []
      for row in rows { row.append(to: &bytes) }
      try output.write(bytes)
    }
    try output.finish()
    return .exit(.success)
  }

  private func rows() throws(UsageError) -> [ConfigRow] {
    let configuration = try Configuration.read(environment: environment)
    guard let name = parsed.bytes(.profile) else {
      return try commands().map { command throws(UsageError) in
        rows(of: command, try configuration.settings(for: command, environment: environment))
      }.flatMap { $0 }
    }
    guard parsed.operands.isEmpty else {
      throw UsageError("A profile has one command; please name none.", in: parsed.command)
    }
    let profile = try configuration.profile(named: name)
    let source = Setting.Source.profile(profile.name, profile.place)
    let operands = profile.operands.map {
      ConfigRow(command: profile.command.name, option: "operand", value: $0, source: source)
    }
    let settings = try configuration.settings(
      for: profile.command, profile: profile, environment: environment)
    return rows(of: profile.command, settings) + operands
  }

  private func commands() throws(UsageError) -> [CommandSpec] {
    let table = CommandTable.standard
    guard !parsed.operands.isEmpty else { return table.commands }
    return try parsed.operands.map { name throws(UsageError) in
      if let command = table.command(named: name.bytes) { return command }
      let nearest = Suggestion.nearest(to: name.bytes, among: table.commands.map(\.name))
      let hint = nearest.map { ". Did you mean '\($0)'?" } ?? ""
      throw UsageError("Unknown command \(quote(name))\(hint)", in: parsed.command)
    }
  }

  private func rows(of command: CommandSpec, _ settings: [Setting]) -> [ConfigRow] {
    command.settableOptions.flatMap { option -> [ConfigRow] in
      let given = settings.filter { $0.option.id == option.id }
      if !given.isEmpty {
        return given.map {
          ConfigRow(command: command.name, option: option.long[0], value: $0.value, source: $0.source)
        }
      }
      guard let text = option.defaultText else { return [] }
      let isFlag = option.syntax == nil
      let value = isFlag ? (text.hasPrefix("--no-") ? "false" : "true") : text
      return [ConfigRow(command: command.name, option: option.long[0], value: PathBytes(value), source: nil)]
    }
  }
}

private struct ConfigRow {
  let command: String
  let option: String
  let value: PathBytes
  /// nil for the default.
  let source: Setting.Source?

  /// `command.option = value`, padded, and the source.
  func append(to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes += "\(command).\(option) = ".utf8
    TerminalText.append(value.bytes, to: &bytes)
    let width = bytes.count - start
    bytes += repeatElement(UInt8(ascii: " "), count: max(2, 48 - width))
    bytes += (source?.text ?? "default").utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  func fill(_ line: inout JSONLine) {
    line.add("command", command)
    line.add("option", option)
    line.add(path: value, as: "value")
    switch source {
    case nil: line.add("source", "default")
    case .variable(let name):
      line.add("source", "environment")
      line.add("variable", name)
    case .file(let place):
      line.add("source", "file")
      add(place, to: &line)
    case .profile(let name, let place):
      line.add("source", "profile")
      line.add("profile", name)
      add(place, to: &line)
    }
  }

  private func add(_ place: SettingPlace, to line: inout JSONLine) {
    line.add(path: place.file, as: "file")
    line.add("line", place.line)
  }
}
