import BatchCore
import BatchEngine

/// Reads options and operands one after the other, as getopt does with the GNU conventions.
struct ArgumentScanner {
  enum Element {
    case option(ParsedCommand.GivenOption)
    case operand(PathBytes)
  }

  let options: [OptionSpec]
  let command: CommandSpec?
  /// The arguments that were not read yet.
  private(set) var rest: ArraySlice<PathBytes>
  /// The words of a command of the user; nil before they are reached.
  private(set) var words: [PathBytes]?
  /// Letters of a cluster such as `-qz` that were not read yet.
  private var cluster: ArraySlice<UInt8> = []
  private var isPastOptions = false

  init(_ arguments: ArraySlice<PathBytes>, options: [OptionSpec], command: CommandSpec?) {
    self.rest = arguments
    self.options = options
    self.command = command
  }

  mutating func next() throws(UsageError) -> Element? {
    if let letter = cluster.popFirst() { return try option(short(letter, isFirst: false)) }
    guard let argument = rest.popFirst() else { return nil }
    let bytes = argument.bytes
    guard !isPastOptions, bytes.count > 1, bytes[0] == UInt8(ascii: "-") else { return .operand(argument) }
    guard bytes[1] == UInt8(ascii: "-") else {
      cluster = bytes[2...]
      return try option(short(bytes[1], isFirst: true))
    }
    guard bytes.count > 2 else {
      if command?.takesWords == true {
        words = Array(rest)
        rest = []
        return nil
      }
      isPastOptions = true
      return try next()
    }
    return try option(long(bytes))
  }

  /// The next option, skipping those without effect.
  private mutating func option(
    _ given: ParsedCommand.GivenOption?
  ) throws(UsageError) -> Element? {
    if let given { .option(given) } else { try next() }
  }

  /// - Returns: nil if the option only restores the default. ``short(_:isFirst:)`` returns nil then too.
  private mutating func long(_ argument: [UInt8]) throws(UsageError) -> ParsedCommand.GivenOption? {
    let name = argument.prefix { $0 != UInt8(ascii: "=") }
    let attached = name.endIndex < argument.endIndex ? PathBytes(argument[(name.endIndex + 1)...]) : nil
    for option in options {
      guard let form = option.longForms.first(where: { $0.text.utf8.elementsEqual(name) }) else { continue }
      guard let syntax = option.syntax else {
        if let attached {
          throw failure(
            "The option '\(form.text)' does not take any value, but \(quote(attached)) was specified.")
        }
        return .init(id: option.id, value: .flag(form.state))
      }
      return try valued(option, syntax, attached: attached, spelling: form.text)
    }
    if attached == nil, ForeignOption.isNeedless(name, in: command) { return nil }
    throw unknown(name, suggestion: Suggestion.nearest(to: name, among: options.flatMap(\.spellings)))
  }

  private mutating func short(
    _ letter: UInt8, isFirst: Bool
  ) throws(UsageError) -> ParsedCommand.GivenOption? {
    if DecimalDigits.contains(letter), let option = options.first(where: \.takesDigits),
      let syntax = option.syntax
    {
      let digits = [letter] + cluster.prefix(while: DecimalDigits.contains)
      cluster = cluster.dropFirst(digits.count - 1)
      return try given(
        option, syntax, PathBytes(digits), name: "'-\(String(decoding: digits, as: UTF8.self))'")
    }
    let whole = [UInt8(ascii: "-"), letter] + cluster
    if isFirst, whole.count > 2, ForeignOption.answer(to: whole, in: command) != nil {
      throw unknown(whole, suggestion: nil)
    }
    guard let option = options.first(where: { $0.short.contains { $0.asciiValue == letter } }) else {
      let dashed = Array("--".utf8) + [letter] + cluster
      let meant = options.flatMap(\.longForms).first { isFirst && $0.text.utf8.elementsEqual(dashed) }
      let spelling = [UInt8(ascii: "-"), letter]
      if meant == nil, ForeignOption.isNeedless(spelling, in: command, beside: cluster) { return nil }
      throw unknown(
        isFirst && letter >= 0x80 ? dashed.dropFirst() : spelling[...], suggestion: meant?.text,
        line: ForeignLine.translation(ofLetters: [letter] + cluster, Array(rest)))
    }
    guard let syntax = option.syntax else { return .init(id: option.id, value: .flag(true)) }
    let attached = cluster.isEmpty ? nil : PathBytes(cluster)
    cluster = []
    let spelling = "-" + String(UnicodeScalar(letter))
    return try valued(option, syntax, attached: attached, spelling: spelling)
  }

  private mutating func valued(
    _ option: OptionSpec, _ syntax: ValueSyntax, attached: PathBytes?, spelling: String
  ) throws(UsageError) -> ParsedCommand.GivenOption {
    let name = "'\(option.quoted(as: spelling))'"
    guard let value = attached ?? rest.popFirst() else { throw failure("Missing value for \(name)") }
    if let meant = ForeignOption.meaning(of: value, in: option) {
      let wrong = attached == nil ? value : PathBytes(Array("\(spelling)=".utf8) + value.bytes)
      throw UsageError(
        "The value \(quote(value)) is invalid for \(name). Did you mean '\(meant)'?", in: command,
        correction: .replace(wrong.bytes, by: attached == nil ? meant : "\(spelling)=\(meant)"))
    }
    return try given(option, syntax, value, name: name)
  }

  private func given(
    _ option: OptionSpec, _ syntax: ValueSyntax, _ value: PathBytes, name: String
  ) throws(UsageError) -> ParsedCommand.GivenOption {
    do {
      return .init(id: option.id, value: try syntax.parse(value))
    } catch {
      throw failure("The value \(quote(value)) is invalid for \(name). \(error.sentence)")
    }
  }

  /// - Parameter line: the line that the rest of this one stands for, if it is one for tar.
  private func unknown(
    _ name: some Collection<UInt8>, suggestion: String?, line: [PathBytes]? = nil
  ) -> UsageError {
    if let answer = ForeignOption.answer(to: name, in: command), !answer.isEmpty {
      let isLine = line?.first.map { answer.hasPrefix("use 'batchproc \($0)") } ?? false
      return UsageError(
        "\(quote(PathBytes(name))): \(answer).", in: command,
        correction: ForeignOption.replacement(in: answer).map { .replace(name, by: $0) }
          ?? (isLine ? line.map { .words($0) } : nil))
    }
    let hint = suggestion.map { ". Did you mean '\($0)'?" } ?? ""
    return UsageError(
      "Unknown option \(quote(PathBytes(name)))\(hint)", in: command,
      correction: suggestion.map { .replace(name, by: $0) })
  }

  private func failure(_ message: String) -> UsageError { UsageError(message, in: command) }
}

/// Bytes from the command line between quotes, safe for a terminal.
func quote(_ bytes: PathBytes) -> String { "'\(TerminalText.name(bytes.bytes))'" }
