import BatchCore
import BatchEngine
import BatchOutputs

/// The options of `run`, in addition to the common ones.
struct RunChoices: Sendable {
  static let stderrModes = ["ordered", "live"]

  private(set) var options: CommandOptions
  /// The file of the log; nil for none.
  let log: PathBytes?
  /// Whether standard error of the children is passed on at once.
  let isLive: Bool

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws(UsageError) {
    func fail(_ message: String) -> UsageError { UsageError(message, in: parsed.command) }
    let (added, replaced) = (parsed.bytes(.suffix), parsed.bytes(.replaceSuffix))
    let directory = parsed.bytes(.outputDirectory)
    let isInPlace = parsed.flag(.inPlace)
    let hasOutputs = added != nil || replaced != nil || directory != nil
    if added != nil, replaced != nil { throw fail("--suffix cannot be used with --replace-suffix.") }
    if isInPlace, hasOutputs {
      throw fail("--in-place cannot be used with --suffix, --replace-suffix or --output-dir.")
    }
    if let suffix = added ?? replaced, suffix.bytes.contains(UInt8(ascii: "/")) || suffix.containsNUL {
      throw fail("The suffix has to be a part of a name, without '/'.")
    }
    try Self.checkWords(parsed)
    let passesContent = parsed.flag(.stdin)
    let template: CommandTemplate
    do throws(BatchError) {
      template = try CommandTemplate(parsed.words, appendsPath: !passesContent)
    } catch {
      throw fail("The command is not valid: \(error.message).")
    }
    if template.namesOutput, !hasOutputs, !isInPlace {
      throw fail("{out} needs --suffix, --replace-suffix or --output-dir, which name the outputs.")
    }
    let kind: CommandOptions.Kind = isInPlace ? .inPlace : hasOutputs ? .files : .passedOn
    let naming = OutputNaming(
      replaced.map { .replacing(suffix: $0) } ?? .adding(suffix: added ?? PathBytes("")), directory: directory
    )
    options = CommandOptions(
      template, kind: kind, naming: kind == .files ? naming : nil,
      replacing: parsed.flag(.force) ? .always : .older)
    options.outputs.isSynced = common.fsync
    options.outputs.isDryRun = common.dryRun
    options.passesContent = passesContent
    options.batch = parsed.count(.batch) ?? 1
    do throws(BatchError) { try options.check() } catch {
      throw fail("The command is not valid: \(error.message).")
    }
    options.accepted = try Self.statuses(parsed.bytes(.accept), fail)
    options.timeLimit = parsed.duration(.timeLimit).map(Double.init)
    options.retries = parsed.count(.retry) ?? 0
    options.mostFailures = parsed.count(.stopAfter)
    options.temporary = TemporaryFolder.place(environment)
    log = parsed.bytes(.log)
    isLive = parsed.choices(.stderr).last == "live"
  }

  /// Names in braces of GNU parallel and fd, which would be passed on as text, and so be the same for all files.
  private static let foreignNames = [
    ("{.}", "{dir}/{stem}"), ("{/}", "{name}"), ("{//}", "{dir}"), ("{/.}", "{stem}"), ("{#}", "{n}"),
  ]

  /// Refuses words that other tools understand, and this command would pass on as they are.
  private static func checkWords(_ parsed: ParsedCommand) throws(UsageError) {
    if let first = parsed.words.first, let blank = first.bytes.firstIndex(of: UInt8(ascii: " ")),
      first.bytes[blank...].contains(UInt8(ascii: "{")), !first.bytes[..<blank].contains(UInt8(ascii: "/"))
    {
      throw UsageError(
        "The command \(quote(first)) is one word: give the program and each argument as a word of its own.",
        in: parsed.command,
        correction: first.bytes.last == UInt8(ascii: "}")
          ? .replace(first.bytes, by: String(decoding: first.bytes, as: UTF8.self)) : nil)
    }
    for word in parsed.words {
      let text = String(decoding: word.bytes, as: UTF8.self)
      // In a line of a shell `${#}` is the number of its arguments.
      let unescaped = text.replacing("{{", with: "").replacing("${", with: "")
      guard let (name, own) = foreignNames.first(where: { unescaped.contains($0.0) }) else { continue }
      throw UsageError(
        "'\(name)' stands for nothing here: use '\(own)', or '{\(name)' for the text itself.",
        in: parsed.command,
        correction: text.contains(" ") || text.contains("{{")
          ? nil : .replace(word.bytes, by: text.replacing(name, with: own)))
    }
  }

  private static func statuses(
    _ text: PathBytes?, _ fail: (String) -> UsageError
  ) throws(UsageError) -> Set<Int32> {
    guard let text else { return [0] }
    var statuses: Set<Int32> = []
    for part in text.bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      guard let status = Int32(String(decoding: part, as: UTF8.self)), (0...255).contains(status) else {
        throw fail(
          "The value \(quote(text)) is invalid for '--accept <list>': statuses from 0 to 255, as 0,1.")
      }
      statuses.insert(status)
    }
    return statuses
  }
}
