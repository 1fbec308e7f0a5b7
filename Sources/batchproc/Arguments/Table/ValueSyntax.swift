import BatchCore
import BatchEngine

/// The syntax and meaning of an option's value.
enum ValueSyntax: Sendable, Hashable {
  /// A whole number, 1 or more.
  case count(allowsAuto: Bool)
  /// A whole number, 1 or more; 0 means `auto`, as in `xz -T0`.
  case threads
  /// A whole number, 0 or more; the valid range depends on another option.
  case whole
  /// A whole number of a range.
  case number(ClosedRange<Int>)
  /// A number of bytes with an optional unit.
  case size(minimum: Int64)
  /// A load average above zero, or `pressure:` and a percentage.
  case load
  /// A moment, to the second.
  case time
  /// A number of seconds with an optional unit.
  case duration
  /// A number with a unit, or a moment.
  case age
  case clock
  case span
  /// A number of percent, with the sign.
  case share
  /// A number of percent above 0, which may be above 100, with or without the sign.
  case redundancy
  /// A whole number of percent, 0 to 100, with or without the sign.
  case percentage
  /// A whole number, 0 or more, or `auto`.
  case index
  /// A whole number, 1 or more, or `never`, which is 0.
  case interval
  /// A number of bytes, a time with its unit, or `never`, which is 0 bytes.
  case step
  /// One of some words, in any case.
  case choice([String], aliases: [Alias] = [])
  case file
  case directory
  case glob
  /// `EVENT=ACTION`.
  case policy

  /// A further word for one of the words.
  struct Alias: Sendable, Hashable {
    /// In lower case.
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A value with invalid syntax; the sentence describes a valid one.
  struct Mismatch: Error, Hashable {
    let sentence: String
  }

  /// The words that help lists as values; empty when the values cannot be listed.
  var allowedValues: [String] {
    if case .choice(let values, _) = self { values } else { [] }
  }

  /// The values that a shell offers.
  var suggestedValues: [String] {
    switch self {
    case .count(let allowsAuto): allowsAuto ? ["auto"] : []
    case .choice(let values, _): values
    case .threads, .index: ["auto"]
    case .interval, .step: ["never"]
    case .policy:
      Problem.Event.choosable.flatMap { event in EventPolicy.Action.examples.map { "\(event.rawValue)=\($0)" }
      }
    case .whole, .number, .size, .load, .time, .duration, .age, .clock, .span, .share, .redundancy,
      .percentage,
      .file, .directory, .glob:
      []
    }
  }

  func parse(_ value: PathBytes) throws(Mismatch) -> OptionValue {
    switch self {
    case .count(let allowsAuto): .count(try ValueSyntax.count(value, allowsAuto: allowsAuto))
    case .whole:
      .count(try ValueSyntax.number(value, in: 0...Int(Int32.max), else: "Please provide a whole number."))
    case .number(let range): .count(try ValueSyntax.number(value, in: range))
    case .size(let minimum): .size(try ValueSyntax.size(value, minimum: minimum))
    case .load: .load(try ValueSyntax.load(value))
    case .time: .time(try ValueSyntax.time(value))
    case .duration: .duration(try ValueSyntax.duration(value))
    case .age: try ValueSyntax.age(value)
    case .clock: .clock(try ValueSyntax.clock(value))
    case .span: .span(try ValueSyntax.span(value))
    case .share: .percent(try ValueSyntax.percent(value))
    case .redundancy: .percent(try ValueSyntax.redundancy(value))
    case .percentage: .count(try ValueSyntax.percentage(value))
    case .choice(let values, let aliases): .choice(try ValueSyntax.choice(value, among: values, aliases))
    case .threads: .count(value == "0" ? nil : try ValueSyntax.count(value, allowsAuto: true))
    case .index: .count(try ValueSyntax.index(value))
    case .interval: .count(try ValueSyntax.interval(value))
    case .step: try ValueSyntax.step(value)
    case .policy: try ValueSyntax.policy(value)
    case .file, .directory, .glob: .bytes(try ValueSyntax.nonEmpty(value))
    }
  }

  private static func count(_ value: PathBytes, allowsAuto: Bool) throws(Mismatch) -> Int? {
    if allowsAuto, value == "auto" { return nil }
    let expected = "Please provide a whole number from 1 up" + (allowsAuto ? ", or 'auto'." : ".")
    guard !value.isEmpty, value.bytes.allSatisfy(DecimalDigits.contains) else {
      throw Mismatch(sentence: expected)
    }
    guard let number = DecimalDigits.value(of: value.bytes), let count = Int(exactly: number) else {
      throw .tooLarge
    }
    guard count >= 1 else { throw Mismatch(sentence: expected) }
    return count
  }

