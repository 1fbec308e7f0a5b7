import BatchCore
import BatchEngine

/// A command with the options and operands given to it; every value has the syntax of its option.
struct ParsedCommand: Sendable {
  struct GivenOption: Sendable, Hashable {
    let id: OptionID
    let value: OptionValue
  }

  let command: CommandSpec
  /// The options of configuration and environment, then those of the command line in order.
  let given: [GivenOption]
  let operands: [PathBytes]
  /// Where in ``given`` the options of another file, of the variables, of a profile or of the command line begin.
  var sourceStarts: Set<Int> = []
  /// The command of the user and its arguments, after a `--`.
  var words: [PathBytes] = []

  /// The options of the command line, without those of configuration, variables and profile.
  var typed: Set<OptionID> { Set(given[(sourceStarts.max() ?? 0)...].map(\.id)) }

  func flag(_ id: OptionID, initially: Bool = false) -> Bool {
    if case .flag(let state) = last(id) { state } else { initially }
  }

  /// nil when absent and for `auto`.
  func count(_ id: OptionID) -> Int? {
    if case .count(let count) = last(id) { count } else { nil }
  }

  func size(_ id: OptionID) -> Int64? {
    if case .size(let size) = last(id) { size } else { nil }
  }

  /// In minutes since midnight.
  func clock(_ id: OptionID) -> Int? {
    if case .clock(let minutes) = last(id) { minutes } else { nil }
  }

  /// From 0 to 1.
  func share(_ id: OptionID) -> Double? {
    if case .percent(let number) = last(id) { number / 100 } else { nil }
  }

  func load(_ id: OptionID) -> LoadLimit? {
    if case .load(let limit) = last(id) { limit } else { nil }
  }

  func time(_ id: OptionID) -> Int64? {
    if case .time(let seconds) = last(id) { seconds } else { nil }
  }

  /// The duration in seconds.
  func duration(_ id: OptionID) -> Int64? {
    if case .duration(let seconds) = last(id) { seconds } else { nil }
  }

  /// The moment of an age.
  ///
  /// - Parameter now: in seconds since 1970.
  func moment(_ id: OptionID, now: Int64) -> FileStatus.Time? {
    switch last(id) {
    case .duration(let seconds): FileStatus.Time(seconds: now - seconds, nanoseconds: 0)
    case .time(let seconds): FileStatus.Time(seconds: seconds, nanoseconds: 0)
    case .age(let time): FileStatus.Time(seconds: time.beginning(now: now), nanoseconds: 0)
    default: nil
    }
  }

  func span(_ id: OptionID) -> Retention.Span? {
    if case .span(let span) = last(id) { span } else { nil }
  }

  func choice<Choice: RawRepresentable<String>>(_ id: OptionID) -> Choice? {
    choices(id).last.flatMap(Choice.init(rawValue:))
  }

  /// All values given, in their order.
  func choices(_ id: OptionID) -> [String] {
    given.compactMap { option in
      if option.id == id, case .choice(let word) = option.value { word } else { nil }
    }
  }

  func bytes(_ id: OptionID) -> PathBytes? {
    if case .bytes(let bytes) = last(id) { bytes } else { nil }
  }

  /// A sentence for each deprecated option that was given.
  var deprecations: [String] {
    command.options.compactMap { option in
      guard let instead = option.deprecation, let name = option.longForms.first, last(option.id) != nil else {
        return nil
      }
      return "\(name.text) is deprecated: \(instead)"
    }
  }

  private func last(_ id: OptionID) -> OptionValue? {
    given.last { $0.id == id }?.value
  }
}

extension ParsedCommand.GivenOption {
  /// One word of a command line.
  ///
  /// - Parameter name: the long name of the option.
  func word(named name: String) -> PathBytes {
    if case .flag(let state) = value { return PathBytes(state ? "--\(name)" : "--no-\(name)") }
    return PathBytes(Array("--\(name)=".utf8) + value.argument.bytes)
  }
}
