import BatchCore
import BatchEngine
import BatchOutputs

/// Reports the children of a run: what they printed, and how they ended.
struct RunRows: Sendable {
  /// The most bytes of standard output in one event.
  private static let pieceSize = 48 << 10

  let session: Session
  let log: OutputFile?
  /// Whether standard error was not printed before.
  let printsErrors: Bool

  /// - Parameter result: receives standard output of the child in a shard.
  func report(_ report: CommandReport, to result: ShardResultWriter?) throws(BatchError) {
    session.advanced(report.files)
    if let child = report.child {
      try pass(child.ending.output, of: report.source, to: result)
      if printsErrors { try printErrors(of: child, report.source) }
    }
    if session.common.dryRun { return try list(report) }
    try log?.write(report.receipt)
    if let events = session.events {
      try events.write("child") { report.add(to: &$0) }
    } else if session.common.verbose, let line = report.line {
      session.diagnostics.print(line)
    }
  }

  private func pass(
    _ output: CapturedOutput, of path: PathBytes, to result: ShardResultWriter?
  ) throws(BatchError) {
    guard output.count > 0 else { return }
    try output.forEach { (piece) throws(BatchError) in
      var rest = Array(piece)[...]
      while !rest.isEmpty {
        let part = session.events == nil ? rest : rest.prefix(Self.pieceSize)
        rest = rest.dropFirst(part.count)
        if let result {
          try result.write(rows: Array(part))
        } else if let events = session.events {
          try events.write("output") { line in
            line.add(path: path)
            line.add(path: PathBytes(part), as: "text")
          }
        } else {
          try session.output.write(Array(part))
        }
      }
    }
  }

  private func printErrors(of child: RanChild, _ path: PathBytes) throws(BatchError) {
    let errors = child.ending.errors
    guard errors.count > 0 else { return }
    var line: [UInt8] = []
    try errors.forEach { (piece) throws(BatchError) in
      line += piece
      guard let end = line.lastIndex(of: UInt8(ascii: "\n")) else { return }
      Self.print(Array(line[...end]), of: path, to: session.diagnostics)
      line.removeSubrange(...end)
    }
    if !line.isEmpty { Self.print(line, of: path, to: session.diagnostics) }
  }

  /// Prints whole lines with the path in front.
  static func print(_ lines: [UInt8], of path: PathBytes, to diagnostics: Diagnostics) {
    let name = TerminalText.name(path.bytes)
    for line in lines.split(separator: UInt8(ascii: "\n")) {
      diagnostics.print("\(name): \(TerminalText.string(Array(line)))")
    }
  }

  /// Lists a file for which a dry run would start a child, or its output.
  private func list(_ report: CommandReport) throws(BatchError) {
    guard case .planned(let target) = report.result else { return }
    let results = ResultWriter(session)
    var row = ResultRows()
    row.append { results.append(name: target ?? report.source, to: &$0) }
    try results.write(row)
  }
}

extension CommandReport {
  /// The name of the result in JSON.
  private var word: String {
    switch result {
    case .ran: "ran"
    case .written: "written"
    case .unchanged: "unchanged"
    case .upToDate: "up_to_date"
    case .planned: "planned"
    case .failed: "failed"
    }
  }

  /// A line of JSON for the log, and for the result of a shard.
  var receipt: [UInt8] {
    var receipt = [UInt8]()
    JSONLine.append(to: &receipt) { add(to: &$0) }
    return receipt
  }

  /// Adds the members of an event.
  func add(to line: inout JSONLine) {
    line.add(path: source)
    if files > 1 { line.add("files", files) }
    line.add("outcome", word)
    switch result {
    case .written(let target, let size, let replacing):
      line.add(path: target, as: "output")
      line.add("bytes", size)
      line.add("replaced", replacing != .nothing)
    case .failed(let error): line.add("message", error.message)
    case .planned(let target?): line.add(path: target, as: "output")
    case .ran, .unchanged, .upToDate, .planned: break
    }
    guard let child else { return }
    line.add(paths: child.arguments, as: "command")
    switch child.ending.status {
    case .exit(let status): line.add("status", status)
    case .signal(let number): line.add("signal", number)
    case .timeLimit: line.add("timed_out", true)
    case .stopped: line.add("stopped", true)
    }
    line.add("tries", child.tries)
    line.add("seconds", child.ending.wall)
    line.add("user", child.ending.user)
    line.add("system", child.ending.system)
    line.add("memory", child.ending.peakMemory)
  }

  /// A line for the user, with `-v`; nil for a failure, which is reported otherwise.
  fileprivate var line: String? {
    let text: String
    switch result {
    case .ran: text = "done"
    case .written(let target, let size, let replacing):
      let former =
        switch replacing {
        case .nothing: ""
        case .older: ", replaced"
        case .other: ", replaced: another command made it"
        }
      text = "\(TerminalText.string(target.bytes)), \(ByteCount.text(size))\(former)"
    case .unchanged: text = "unchanged"
    case .upToDate: text = "up to date"
    case .planned, .failed: return nil
    }
    return "\(TerminalText.string(source.bytes)): \(text)"
  }
}
