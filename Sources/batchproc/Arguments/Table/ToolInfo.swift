import BatchCore
import BatchEngine

/// All commands and options as JSON in the form of swift-argument-parser's `ToolInfoV0`.
struct ToolInfo {
  let table: CommandTable

  /// One JSON object, sorted keys, ending in a newline.
  var json: [UInt8] {
    let root: JSONValue = .object([
      "serializationVersion": .number(0),
      "command": .object([
        "commandName": .string("batchproc"),
        "abstract": .string(table.abstract),
        "shouldDisplay": .bool(true),
        "arguments": .array(arguments(of: CommandSpec.Group(title: "OPTIONS", options: table.rootOptions))),
        "subcommands": .array(table.commands.map(command)),
      ]),
    ])
    var bytes: [UInt8] = []
    root.append(to: &bytes)
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }

  private func command(_ spec: CommandSpec) -> JSONValue {
    .object([
      "commandName": .string(spec.name),
      "superCommands": .array([.string("batchproc")]),
      "abstract": .string(spec.abstract),
      "discussion": .string(spec.discussion.joined(separator: "\n\n")),
      "shouldDisplay": .bool(true),
      "arguments": .array(spec.operands.map(operand) + spec.groups.flatMap(arguments)),
    ])
  }

  private func operand(_ operand: CommandSpec.Operand) -> JSONValue {
    .object([
      "kind": .string("positional"), "shouldDisplay": .bool(true),
      "isOptional": .bool(operand.isOptional), "isRepeating": .bool(operand.repeats),
      "valueName": .string(operand.name),
      "abstract": .string(operand.help), "parsingStrategy": .string("default"),
    ])
  }

  private func arguments(of group: CommandSpec.Group) -> [JSONValue] {
    group.options.map { option in
      var members: [String: JSONValue] = [
        "kind": .string(option.syntax == nil ? "flag" : "option"), "shouldDisplay": .bool(true),
        "isOptional": .bool(true), "isRepeating": .bool(option.isRepeatable),
        "names": .array(option.spellings.map(name)), "abstract": .string(option.help),
        "sectionTitle": .string(group.title), "parsingStrategy": .string("default"),
      ]
      members["preferredName"] = option.longForms.first.map { name($0.text) }
      members["valueName"] = option.valueName.map(JSONValue.string)
      members["defaultValue"] = option.defaultText.map(JSONValue.string)
      if let values = option.syntax?.allowedValues, !values.isEmpty {
        members["allValues"] = .array(values.map(JSONValue.string))
      }
      members["completionKind"] = option.syntax.flatMap(completionKind)
      return .object(members)
    }
  }

  private func name(_ spelling: String) -> JSONValue {
    let isLong = spelling.hasPrefix("--")
    return .object([
      "kind": .string(isLong ? "long" : "short"), "name": .string(String(spelling.dropFirst(isLong ? 2 : 1))),
    ])
  }

  private func completionKind(_ syntax: ValueSyntax) -> JSONValue? {
    switch syntax {
    case .file: return .object(["file": .object(["extensions": .array([])])])
    case .directory: return .object(["directory": .object([:])])
    default:
      let values = syntax.suggestedValues
      guard !values.isEmpty else { return nil }
      return .object(["list": .object(["values": .array(values.map(JSONValue.string))])])
    }
  }
}

private enum JSONValue {
  case string(String)
  case number(Int)
  case bool(Bool)
  case array([JSONValue])
  case object([String: JSONValue])

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .string(let text): JSONText.append(text, to: &bytes)
    case .number(let number): bytes += String(number).utf8
    case .bool(let state): bytes += String(state).utf8
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}
