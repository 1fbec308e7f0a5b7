/// Identifies a command in code. The order is that of the help.
enum CommandID: String, Sendable, Hashable, CaseIterable {
  case hash, check, compress, decompress, cat, test, archive, list, extract, verify
  case parity, repair
  case audit, duplicates, backup, snapshots, restore, prune, drill, copy, report, schedule
  case mirror, run, keygen, plan, merge, submit, status
  case tune, doctor, config

  /// The description, which is made when it is first used.
  var spec: CommandSpec {
    switch self {
    case .hash: .hash
    case .check: .check
    case .compress: .compress
    case .decompress: .decompress
    case .cat: .cat
    case .test: .test
    case .archive: .archive
    case .list: .list
    case .extract: .extract
    case .verify: .verify
    case .parity: .parity
    case .repair: .repair
    case .audit: .audit
    case .duplicates: .duplicates
    case .backup: .backup
    case .snapshots: .snapshots
    case .restore: .restore
    case .prune: .prune
    case .drill: .drill
    case .copy: .copy
    case .report: .report
    case .schedule: .schedule
    case .mirror: .mirror
    case .run: .run
    case .keygen: .keygen
    case .plan: .plan
    case .merge: .merge
    case .submit: .submit
    case .status: .status
    case .tune: .tune
    case .doctor: .doctor
    case .config: .config
    }
  }
}

/// The one declaration of a command.
struct CommandSpec: Sendable {
  /// Options under one heading of the help.
  struct Group: Sendable {
    /// The heading in capitals, without the colon.
    let title: String
    let options: [OptionSpec]
  }

  struct Operand: Sendable {
    /// The name without brackets.
    let name: String
    let repeats: Bool
    let help: String
    /// Whether there may be none; only the last operand.
    var isOptional = false
    /// Whether standard input is read when no operand is given.
    var takesInput = false
    /// Whether it is everything after a `--`, options included; only the last operand.
    var isAfterDashes = false

    /// The operand as written in usage lines and messages.
    var label: String {
      let label = (isAfterDashes ? "-- " : "") + (repeats ? "<\(name)> ..." : "<\(name)>")
      return isOptional ? "[\(label)]" : label
    }
  }

  struct Example: Sendable {
    let command: String
    let meaning: String
  }

  /// Visible only here, so that what differs between commands is a property here or a part of their ``CommandKind``, and no test of their names.
  fileprivate let id: CommandID
  let abstract: String
  /// Paragraphs, ASCII.
  let discussion: [String]
  /// In their order; only the last one may repeat.
  let operands: [Operand]
  /// Options of this command. One with the identity of a shared option replaces it.
  let own: [OptionSpec]
  /// Options that other commands have too.
  let shared: [Group]
  let examples: [Example]
  /// Whether `--profile` reads the options and paths of a profile, once for each profile.
  let runsProfiles: Bool
  /// Whether files and variables may set options.
  let readsConfiguration: Bool
  /// Options that give the paths instead of operands.
  let operandOptions: Set<OptionID>

  init(
    id: CommandID, abstract: String, discussion: [String], operands: [Operand], own: [OptionSpec],
    shared: [Group], examples: [Example], runsProfiles: Bool = false,
    readsConfiguration: Bool = true, operandOptions: Set<OptionID> = [.filesFrom, .files0From]
  ) {
    (self.id, self.abstract, self.discussion) = (id, abstract, discussion)
    (self.operands, self.own, self.shared, self.examples) = (operands, own, shared, examples)
    (self.runsProfiles, self.readsConfiguration) = (runsProfiles, readsConfiguration)
    self.operandOptions = operandOptions
  }

  var name: String { id.rawValue }

  /// Whether the words after a `--` are a command of the user, and no operands.
  var takesWords: Bool { operands.last?.isAfterDashes == true }

  /// What a table has for this command.
  func entry<Entry>(in table: (CommandID) -> Entry) -> Entry { table(id) }

  /// Every heading with its options, in the order of the help.
  var groups: [Group] {
    let taken = Set(own.map(\.id))
    let rest = shared.map { group in
      Group(title: group.title, options: group.options.filter { !taken.contains($0.id) })
    }
    return ([Group(title: "OPTIONS", options: own)] + rest).filter { !$0.options.isEmpty }
  }

  var options: [OptionSpec] { groups.flatMap(\.options) }

  /// `batchproc hash [<options>] <path> ...`
  var usage: String {
    (["batchproc", name, "[<options>]"] + operands.map(\.label)).joined(separator: " ")
  }
}

extension ForeignOption {
  /// - Parameter command: nil for an option before a command.
  func isAnswered(in command: CommandSpec?) -> Bool {
    commands.contains(command?.id)
  }
}