  /// - Parameter sentence: the message for another value; nil names the range.
  private static func number(
    _ value: PathBytes, in range: ClosedRange<Int>, else sentence: String? = nil
  ) throws(Mismatch) -> Int {
    guard let number = DecimalDigits.value(of: value.bytes).flatMap(Int.init(exactly:)),
      range.contains(number)
    else {
      throw Mismatch(
        sentence: sentence
          ?? "Please provide a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  private static func percentage(_ value: PathBytes) throws(Mismatch) -> Int {
    let digits = value.bytes.last == UInt8(ascii: "%") ? Array(value.bytes.dropLast()) : value.bytes
    return try number(
      PathBytes(digits), in: 0...100, else: "Please provide a number of percent from 0 to 100, such as '50%'."
    )
  }

  private static func index(_ value: PathBytes) throws(Mismatch) -> Int? {
    if value == "auto" { return nil }
    return try number(
      value, in: 0...ShardPlan.mostShards, else: "Please provide a whole number from 0 up, or 'auto'.")
  }

  private static func interval(_ value: PathBytes) throws(Mismatch) -> Int {
    if value == "never" { return 0 }
    return try number(value, in: 0...1_000_000, else: "Please provide a whole number from 1 up, or 'never'.")
  }

  /// A lower-case m is minutes, as in other times, and an upper-case one MiB, as in other sizes.
  private static func step(_ value: PathBytes) throws(Mismatch) -> OptionValue {
    if value == "never" { return .size(0) }
    if let last = value.bytes.last, Array("smhdw".utf8).contains(last) {
      return .duration(try duration(value))
    }
    return .size(try size(value, minimum: 1 << 20))
  }

  private static func load(_ value: PathBytes) throws(Mismatch) -> LoadLimit {
    let expected = Mismatch(
      sentence: "Please provide a load average above 0, such as '3.5', or a percentage such as 'pressure:20'."
    )
    let prefix = Array("pressure:".utf8)
    let isPressure = value.bytes.starts(with: prefix)
    let digits = isPressure ? Array(value.bytes.dropFirst(prefix.count)) : value.bytes
    let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(DecimalDigits.contains) }) else { throw expected }
    // Numbers outside of these bounds are written with an exponent, which this syntax does not accept.
    guard let number = Double(PathBytes(digits).description), number < 1e15 else { throw .tooLarge }
    guard number >= 0.0001 else { throw expected }
    // The pressure is never above 100.
    guard !isPressure || number < 100 else { throw expected }
    return isPressure ? .pressure(number) : .average(number)
  }

  private static func choice(
    _ value: PathBytes, among values: [String], _ aliases: [Alias]
  ) throws(Mismatch) -> String {
    let word = value.bytes.map(lowercased)
    if let known = values.first(where: { $0.utf8.map(lowercased) == word }) { return known }
    if let alias = aliases.first(where: { $0.name.utf8.elementsEqual(word) }) { return alias.value }
    throw Mismatch(sentence: "Please provide one of \(listed(values)).")
  }

  private static func policy(_ value: PathBytes) throws(Mismatch) -> OptionValue {
    let parts = value.bytes.split(
      separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let event = Problem.Event(choosable: parts[0]) else {
      let events = listed(Problem.Event.choosable.map(\.rawValue))
      throw Mismatch(sentence: "Please provide EVENT=ACTION, where EVENT is one of \(events).")
    }
    guard let action = EventPolicy.Action(bytes: parts[1]) else {
      let range = "with N from 1 to \(EventPolicy.Action.retryLimit)"
      throw Mismatch(
        sentence: "Please provide one of the actions 'ok', 'warn', 'fail', or 'retry:N' \(range).")
    }
    return .policy(event, action)
  }

  private static func nonEmpty(_ value: PathBytes) throws(Mismatch) -> PathBytes {
    guard !value.isEmpty else { throw Mismatch(sentence: "Please provide a value that is not empty.") }
    return value
  }

  private static func listed(_ words: [String]) -> String {
    words.map { "'\($0)'" }.list("or")
  }
}

extension ValueSyntax.Mismatch {
  static let tooLarge = ValueSyntax.Mismatch(sentence: "The number is too large.")
}

/// Of ASCII letters only.
func lowercased(_ byte: UInt8) -> UInt8 {
  (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
