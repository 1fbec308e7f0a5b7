/// The one declaration of an option, from which parser, help, manual, completions and the JSON description are generated.
struct OptionSpec: Sendable {
  enum Kind: Sendable, Hashable {
    /// Given or not.
    case flag
    /// `--name` and `--no-name`; the last one given wins.
    case invertible(initially: Bool)
    /// Takes a value; the last one given wins.
    case single(ValueSyntax)
    /// Takes a value each time; all of them count, in their order.
    case repeatable(ValueSyntax)
  }

  /// What a plan, and a shard of it, may do with an option. Without these the plan fixes its value.
  struct PlanUse: OptionSet, Sendable {
    let rawValue: Int

    /// Each run of a shard may choose it: it changes no result.
    static let chosenByShard = PlanUse(rawValue: 1)
    /// No plan can be made with it.
    static let refused = PlanUse(rawValue: 2)
  }

  let id: OptionID
  /// Long names without dashes; messages prefer the first.
  let long: [String]
  /// Letters without the dash; messages prefer the first.
  let short: [Character]
  /// Whether the value can be written as `-9` and `-19`.
  let takesDigits: Bool
  let kind: Kind
  /// The placeholder for the value in help, without brackets; nil for flags.
  let valueName: String?
  let defaultText: String?
  /// The environment variable that gives the value when the option is absent; empty counts as not set.
  let environment: String?
  /// One or more whole sentences, ASCII.
  let help: String

  init(
    _ id: OptionID, _ long: String..., short: Character..., kind: Kind = .flag, takesDigits: Bool = false,
    value: String? = nil, default defaultText: String? = nil, environment: String? = nil, help: String
  ) {
    self.id = id
    self.long = long
    self.short = short
    self.takesDigits = takesDigits
    self.kind = kind
    self.valueName = value
    self.defaultText = defaultText
    self.environment = environment
    self.help = help
  }

  private(set) var planUse: PlanUse = []
  /// What to write instead; nil if the option is not deprecated.
  private(set) var deprecation: String?

  /// The same option, which will go with the next major version.
  ///
  /// - Parameter instead: what to write instead, for a note with `-v`: "leave it out: …".
  func deprecated(_ instead: String) -> OptionSpec {
    var option = self
    option.deprecation = instead
    return option
  }

  /// The same option with this use in plans.
  func inPlans(_ use: PlanUse) -> OptionSpec {
    var option = self
    option.planUse = use
    return option
  }

  /// How values are written; nil for flags.
  var syntax: ValueSyntax? {
    switch kind {
    case .flag, .invertible: nil
    case .single(let syntax), .repeatable(let syntax): syntax
    }
  }

  var isRepeatable: Bool {
    if case .repeatable = kind { true } else { false }
  }

  /// Every long form with its dashes, inversions included, each with the state it gives to a flag.
  var longForms: [(text: String, state: Bool)] {
    guard case .invertible = kind else { return long.map { ("--\($0)", true) } }
    return long.flatMap { [("--\($0)", true), ("--no-\($0)", false)] }
  }

  /// Every spelling with its dashes, the letters first.
  var spellings: [String] {
    short.map { "-\($0)" } + longForms.map(\.text)
  }

  /// The spelling with its value, for messages: `-j <n>`.
  func quoted(as spelling: String) -> String {
    valueName.map { "\(spelling) <\($0)>" } ?? spelling
  }

  /// The left column in help: `-j, --max-concurrency <n>`.
  var label: String {
    let separator = if case .invertible = kind { "/" } else { ", " }
    let letters = short.map { "-\($0), " }.joined()
    return quoted(as: letters + longForms.map(\.text).joined(separator: separator))
  }

  /// The help sentence followed by values, default and variable in parentheses.
  var fullHelp: String {
    var notes: [String] = []
    if let syntax, !syntax.allowedValues.isEmpty {
      notes.append("values: " + syntax.allowedValues.joined(separator: ", "))
    }
    if let defaultText { notes.append("default: \(defaultText)") }
    if let environment { notes.append("env: \(environment)") }
    return notes.isEmpty ? help : help + " (" + notes.joined(separator: "; ") + ")"
  }
}
